"""Runs a user's own program to its end: unlimited but for time, and as if nobody stood between.

What it writes goes on at once and unchanged, and into one log, line by line. Where our own output
is a terminal the program sees one, too. It has a process group of its own, which is in the
foreground where there is a terminal, so Ctrl-C reaches it and not us; signals sent to us are handed
on, and a stop (Ctrl-Z) is ours as well. When the time is up the whole group is asked to end and
then made to; what has a handler for SIGABRT, as Python has where it prints its stacks, ends by that
signal. A log or an outlet that takes no more is told at the end; the program runs on.
"""

import os
import select
import selectors
import signal
import subprocess
import termios
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import BinaryIO

from app.sandbox.group_members import catches, is_alive, leave_no_core, members_of
from app.sandbox.job_control import JobControl, is_anothers, send

_PIECE_BYTES = 1 << 16
_LONGEST_LINE = 1 << 20
_TICK_S = 0.05
_STREAMS = {1: "standard output", 2: "standard error"}
# How long after its end what a program wrote may still be under way.
_DRAIN_S = 1.0
# How long a process may take to print its stacks, and how many are asked for them.
_STACKS_S = 2.0
_MOST_ASKED = 16
_HANDED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP)


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """How a program ended: `status` is its exit code, or minus the number of a signal.

    `status` is None where the program itself runs on, as only one that `timed_out` can. `seconds`
    of wall time; `timed_out` says that it was ended by us, `interrupted` that somebody asked it to
    end while it ran. `lost` says in words what of its output went nowhere, and why. `left` are the
    processes that run on since they take no signal of ours.
    """

    status: int | None
    seconds: float
    timed_out: bool = False
    interrupted: bool = False
    lost: tuple[str, ...] = ()
    left: tuple[int, ...] = ()


def run_program(
    command: Sequence[str],
    *,
    environ: Mapping[str, str],
    log: BinaryIO,
    timeout_s: float | None = None,
    grace_s: float = 10.0,
    time_is_up: str = "",
) -> ProgramEnd:
    """Run `command` and wait for its end.

    Args:
        command: the program and its arguments; no shell is involved.
        environ: its whole environment.
        log: takes whatever it prints, in whole lines; best a file without a buffer of its own.
        timeout_s: seconds it may take; None lets it run.
        grace_s: seconds between the request to end and the kill.
        time_is_up: a line for the log and standard error, before stacks are printed.

    Raises:
        OSError: the program cannot be started.
    """
    began = time.monotonic()
    kept = _Log(log)
    with ExitStack() as stack:
        outlets = [_Outlet(fd, kept) for fd in (1, 2)]
        for outlet in outlets:
            stack.callback(outlet.close)
        child = subprocess.Popen(
            list(command),
            env=dict(environ),
            stdout=outlets[0].inner,
            stderr=outlets[1].inner,
            process_group=0,
        )
        for outlet in outlets:
            outlet.started()
        job = JobControl(child.pid)
        received = stack.enter_context(_signals_handed_on(child.pid))
        job.lend_terminal()
        stack.callback(job.take_terminal_back)
        deadline = None if timeout_s is None else began + timeout_s
        ending = _Ending(child.pid, outlets[1], grace_s, time_is_up)
        minder = _Minder(child, outlets, job, deadline, ending)
        minder.mind()
        for outlet in outlets:
            outlet.finish()
    status = child.returncode
    if ending.left and status is None:
        child.returncode = 0  # nobody waits for it any more
    is_interrupted = bool(received) or status in (-signal.SIGINT, 128 + signal.SIGINT)
    lost = (*(outlet.lost for outlet in outlets), kept.lost)
    return ProgramEnd(
        status,
        time.monotonic() - began,
        minder.timed_out,
        is_interrupted,
        tuple(words for words in lost if words),
        ending.left,
    )


class _Log:
    """The file that takes a copy of all output, as long as it takes any."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.lost = ""

    def write(self, rest: bytes | bytearray) -> None:
        try:
            while rest and not self.lost:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            # A full disk: no fault of the program's, and no reason to end it.
            self.lost = f"the log: {error.strerror}"


class _Outlet:
    """One of the program's two streams on its way to ours and to the log."""

    def __init__(self, target: int, log: _Log) -> None:
        self._target = target
        self._log = log
        self.lost = ""
        self._line = bytearray()
        self.outer, self.inner = _terminal_like(target) if os.isatty(target) else os.pipe()

    def started(self) -> None:
        """The program holds its end now; ours must not keep it open."""
        os.close(self.inner)
        self.inner = -1

    def pass_on(self) -> bool:
        """Take what is there; False at the end of the stream."""
        try:
            piece = os.read(self.outer, _PIECE_BYTES)
        except OSError:
            # What a terminal answers when nobody holds its other end.
            return False
        self._keep(piece)
        try:
            self._write(piece)
        except BrokenPipeError:
            # Our reader has left: the program shall notice as it would without us.
            return False
        except OSError as error:
            self.lost = f"{_STREAMS[self._target]}: {error.strerror}"
            return False
        return bool(piece)

    def _write(self, rest: bytes) -> None:
        while rest:
            try:
                rest = rest[os.write(self._target, rest) :]
            except BlockingIOError:
                # Whoever else holds our stream may have made it one that does not wait.
                select.select([], [self._target], [])

    def _keep(self, piece: bytes) -> None:
        self._line += piece
        end = self._line.rfind(b"\n") + 1
        if not end and len(self._line) > _LONGEST_LINE:
            end = len(self._line)
        self._log.write(self._line[:end])
        del self._line[:end]

    def say(self, line: bytes) -> None:
        """Write a line of ours to the log and to our own stream, whatever stands there now."""
        is_within_line = bool(self._line)
        self.finish()
        self._log.write(line)
        try:
            self._write(b"\n" + line if is_within_line else line)
        except OSError:
            return  # what the program writes meets the same, and that is told

    def finish(self) -> None:
        """Put the unfinished line into the log."""
        if self._line:
            self._log.write(self._line + b"\n")
            self._line.clear()

    def close(self) -> None:
        """Let go of both ends."""
        for fd in (self.outer, self.inner):
            if fd >= 0:
                os.close(fd)
        self.outer = self.inner = -1


