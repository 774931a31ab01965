"""Turns a limited child of the sandbox into a toolchain's Python: its last act in our interpreter.

What was set upon the process before (limits, its process group, its death with its parent) stays
with it. All that it prints goes into one file.
"""

import os
from collections.abc import Callable, Mapping, Sequence


def start(
    progress: Callable[[str, int, int | None], None],
    *,
    command: Sequence[str],
    environ: Mapping[str, str],
    log: str,
) -> None:
    """Become `command`; returns never.

    Raises:
        OSError: the command cannot be started, or the log not written.
    """
    del progress
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(target, 1)
    os.dup2(target, 2)
    os.execve(command[0], list(command), dict(environ))
