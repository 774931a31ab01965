"""Computations between blank lines, each distinct text once.

A block is the text of one computation up to and with the blank line behind it, as XLA prints it.
Reading one looks all its lines up and reads those not seen before. It is given up when a line is
not plainly closed, since then the computation may not end where the blank line is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from hlo_parser import grammar, patterns
from hlo_parser.computation import Computation, Gap
from hlo_parser.lines import ContextNeeded, cut_lines
from hlo_parser.pieces import decode
from hlo_parser.scan import is_closed_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo_parser.instruction import Instruction
    from hlo_parser.lines import LineReader


_usual_head = patterns.usual_head.match
_LINE = b"\n  "
_FOOT = b"\n}"
_USUAL_FOOT = b"\n}\n\n"
# Below this nothing is gained by looking for what a computation has in common with another.
_WORTH_COMPARING = 2_000
_LEAST_STEP = 256


class Block:
    """A distinct computation text, the computation it gives, and what stood behind it last."""

    __slots__ = (
        "computation",
        "following",
        "instruction_count",
        "is_plain",
        "line_breaks",
        "raw",
        "size",
    )

    is_plain: bool
    """Whether each line of its body is one instruction, and a blank line ends it."""

    def __init__(
        self, raw: bytes, computation: Computation, line_breaks: int, is_plain: bool = False
    ) -> None:
        self.raw: bytes = raw
        self.size: int = len(raw)
        self.computation: Computation = computation
        self.line_breaks: int = line_breaks
        self.instruction_count: int = len(computation.instructions)
        self.following: Block | None = None
        self.is_plain = is_plain


def read_block(raw: bytes, reader: LineReader, named: Mapping[str, Block]) -> Block | None:
    """Read a computation that ends with a blank line; None when its borders are not certain.

    `named` holds the last ones by name: passes most often turned that one into this. The lines
    that both begin and end with, a third of all, are taken from it: comparing them in bulk costs
    a fifth of cutting them and looking each up.
    """
    if reader.is_first:
        block = _read_first(raw, reader)
        if block is not None:
            return block
    head_end = raw.find(_LINE)
    is_usual = raw.endswith(_USUAL_FOOT)
    brace = len(raw) - len(_USUAL_FOOT) if is_usual else raw.rfind(_FOOT)
    if not 0 < head_end < brace:
        return None
    head = _head(decode(raw[:head_end]))
    thread = "main" if is_usual else _thread(raw[brace + len(_FOOT) :])
    if head is None or thread is None:
        return None
    before, after, start, end = (), (), head_end, brace
    known = named.get(head[2])
    if known is not None and known.is_plain and min(known.size, len(raw)) > _WORTH_COMPARING:
        before, after, start, end = _shared_lines(raw, head_end, brace, known)
    lines = cut_lines(raw[start:end].decode("utf-8", "backslashreplace"))
    del lines[0]
    found = reader.read_lines(lines)
    gaps = [] if all(found) else _read_odd(lines, found, reader)
    if gaps is None:
        return None
    line_breaks = len(before) + len(lines) + len(after) + 3
    offsets: tuple[int, ...] | None = None
    if gaps or (reader.has_several_rows and raw.count(b"\n") != line_breaks):
        if before or after:
            return read_block(raw, reader, {})
        line_breaks = raw.count(b"\n")
        starts = _starts(lines)
        offsets = tuple(start for start, made in zip(starts, found, strict=True) if made)
        found = [made for made in found if made]
    instructions = (*before, *cast("list[Instruction]", found), *after)
    if not instructions:
        return None
    computation = Computation(
        raw,
        head[2],
        head[1] is not None,
        thread,
        instructions,
        line_breaks - 1,
        offsets,
        tuple(gaps),
    )
    return Block(raw, computation, line_breaks, is_plain=offsets is None)


def _read_first(raw: bytes, reader: LineReader) -> Block | None:
    """Read a computation of a first text, of which nothing is known; None when it is not plain."""
    text = raw.decode("utf-8", "backslashreplace")
    if not text.endswith("\n}\n\n"):
        return None
    head = _usual_head(text)
    if head is not None:
        start = head.end()
    else:
        start = text.find("\n  ")
        head = _head(text[:start]) if start > 0 else None
        if head is None:
            return None
    found = reader.read_rows(text, start, len(text) - 4)
    if found is None or not all(found):
        return None
    count = len(found)
    root, name = head.groups()
    computation = Computation(
        raw, name, root is not None, "main", tuple(cast("list[Instruction]", found)), count + 2
    )
    return Block(raw, computation, count + 3, True)


_Lines = tuple["Instruction", ...]


def _shared_lines(
    raw: bytes, head_end: int, brace: int, known: Block
) -> tuple[_Lines, _Lines, int, int]:
    """The lines with which the body begins and ends as the known one does, and where they stop.

    Lines that are not compared to their last byte are left out. Whatever is left starts with the
    line break before its first line.
    """
    other, instructions = known.raw, known.computation.instructions
    alike = _alike_at_start(raw, other)
    start = max(raw.rfind(_LINE, 0, alike), head_end)
    before = instructions[: raw.count(b"\n", 0, start)] if start > head_end else ()
    alike = _alike_at_end(raw, other, min(len(raw), len(other)) - alike)
    end = raw.find(_LINE, len(raw) - alike, brace)
    if end < 0:
        return before, (), start, brace
    return before, instructions[-raw.count(b"\n", end, brace) :], start, end


def _alike_at_start(raw: bytes, other: bytes) -> int:
    """With how many equal bytes both begin, or a little less.

    Steps grow while they fit and shrink then: each copies what it compares, in one go.
    """
    most, at, step = min(len(raw), len(other)), 0, _LEAST_STEP
    while at + step <= most and raw.startswith(other[at : at + step], at):
        at += step
        step += step
    while step > _LEAST_STEP:
        step >>= 1
        if at + step <= most and raw.startswith(other[at : at + step], at):
            at += step
    return at


def _alike_at_end(raw: bytes, other: bytes, most: int) -> int:
    """With how many equal bytes both end, `most` at most, or a little less."""
    size, other_size, at, step = len(raw), len(other), 0, _LEAST_STEP
    while at + step <= most and raw.endswith(
        other[other_size - at - step : other_size - at], 0, size - at
    ):
        at += step
        step += step
    while step > _LEAST_STEP:
        step >>= 1
        if at + step <= most and raw.endswith(
            other[other_size - at - step : other_size - at], 0, size - at
        ):
            at += step
    return at


def _thread(foot: bytes) -> str | None:
    """The execution thread told behind the brace; None for what is no foot."""
    match = patterns.computation_foot.fullmatch(decode(foot.removesuffix(b"\n\n")))
    if match is None:
        return None
    return "main" if match[1] is None else match[1]


def _head(text: str) -> re.Match[str] | None:
    """The first line, if nothing in it can reach beyond it.

    XLA reads a signature and does not use it (hlo_parser.cc, ParseComputation), so its shapes
    are passed over.
    """
    match = patterns.computation_head.match(text)
    if match is None or not text.endswith(" {") or "\n" in text:
        return None
    if match.end() == len(text):
        return match
    is_closed = (
        '"' not in text and "'" not in text and text.count("/") == 2 * text.count("/*index=")
    )
    return match if is_closed and ") -> " in text else None


def _read_odd(
    lines: list[str], found: list[Instruction | None], reader: LineReader
) -> list[Gap] | None:
    """Fill in lines of no ordinary form; None when one may reach into the next."""
    refused: list[tuple[int, str]] = []
    for index, instruction in enumerate(found):
        if instruction is not None:
            continue
        line = lines[index]
        if not is_closed_line(line):
            return None
        try:
            found[index] = reader.read(line.strip())
        except ContextNeeded:
            return None
        except grammar.GrammarError as error:
            refused.append((index, error.message))
    if not refused:
        return []
    starts = _starts(lines)
    return [_gap(starts[index], lines[index], reason) for index, reason in refused]


def _gap(number: int, line: str, reason: str) -> Gap:
    """A line that was not understood, without the two blanks that `cut_lines` took."""
    shown = line.strip()
    column = 3 + line.index(shown)
    return Gap(number, column, number, column + len(shown), shown[:200], reason)


def _starts(lines: list[str]) -> list[int]:
    """Where lines start: a constant of several rows holds line breaks."""
    starts: list[int] = []
    number = 1
    for text in lines:
        starts.append(number)
        number += 1 + text.count("\n")
    return starts
