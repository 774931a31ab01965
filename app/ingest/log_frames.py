"""Reads the lines of stacks: what Python prints of its own, and what is printed of C++ frames.

A line goes in, a frame or the symbol of one comes out, or None. Which thread a frame of Python is
of is told by the line above.
When its time is up `hloscope run` says so in the log and has Python print where its threads stand;
that is no death.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.model.dump import PythonFrame, ThreadStack

# What `hloscope run` writes into the log before it has Python's threads printed.
TIME_IS_UP = "hloscope run: the time is up"

_MOST_FRAMES = 200
_MOST_THREADS = 128
_OF_TRACEBACK = re.compile(
    r'  File "(?P<file>[^"\n]{1,1000})", line (?P<line>\d{1,9})(?:, in (?P<name>[^\n]{1,300}))?$'
)
# cpython/Python/traceback.c, dump_frame and write_thread_id.
_OF_THREAD = re.compile(
    r'  File "(?P<file>[^"\n]{1,1000})", line (?P<line>\d{1,9}) in (?P<name>.+)$'
)
_THREAD = re.compile(r"(?P<current>Current thread|Thread) 0x[0-9a-f]{1,16}\b")
_OF_COMPILER = r"(?:xla|mlir|llvm|slinky|ynn|stream_executor|tsl)::"
_SYMBOL = re.compile(
    r"\s*(?:PC: )?@ +0x[0-9a-f]+ +(?:(?:\d{1,9}|\(unknown\)) +(?=\S))?(?P<symbol>\S.*)$"
    rf"|\s*(?:PC: )?@ +(?P<bare>{_OF_COMPILER}\S.*)$"
    rf"|\s*#\d{{1,4}} +(?:0x[0-9a-f]+ (?:in )?|(?={_OF_COMPILER}))(?P<gdb>.+)$"
    r"|\s*(?:\* )?(?:frame #)?\d{1,4}:? +(?:[\w.+\-]{1,80}\s+)?0x[0-9a-f]{6,16} (?P<mac>\S.*)$"
    # Julia: `_ZN3xla9Autotuner8AutotuneEv at /lib/libReactantExtra.so (unknown line)`.
    r"|\s*(?P<julia>\w[\w.!#]{0,2000}) at \S{1,1000}(?: \(unknown line\)|\.jl:\d{1,9})\s*$"
)
# How the Itanium ABI writes a nested name, `_ZNK3xla13HloModuleName3RunE...`: length and name.
_MANGLED = re.compile(r"_ZN?K?(?=\d)")
_NAME_LENGTH = re.compile(r"\d{1,4}")
_BY_ABORT = re.compile(r"SIGABRT|Aborted")


def frame_of_traceback(text: str, number: int) -> PythonFrame | None:
    """The frame that line `number` (1-based) of a log prints within a traceback."""
    found = _OF_TRACEBACK.match(text)
    if found is None:
        return None
    return PythonFrame(found["file"], int(found["line"]), found["name"] or "", number)


def frame_of_thread(text: str, number: int) -> PythonFrame | None:
    """The frame that a line prints below the name of a thread."""
    found = _OF_THREAD.match(text)
    if found is None:
        return None
    return PythonFrame(found["file"], int(found["line"]), found["name"], number)


def symbol_of(text: str) -> str | None:
    """The symbol that a line prints of a C++ frame; a mangled one as far as its name goes."""
    found = _SYMBOL.match(text)
    return _plain(next(filter(None, found.groups()))) if found else None


def _plain(symbol: str) -> str:
    mangled = _MANGLED.match(symbol)
    if mangled is None:
        return symbol
    names: list[str] = []
    place = mangled.end()
    while length := _NAME_LENGTH.match(symbol, place):
        place = length.end() + int(length[0])
        names.append(symbol[length.end() : place])
    return "::".join(names)


def is_by_abort(text: str) -> bool:
    """Whether a death is one by SIGABRT, the signal that has Python print its threads."""
    return _BY_ABORT.search(text) is not None


@dataclass(slots=True)
class Thread:
    """A thread with its frames, innermost first; `is_current` of the one that died."""

    is_current: bool
    frames: list[PythonFrame] = field(default_factory=list[PythonFrame])


class Threads:
    """The threads that Python prints of one process, line by line."""

    def __init__(self) -> None:
        self._threads: list[Thread] = []

    def feed(self, text: str, number: int) -> None:
        """Take the next line of a death."""
        if found := _THREAD.match(text):
            if len(self._threads) < _MOST_THREADS:
                self._threads.append(Thread(found["current"] == "Current thread"))
        elif self._threads and len(self._threads[-1].frames) < _MOST_FRAMES:
            if frame := frame_of_thread(text, number):
                self._threads[-1].frames.append(frame)

    @property
    def died(self) -> tuple[PythonFrame, ...]:
        """The frames of the thread that died; empty where it runs no Python."""
        current = next((t for t in self._threads if t.is_current), None)
        return tuple(current.frames) if current else ()

    @property
    def meanwhile(self) -> tuple[PythonFrame, ...]:
        """The frames of the main thread where another one died."""
        main = _main_of(self._threads)
        return () if main is None or main.is_current else tuple(main.frames)

    def stacks(self, log: str) -> tuple[ThreadStack, ...]:
        """All threads with frames, the main one first."""
        main = _main_of(self._threads)
        ordered = sorted((t for t in self._threads if t.frames), key=lambda t: t is not main)
        return tuple(ThreadStack(tuple(t.frames), log, t is main) for t in ordered)


def _main_of(threads: Sequence[Thread]) -> Thread | None:
    """The thread that runs a script; Python prints the newest thread first, so else the last."""
    told = [thread for thread in threads if thread.frames]
    runs_script = (t for t in reversed(told) if t.frames[-1].function == "<module>")
    return next(runs_script, told[-1] if told else None)
