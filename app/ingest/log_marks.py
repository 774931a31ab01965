"""Says which lines of a block of a log may mean something.

Most lines of a log are a program's own chatter, or what XLA says by the way. They are passed over
as bytes, thousands at a time: a block is searched for the few words without which a line neither
states a failure nor belongs to XLA, and for the headers of its loggers. Too much may be marked,
never too little: `read_log` on lines one by one, which skips nothing, must come to the same answer.

Loggers repeat themselves but for their numbers, and no judgement here depends on which digit stands
where. So lines are judged with all digits alike, and each such line once. What many blocks held is
told: of a long run of such lines the middle need not be read, whatever it says.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from app.ingest.log_lines import HEADER_PATTERN, HEADER_WITHIN
from app.ingest.log_words import WordFinder

# Every line that `log_messages.py` reacts to outside of a message holds one of these.
TRIGGERS = (
    *(b"xla_", b"jaxlib", b"fail", b"Fail", b"Non-OK", b"Error: ", b"Exception: ", b"Traceback"),
    *(b"Fatal ", b"LLVM", b"*** ", b"Segmentation", b"Aborted", b"Bus error", b"Illegal ins"),
    *(
        b"Killed",
        b"Abort trap",
        b"Floating p",
        b"SIG",
        b"terminate called",
        b"Logging error",
        b"plugin config",
    ),
    *(b"Exception ignored", b"NCCL op", b"Gloo ", b" graph", b"d buffer"),
    *(b"ustom call ", b"ptxas e", b"stuck", b"Termination", b"launch group", b"to host"),
    *(
        b"device compute",
        b"unexpected",
        b"schecklt",
        b"No valid",
        b"of memory",
        b"hbm usage",
        b"device=TPU",
    ),
    *(b"remater", b"Involuntary", b"Very slow", b"All configs", b"displaying the", b"Results do"),
    *(b"Constant folding", b"[Compiling", b"reduce memory", b"operation took", b"waiting for"),
    *(b"rendezvous", b"equal to tol", b"Mismatched", b"absolute diff"),
    *(b"ssertion", b"FloatingPointE", b"' op ", b"C++ exc", b"verifier errors"),
    *(b"oom-kill", b"oom_kill", b"OOM Kill", b"HLO pass "),
    *(b"CuDNN lib", b"distributed ser", b"ang watchdog", b"high number"),
    *(b"hloscope run", b"for platform ", b"BLAS error", b"Hip error", b"egascale det"),
    *(b") Internal: ", b") Invalid arg", b") Unimplemented: ", b") Resource ex", b") Failed pre"),
    *(
        b" corrupt",
        b"corrupted ",
        b" Crashed",
        b"= EXC_",
        b"free(): ",
        b"alloc(): ",
        b"_chunk(): ",
        b"_consolidate(): ",
    ),
    *(b") InvalidArg", b") ResourceEx", b") FailedPre", b": CompileTime", b": Runtime"),
    b"Attempting to fetch",
    *(
        b"zsh: ",
        b" segmentation fault",
        b" IOT instruction",
        b" abort",
        b" illegal hardware",
        b" killed",
        b" bus error",
        b" floating point exc",
    ),
)
# `  (1) Not found: ...`, of several errors.
_COUNTED = re.compile(rb"\(\d{1,4}\) [A-Z]")
_UNDERSCORE = re.compile(rb"_(?:ERROR_|STATUS_|CHECK|EXHAUSTED)")
# A status code and its colon, or a qualified name of C++.
_COLON = re.compile(rb":(?:(?<=[A-Z]{2}:) |:[A-Za-z_])")
_HEADER_END = re.compile(rb"\.(?:cc|h|cu|cpp|inc|inl|mm):\d{1,9}\]")
_HEADER = re.compile(HEADER_PATTERN.encode())
_ALIKE = bytes.maketrans(b"123456789", b"000000000")
# Lines that were judged are kept up to this many bytes. While most lines of a block are new, the
# following blocks are searched as they are.
_MOST_KEPT = 1 << 24
_BLOCKS_AS_THEY_ARE = 16
# A line is told when so many blocks held it. So many lines are read where a run of such lines
# begins and where it ends, so that what goes on there is heard out.
_BLOCKS_UNTIL_TOLD = 4
_READ_FIRST, _READ_LAST = 8, 32


class Marks(NamedTuple):
    """Where lines begin that must be read, in order; `is_headed`, whether any line has a header.

    `told` are the places (first byte, byte behind the last) of lines that say nothing new.
    """

    starts: list[int]
    is_headed: bool
    told: list[tuple[int, int]]


class LineMarker:
    """Marks one block after the other.

    `is_told` says whether what a C++ file (base name) logs by the way is worth reading.
    """

    def __init__(self, is_told: Callable[[str], bool]) -> None:
        self._is_told = is_told
        self._marked: set[bytes] = set()
        self._dull: set[bytes] = set()
        self._headed: set[bytes] = set()
        self._blocks_with: dict[bytes, int] = {}
        self._words = WordFinder(TRIGGERS)
        self._kept = 0
        self._as_they_are = 0

    def mark(self, block: bytes) -> Marks:
        """The marks of a block of whole lines."""
        if self._as_they_are:
            self._as_they_are -= 1
            starts, headed = self._search(block)
            return Marks(sorted(starts), bool(headed), [])
        lines = block.translate(_ALIKE).split(b"\n")
        alike = set(lines)
        fresh = alike - self._dull - self._marked
        if fresh:
            self._judge(fresh)
        marked = alike & self._marked
        starts = list(_starts_of(lines, marked)) if marked else []
        is_headed = not alike.isdisjoint(self._headed)
        told = list(_told_runs(lines, self._told(alike)))
        if 2 * len(fresh) > len(lines):
            self._as_they_are = _BLOCKS_AS_THEY_ARE
        if self._kept > _MOST_KEPT:
            self._kept = 0
            for kept in (self._marked, self._dull, self._headed, self._blocks_with):
                kept.clear()
        return Marks(starts, is_headed, told)

    def _told(self, alike: set[bytes]) -> set[bytes]:
        """Those of a block's lines that enough earlier blocks held."""
        told: set[bytes] = set()
        for line in alike:
            blocks = self._blocks_with.get(line, 0)
            if blocks < _BLOCKS_UNTIL_TOLD:
                self._blocks_with[line] = blocks + 1
            else:
                told.add(line)
        return told

    def _judge(self, fresh: Iterable[bytes]) -> None:
        lines = list(fresh)
        joined = b"\n".join(lines)
        starts, headed = self._search(joined)
        self._kept += len(joined)
        at = 0
        for line in lines:
            (self._marked if at in starts else self._dull).add(line)
            if at in headed:
                self._headed.add(line)
            at += len(line) + 1

    def _search(self, block: bytes) -> tuple[set[int], set[int]]:
        """Where lines begin that must be read, and where those begin that may have a header."""
        starts: set[int] = set()
        for word in self._words.possible(block):
            place = block.find(word)
            while place >= 0:
                starts.add(block.rfind(b"\n", 0, place) + 1)
                end = block.find(b"\n", place)
                place = block.find(word, end) if end >= 0 else -1
        for pattern in (_COLON, _UNDERSCORE, _COUNTED):
            found = pattern.search(block)
            while found is not None:
                starts.add(block.rfind(b"\n", 0, found.start()) + 1)
                end = block.find(b"\n", found.end())
                found = pattern.search(block, end) if end >= 0 else None
        headed: set[int] = set()
        last = -1
        for start, line, header in _headers(block):
            if start == last:
                continue
            last = start
            headed.add(line)
            if not self._is_dull(header):
                starts.add(line)
        return starts, headed

    def _is_dull(self, header: bytes) -> bool:
        found = _HEADER.search(header)
        if found is None or (found[1] or found[2] or found[3]) != b"I":
            return False
        return not self._is_told(_base_name(found[4]))


