r"""Cuts the bytes of a log into blocks of whole lines.

Colours are taken out here, since they may part a word. A line longer than a mebibyte is cut; of one
that a progress bar redraws (`\r`), what stands last is kept. Which lines mean something is for
`log_marks` to say.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from app.ingest.log_lines import ANSI_PATTERN

BLOCK_BYTES = 1 << 18
LONGEST_LINE = 1 << 20

_ANSI = re.compile(ANSI_PATTERN.encode())


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
