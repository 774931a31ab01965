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
from hlo_parser.lines import ContextNeeded
from hlo_parser.possessive import compile_pattern
from hlo_parser.scan import is_closed_line

if TYPE_CHECKING:
    from hlo_parser.instruction import Instruction
    from hlo_parser.lines import LineReader


# Twice as fast as str.split with three characters.
_cut_lines = compile_pattern("\n  ").split
_NO_FOOT = "\n\n"


class Block:
    """A distinct computation text, the computation it gives, and what stood behind it last."""

    __slots__ = ("computation", "following", "instruction_count", "line_breaks", "raw", "size")

    def __init__(self, raw: bytes, computation: Computation, line_breaks: int) -> None:
        self.raw: bytes = raw
        self.size: int = len(raw)
        self.computation: Computation = computation
        self.line_breaks: int = line_breaks
        self.instruction_count: int = len(computation.instructions)
        self.following: Block | None = None


def read_block(raw: bytes, reader: LineReader, *, is_first: bool = False) -> Block | None:
    """Read a computation that ends with a blank line; None when its borders are not certain.

    In the first text of an interner (`is_first`) lines are not looked up: they rarely repeat.
    """
    lines = _cut_lines(raw.decode("utf-8", errors="backslashreplace"))
    head = _head(lines.pop(0))
    if head is None or not lines:
        return None
    lines[-1], brace, foot_text = lines[-1].rpartition("\n}")
    thread = _thread(foot_text) if foot_text != _NO_FOOT else "main"
    if not brace or thread is None:
        return None
    found = reader.ordinary(lines) if is_first else _known_or_ordinary(lines, reader)
    gaps = [] if all(found) else _read_odd(lines, found, reader)
    if gaps is None:
        return None
    line_breaks = len(lines) + 3
    offsets: tuple[int, ...] | None = None
    if gaps or reader.has_several_rows:
        line_breaks = raw.count(b"\n")
        starts = _starts(lines)
        offsets = tuple(start for start, made in zip(starts, found, strict=True) if made)
        found = [made for made in found if made]
    if not found:
        return None
    instructions = cast("tuple[Instruction, ...]", tuple(found))
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
    return Block(raw, computation, line_breaks)


def _thread(foot: str) -> str | None:
    """The execution thread told behind the brace; None for what is no foot."""
    match = patterns.computation_foot.fullmatch(foot, 0, len(foot) - len(_NO_FOOT))
    return None if match is None else match[1] or "main"


def _head(text: str) -> re.Match[str] | None:
    """The first line, if nothing in it can reach beyond it.

    XLA reads a signature and does not use it (hlo_parser.cc, ParseComputation), so its shapes
    are passed over.
    """
    match = patterns.computation_head.match(text)
    if match is None or not text.endswith(" {"):
        return None
    if match.end() == len(text):
        return match
    is_closed = (
        '"' not in text and "'" not in text and text.count("/") == 2 * text.count("/*index=")
    )
    return match if is_closed and ") -> " in text else None


def _known_or_ordinary(lines: list[str], reader: LineReader) -> list[Instruction | None]:
    found = list(map(reader.instructions.get, lines))
    if all(found):
        return found
    if not any(found):
        return reader.ordinary(lines)
    pairs = zip(lines, found, strict=True)
    new = iter(reader.ordinary([line for line, known in pairs if not known]))
    return [known or next(new) for known in found]


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
    """A line that was not understood, without the two blanks that `_cut_lines` took."""
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