def may_be_headed(line: bytes) -> bool:
    """Whether a line may have a header; only reading it can tell."""
    return _HEADER_END.search(line) is not None


def _starts_of(lines: list[bytes], wanted: set[bytes]) -> Iterator[int]:
    at = 0
    for line in lines:
        if line in wanted:
            yield at
        at += len(line) + 1


def _told_runs(lines: list[bytes], told: set[bytes]) -> Iterator[tuple[int, int]]:
    """The middle of each long run of told lines."""
    if not told:
        return
    fresh = [number for number, line in enumerate(lines) if line not in told]
    # What a block ends with is its last line or nothing.
    bounds = [-1, *fresh, *([] if fresh and fresh[-1] == len(lines) - 1 else [len(lines) - 1])]
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    for before, behind in pairwise(bounds):
        first, end = before + 1 + _READ_FIRST, behind - _READ_LAST
        if first < end:
            yield starts[first], starts[end]


def _headers(block: bytes) -> Iterator[tuple[int, int, bytes]]:
    """What may be headers: where each begins, where its line begins, and its text."""
    line = start = seen = 0
    line_end = -1
    for found in _HEADER_END.finditer(block):
        place = found.start()
        # Looking back to the line's beginning for each would be quadratic in a long line.
        if place > line_end:
            line = start = seen = block.rfind(b"\n", 0, place) + 1
            line_end = block.find(b"\n", place)
            line_end = len(block) if line_end < 0 else line_end
        start = max(start, block.rfind(b"\r", seen, place) + 1)
        seen = place
        if place - start <= HEADER_WITHIN:
            yield start, line, block[start : found.end() + 1]


@lru_cache(maxsize=1024)
def _base_name(path: bytes) -> str:
    return path.rpartition(b"/")[2].decode("ascii")