class _Ending:
    """How a group whose time is up is brought to its end, step by step."""

    def __init__(self, group: int, outlet: _Outlet, grace_s: float, words: str) -> None:
        self._group = group
        self._outlet = outlet
        self._grace_s = grace_s
        self._words = words
        self.is_asking = False
        # Those that run on, once they were asked for.
        self.left: tuple[int, ...] = ()

    def steps(self) -> Iterator[float]:
        """Does a step each time it is asked; how many seconds to wait before the next one."""
        # A handler for SIGTERM may save what can be saved; Python's do not run while it hangs.
        yield from self._ask(spare=signal.SIGTERM)
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)
        yield self._grace_s
        yield from self._ask(spare=None)
        while True:
            self.signal(signal.SIGKILL)
            yield self._grace_s
            self.look_for_others()

    def look_for_others(self) -> None:
        """See which processes of the group are another user's, and so cannot be ended."""
        self.left = tuple(filter(is_anothers, members_of(self._group)))

    def _ask(self, *, spare: signal.Signals | None) -> Iterator[float]:
        """Have those that catch SIGABRT print where they stand, one after the other."""
        self.is_asking = True
        members = tuple(members_of(self._group))
        asked = [
            pid
            for pid in members
            if catches(pid, signal.SIGABRT) and not (spare is not None and catches(pid, spare))
        ][:_MOST_ASKED]
        if asked:
            # Whoever waits for one of them, such as a shell, shall not go on to what comes next.
            for pid in set(members) - set(asked):
                send(os.kill, pid, signal.SIGSTOP)
        for pid in asked:
            self._say()
            leave_no_core(pid)
            send(os.kill, pid, signal.SIGABRT)
            until = time.monotonic() + _STACKS_S
            while is_alive(pid) and time.monotonic() < until:
                yield _TICK_S
        self.is_asking = False

    def _say(self) -> None:
        if self._words:
            self._outlet.say(f"{self._words}\n".encode())
            self._words = ""

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all of the group."""
        send(os.killpg, self._group, number)


class _Minder:
    """Moves what the program writes, and ends it when its time is up."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        outlets: Sequence[_Outlet],
        job: JobControl,
        deadline: float | None,
        ending: _Ending,
    ) -> None:
        self._child = child
        self._outlets = outlets
        self._job = job
        self._deadline = deadline
        self._ending = ending
        self._steps = ending.steps()
        self.timed_out = False

    def mind(self) -> None:
        with selectors.DefaultSelector() as selector:
            for outlet in self._outlets:
                selector.register(outlet.outer, selectors.EVENT_READ, outlet)
            while not self._has_ended():
                self._move(selector, _TICK_S)
                if self._child.returncode is None:
                    self._watch_for_stops()
                self._watch_the_clock()
            # A descendant may hold the streams open for ever.
            last = time.monotonic() + _DRAIN_S
            while selector.get_map() and time.monotonic() < last and self._move(selector, 0):
                pass

    def _move(self, selector: selectors.BaseSelector, wait_s: float) -> bool:
        if not selector.get_map():
            time.sleep(wait_s)
            return False
        ready = selector.select(wait_s)
        for key, _ in ready:
            outlet: _Outlet = key.data
            if not outlet.pass_on():
                selector.unregister(key.fd)
                outlet.close()
        return bool(ready)

    def _has_ended(self) -> bool:
        if self._ending.left:
            return True
        if self._child.poll() is None or self._ending.is_asking:
            return False
        if self.timed_out:
            # What the leader left behind goes, too.
            self._ending.signal(signal.SIGKILL)
            self._ending.look_for_others()
        return True

    def _watch_for_stops(self) -> None:
        stopped_s = self._job.follow_stop()
        # A shell may bring a job to the front without a signal.
        self._job.lend_terminal()
        if self._deadline is not None:
            self._deadline += stopped_s

    def _watch_the_clock(self) -> None:
        if self._deadline is None or time.monotonic() < self._deadline:
            return
        self.timed_out = True
        self._deadline = time.monotonic() + next(self._steps)


def _terminal_like(target: int) -> tuple[int, int]:
    """Both ends of a terminal of the size of `target` that changes no byte."""
    outer, inner = os.openpty()
    attributes = termios.tcgetattr(inner)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(inner, termios.TCSANOW, attributes)
    termios.tcsetwinsize(inner, termios.tcgetwinsize(target))
    return outer, inner


@contextmanager
def _signals_handed_on(group: int) -> Generator[list[int]]:
    """Send what would end or stop us to `group` instead; yields the list of what would end."""
    received: list[int] = []

    def hand_on(number: int, _: FrameType | None) -> None:
        if number != signal.SIGTSTP:
            received.append(number)
        send(os.killpg, group, number)

    before = {number: signal.signal(number, hand_on) for number in _HANDED_ON}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
