r"""Cuts the bytes of a log into blocks of whole lines and says which lines may mean something.

Most lines of a log are a program's own chatter. They are passed over as bytes, thousands at a time:
a block is searched for the few words without which a line neither states a failure nor belongs to
XLA, and for the headers of its loggers. Too much may be kept, never too little: `read_log` on lines
one by one, which skips nothing, must come to the same answer.

Colours are taken out here, since they may part a word. A line longer than a mebibyte is cut; of one
that a progress bar redraws (`\r`), what stands last is kept.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from app.ingest.log_lines import ANSI_PATTERN, HEADER_PATTERN, HEADER_WITHIN

BLOCK_BYTES = 1 << 18
LONGEST_LINE = 1 << 20

# Every line that `log.py` reacts to outside of a message holds one of these.
TRIGGERS = (
    *(b"xla_", b"jaxlib", b"fail", b"Fail", b"Non-OK", b"RuntimeError", b"Traceback"),
    *(b"Fatal ", b"LLVM", b"*** ", b"Segmentation", b"Aborted", b"Bus error", b"Illegal ins"),
    *(b"Killed", b"Floating p", b"SIG", b"terminate called", b"Logging error", b"plugin config"),
    *(b"Exception ignored", b"NCCL op", b"Gloo ", b" graph", b"d buffer"),
    *(b"ustom call ", b"ptxas e", b"stuck", b"Termination", b"launch group", b"to host"),
    *(b"device compute", b"unexpected", b"schecklt", b"No valid", b"of memory", b"hbm usage"),
    *(b"remater", b"Involuntary", b"Very slow", b"All configs", b"displaying the", b"Results do"),
    *(b"Constant folding", b"[Compiling", b"reduce memory", b"operation took", b"waiting for"),
    *(b"rendezvous", b"equal to tol", b"Mismatched", b"absolute diff"),
    *(b"AssertionE", b"FloatingPointE", b"' op ", b"C++ exc", b"verifier errors"),
    *(b"oom-kill", b"oom_kill", b"OOM Kill"),
)
_UNDERSCORE = re.compile(rb"_(?:ERROR_|STATUS_|CHECK|EXHAUSTED)")
# A status code and its colon, or a qualified name of C++.
_COLON = re.compile(rb":(?:(?<=[A-Z]{2}:) |:[A-Za-z_])")
_ANSI = re.compile(ANSI_PATTERN.encode())
_HEADER_END = re.compile(rb"\.(?:cc|h|cu|cpp|inc|inl|mm):\d{1,9}\]")
_HEADER = re.compile(HEADER_PATTERN.encode())


def blocks_of_text(text: str) -> Iterator[bytes]:
    """The blocks of a log that is at hand as text."""
    pieces = (text[at : at + BLOCK_BYTES] for at in range(0, len(text), BLOCK_BYTES))
    return blocks_of_bytes(piece.encode("utf-8", "backslashreplace") for piece in pieces)


def blocks_of_file(path: Path) -> Iterator[bytes]:
    """The blocks of a file, of which little more than one is held at a time."""
    with path.open("rb") as file:
        yield from blocks_of_bytes(_pieces(file))


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(BLOCK_BYTES):
        yield piece


def blocks_of_bytes(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines, a line feed after each but perhaps the last."""
    rest = bytearray()
    is_cut = False
    for number, piece in enumerate(pieces):
        if number == 0:
            piece = piece.removeprefix(codecs.BOM_UTF8)
        end = piece.rfind(b"\n") + 1
        if not end:
            is_cut = _lengthen(rest, piece, is_cut=is_cut)
            continue
        if is_cut:
            # Of the line that was cut, only a redrawn end counts.
            first = piece.index(b"\n")
            _lengthen(rest, piece[:first].rstrip(b"\r"), is_cut=True)
            yield _plain(bytes(rest) + b"\n" + piece[first + 1 : end])
        else:
            yield _plain(bytes(rest) + piece[:end])
        rest = bytearray()
        is_cut = _lengthen(rest, piece[end:], is_cut=False)
    if rest:
        yield _plain(bytes(rest))


def _lengthen(rest: bytearray, piece: bytes, *, is_cut: bool) -> bool:
    """Add to an unfinished line; whether it is cut now."""
    if is_cut or len(rest) + len(piece) > LONGEST_LINE:
        redrawn = piece.rfind(b"\r", 0, len(piece) - 1) + 1
        if redrawn or rest.endswith(b"\r"):
            rest.clear()
            piece, is_cut = piece[redrawn:], False
    if not is_cut:
        rest += piece[: max(LONGEST_LINE - len(rest), 0)]
    return len(rest) >= LONGEST_LINE


def _plain(block: bytes) -> bytes:
    return _ANSI.sub(b"", block) if b"\x1b" in block else block


def marked_lines(
    block: bytes, is_told: Callable[[str], bool]
) -> tuple[list[int], list[tuple[int, int]]]:
    """Where lines begin that must be read, and the beginnings and ends of all headers, in order.

    `is_told` says whether what a C++ file (base name) logs by the way is worth reading.
    """
    starts: set[int] = set()
    for word in TRIGGERS:
        place = block.find(word)
        while place >= 0:
            starts.add(block.rfind(b"\n", 0, place) + 1)
            end = block.find(b"\n", place)
            place = block.find(word, end) if end >= 0 else -1
    for pattern in (_COLON, _UNDERSCORE):
        found = pattern.search(block)
        while found is not None:
            starts.add(block.rfind(b"\n", 0, found.start()) + 1)
            end = block.find(b"\n", found.end())
            found = pattern.search(block, end) if end >= 0 else None
    headers: list[tuple[int, int]] = []
    for start, line, header in _headers(block):
        if headers and headers[-1][0] == start:
            continue
        headers.append((start, line))
        if not _is_dull(header, is_told):
            starts.add(line)
    return sorted(starts), headers


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


def _is_dull(header: bytes, is_told: Callable[[str], bool]) -> bool:
    found = _HEADER.search(header)
    if found is None or (found[1] or found[2] or found[3]) != b"I":
        return False
    return not is_told(_base_name(found[4]))


@lru_cache(maxsize=1024)
def _base_name(path: bytes) -> str:
    return path.rpartition(b"/")[2].decode("ascii")
