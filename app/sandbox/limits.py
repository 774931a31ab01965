"""The limits a child process sets upon itself, by the kernel's own means.

Memory counts address space, not what is resident: the one figure that the kernel refuses at the
moment of asking, which Python turns into a `MemoryError`. The number of processes and threads is
counted by the kernel per user and not per child, so there are two sensible limits: none, where a
child's descendants share its process group and die with it, and zero, with which it can start
nothing at all. The kernel does not hold root to it.
"""

import ctypes
import os
import resource
import signal
import sys
from dataclasses import dataclass

# From linux/prctl.h.
_PR_SET_PDEATHSIG = 1

_CPU_GRACE_S = 5
"""Seconds between the signal that says the time is up and the kill that cannot be caught."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a child may use; the wall clock is watched by the parent."""

    memory_bytes: int
    cpu_s: int
    wall_s: float
    file_bytes: int = 8 << 30
    """Bytes of any single file it writes."""
    open_files: int = 256
    may_fork: bool = True
    """It may start processes and threads."""


def apply_limits(limits: Limits, *, parent: int) -> None:
    """Bind the calling process to `limits`, and to the life of the process `parent`."""
    if sys.platform == "linux":
        _die_with(parent)
    if not limits.may_fork:
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    for kind, soft, grace in (
        (resource.RLIMIT_AS, limits.memory_bytes, 0),
        (resource.RLIMIT_CPU, limits.cpu_s, _CPU_GRACE_S),
        (resource.RLIMIT_FSIZE, limits.file_bytes, 0),
        (resource.RLIMIT_NOFILE, limits.open_files, 0),
        (resource.RLIMIT_CORE, 0, 0),
    ):
        allowed = resource.getrlimit(kind)[1]
        hard = soft + grace
        if allowed != resource.RLIM_INFINITY:
            hard = min(hard, allowed)
        resource.setrlimit(kind, (min(soft, hard), hard))


def _die_with(parent: int) -> None:
    # The kernel's word that the parent died reaches a child that is deep in a loop, too.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
