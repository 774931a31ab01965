"""The parent's side: start a child, mind its pipes, clock and cancellation, name its ending.

Blocks the calling thread until the child is gone, and then its whole process group is. What the
child says is not trusted: lines are bounded, and anything that is no well-formed message counts
as a failure of the child.
"""

import json
import os
import selectors
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from app import errors
from app.sandbox.forks import ForkServer
from app.sandbox.handles import Child, start_child
from app.sandbox.limits import Limits

Progress = Callable[[str, int, int | None], None]
"""Stage, what is done, of how much (None where unknown)."""

_MAX_LINE_BYTES = 2 << 20
_LOG_TAIL_BYTES = 16 << 10
_TICK_S = 0.1
# What a line raises that is no JSON, nests without an end, or is JSON of another form.
_MALFORMED = (ValueError, TypeError, OverflowError, RecursionError)


class Ending(StrEnum):
    """How a child ended."""

    OK = "ok"
    REFUSED = "refused"
    FAILED = "failed"
    CRASHED = "crashed"
    MEMORY = "memory"
    CPU_TIME = "cpu_time"
    WALL_TIME = "wall_time"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is left of a child.

    `result` is the target's JSON value where it ended `ok`, `refusal` the error it raised where
    it was `refused`. `signal` is the number that ended a crashed child, `log` the last 16 KiB of
    its output.
    """

    ending: Ending
    result: Any = None
    refusal: errors.AppError | None = None
    signal: int | None = None
    log: str = ""


def run_child(
    target: str,
    arguments: Mapping[str, Any],
    *,
    limits: Limits,
    folder: Path,
    progress: Progress | None = None,
    tick: Callable[[], None] | None = None,
    cancelled: threading.Event | None = None,
    paths: Sequence[Path] = (),
    server: ForkServer | None = None,
) -> Outcome:
    """Call `target` (`module:function`) in a child with `arguments` and wait for its end.

    The function is called as `function(progress, **arguments)`; arguments and result are JSON
    values, and larger results go to files. `folder` is the child's working directory and its
    place for temporary files. `paths` are further folders in which `target` is looked up. `tick`
    is called a few times a second while the child lives. Setting `cancelled` kills the child
    within a few tenths of a second. `server` forks the child, which then has modules loaded;
    without one a new interpreter is started.

    Raises:
        ChildLost: the fork server ended, and the child with it.
    """
    minder = _Minder(progress, tick, cancelled or threading.Event(), limits.wall_s)
    child = start_child(folder) if server is None else server.fork(folder)
    orders = {
        "target": target,
        "arguments": dict(arguments),
        "limits": asdict(limits),
        "paths": [str(path) for path in paths],
    }
    with child:
        child.order(json.dumps(orders).encode())
        minder.mind(child)
        status = child.end()
    return minder.outcome(status)


class _Minder:
    """Reads a child's two pipes until both end, the time is up or somebody cancels."""

    def __init__(
        self,
        progress: Progress | None,
        tick: Callable[[], None] | None,
        cancelled: threading.Event,
        wall_s: float,
    ) -> None:
        self._progress = progress
        self._tick = tick
        self._cancelled = cancelled
        self._deadline = time.monotonic() + wall_s
        self._stopped: Ending | None = None
        self._line = bytearray()
        self._tail = bytearray()
        self._last_word: dict[str, Any] = {}
        self._refusal: errors.AppError | None = None

    def mind(self, child: Child) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(child.words, selectors.EVENT_READ, self._take_messages)
            selector.register(child.log, selectors.EVENT_READ, self._take_log)
            while selector.get_map():
                if self._tick is not None:
                    self._tick()
                self._stopped = self._reason_to_stop()
                if self._stopped is not None:
                    return
                for key, _ in selector.select(_TICK_S):
                    chunk = os.read(key.fd, 1 << 16)
                    if not chunk:
                        selector.unregister(key.fd)
                    key.data(chunk)
                if child.has_ended():
                    self._drain(selector)
                    return

    def _drain(self, selector: selectors.BaseSelector) -> None:
        # A descendant may hold the pipes open for ever; what the child itself wrote is there now.
        while ready := selector.select(0):
            for key, _ in ready:
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    selector.unregister(key.fd)
                key.data(chunk)
            if not selector.get_map() or self._reason_to_stop() is not None:
                return

    def _reason_to_stop(self) -> Ending | None:
        if self._cancelled.is_set():
            return Ending.CANCELLED
        if time.monotonic() > self._deadline:
            return Ending.WALL_TIME
        return None if len(self._line) <= _MAX_LINE_BYTES else Ending.FAILED

    def _take_log(self, chunk: bytes) -> None:
        self._tail += chunk
        del self._tail[:-_LOG_TAIL_BYTES]

    def _take_messages(self, chunk: bytes) -> None:
        self._line += chunk
        *lines, rest = self._line.split(b"\n")
        self._line = bytearray(rest)
        for line in lines:
            try:
                message = json.loads(line)
                if "progress" in message:
                    self._take_progress(*message["progress"])
                elif "refused" in message:
                    self._refusal = _error_from(**message["refused"])
                else:
                    self._last_word = dict(message)
            except _MALFORMED as error:
                self._take_log(f"unreadable message from the child: {error}\n".encode())

    def _take_progress(self, stage: str, done: int, total: int | None) -> None:
        if self._progress is not None:
            self._progress(str(stage)[:200], int(done), None if total is None else int(total))

    def outcome(self, returncode: int) -> Outcome:
        log = self._tail.decode("utf-8", "backslashreplace")
        if self._stopped is not None:
            return Outcome(self._stopped, log=log)
        if returncode == 0 and self._refusal is not None:
            return Outcome(Ending.REFUSED, refusal=self._refusal, log=log)
        if returncode == 0 and "result" in self._last_word:
            return Outcome(Ending.OK, result=self._last_word["result"], log=log)
        if returncode == 0 and "memory" in self._last_word:
            return Outcome(Ending.MEMORY, log=log)
        if returncode == -signal.SIGXCPU:
            return Outcome(Ending.CPU_TIME, log=log)
        if returncode < 0:
            return Outcome(Ending.CRASHED, signal=-returncode, log=log)
        return Outcome(Ending.FAILED, log=log)


def _error_from(*, kind: str, cause: str, place: str, next_step: str, code: str) -> errors.AppError:
    known = {each.__name__: each for each in _all_errors(errors.AppError)}
    return known.get(kind, errors.AppError)(
        str(cause), place=str(place), next_step=str(next_step), code=str(code)
    )


def _all_errors(base: type[errors.AppError]) -> Iterator[type[errors.AppError]]:
    yield base
    for each in base.__subclasses__():
        yield from _all_errors(each)
