"""The terminal and the stops of a program that runs in a process group of its own.

The keys of a terminal go to one process group, and a shell watches only the group that it started
itself. So the terminal is lent to the program's group, a stop of the program (Ctrl-Z) becomes a
stop of ours, which the shell sees, and when the shell lets us go on the program goes on, too. A
program that somebody stopped by name (SIGSTOP) is left to him.
"""

import os
import signal
import time
from collections.abc import Callable

_FROM_A_TERMINAL = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)


class JobControl:
    """What a shell would do for the process group `group`, whose leader is our child."""

    def __init__(self, group: int) -> None:
        self._group = group
        self._has_terminal = False

    def lend_terminal(self) -> bool:
        """Let the terminal's keys go to the program, if they come to us; whether they do now."""
        if not _is_ours():
            return False
        self._has_terminal = _give_terminal(self._group)
        return self._has_terminal

    def take_terminal_back(self) -> None:
        """Let the keys come to us again, if the program has them from us."""
        if self._has_terminal:
            _give_terminal(os.getpgrp())
            self._has_terminal = False

    def follow_stop(self) -> float:
        """Stop where the program was stopped from the terminal; the seconds that it lasted.

        Returns when both go on. To be called while the program's end has not been waited for.
        """
        number = self._stopped_by()
        if number is None or number not in _FROM_A_TERMINAL:
            return 0.0
        began = time.monotonic()
        is_misplaced = number != signal.SIGTSTP and _is_ours()
        if not is_misplaced:
            self.take_terminal_back()
            _stop_as(number)
        # A shell brought us to the front, or into the background, where the keys are not ours; or
        # nobody could have let us go on, and we were not stopped.
        self.lend_terminal()
        send(os.killpg, self._group, signal.SIGCONT)
        return time.monotonic() - began

    def _stopped_by(self) -> int | None:
        try:
            found = os.waitid(os.P_PID, self._group, os.WSTOPPED | os.WNOHANG)
        except ChildProcessError:
            return None  # whoever started us has children waited for by nobody
        return None if found is None else found.si_status


def send(kill: Callable[[int, int], None], to: int, number: int) -> None:
    """Send a signal by `os.kill` or `os.killpg` to whoever of `to` is there and may be sent it."""
    try:
        kill(to, number)
    except (ProcessLookupError, PermissionError):
        return  # all of it is gone already, or another user's, as what `sudo` starts


def is_anothers(pid: int) -> bool:
    """Whether a process is there and takes no signal of ours, being another user's."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except ProcessLookupError:
        return False
    return False


def _is_ours() -> bool:
    """Whether the keys of the terminal come to our process group."""
    try:
        return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _give_terminal(group: int) -> bool:
    # The background may give it away only where this signal is ignored.
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        os.tcsetpgrp(0, group)
    except OSError:
        return False  # the terminal or the group is gone
    finally:
        signal.signal(signal.SIGTTOU, before)
    return True


def _stop_as(number: int) -> None:
    """Stop our whole process group by `number`, as the terminal would; returns when it goes on.

    A group that no shell watches is not stopped by it.
    """
    before = signal.signal(number, signal.SIG_DFL)
    try:
        os.killpg(os.getpgrp(), number)
    finally:
        signal.signal(number, before)
