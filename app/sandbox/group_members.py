"""The members of a process group: who they are, which signals they catch, and their core dumps.

Linux tells it under /proc; where there is none, no member is known. Nothing is signalled here.
"""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
# A core dump would be larger: files need a page, and the kernel runs no collector below two bytes.
_NO_CORE_BYTES = 1


def members_of(group: int) -> Iterator[int]:
    """The living processes of a group, its leader first."""
    leader = [group] if _state_and_group(group)[1] == group else []
    try:
        others = sorted(int(name) for name in os.listdir(_PROC) if name.isdecimal())
    except OSError:
        return
    yield from leader
    yield from (pid for pid in others if pid != group and _state_and_group(pid)[1] == group)


def is_alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    return bool(_state_and_group(pid)[0])


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler of its own for a signal."""
    try:
        status = (_PROC / str(pid) / "status").read_text("ascii", "replace")
    except OSError:
        return False
    caught = status.partition("SigCgt:")[2].split()[:1]
    return bool(caught) and bool(int(caught[0], 16) >> (number - 1) & 1)


def leave_no_core(pid: int) -> None:
    """Let a process die without a core dump, which may be as large as its memory."""
    try:
        _, hard = resource.prlimit(pid, resource.RLIMIT_CORE)
        if hard != 0:
            resource.prlimit(pid, resource.RLIMIT_CORE, (_NO_CORE_BYTES, hard))
    except (ProcessLookupError, PermissionError):
        return  # it is gone, or another user's by now


def _state_and_group(pid: int) -> tuple[str, int]:
    """A process's state and group; an empty state where it is gone or a zombie."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text("ascii", "replace")
    except OSError:
        return "", 0
    # The name before may hold blanks and brackets.
    state, _, group = stat.rpartition(")")[2].split()[:3]
    return ("", 0) if state in "ZX" else (state, int(group))
