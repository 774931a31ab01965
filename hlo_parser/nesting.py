"""Instructions and computations printed in place of their names, as values of their own.

Canonical printing puts whole bodies where others name a computation, and hand-written texts put
instructions where others name an operand. Given the parts of such an instruction, gives the
instructions it stands for, innermost first; given its text, says where bodies stand. The names
are made here, as XLA makes them: the opcode or the attribute's key, and a number not yet used.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hlo_parser import patterns
from hlo_parser.infer import result_shape
from hlo_parser.possessive import compile_pattern
from hlo_parser.values import CALLEE_KEYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hlo_parser.grammar import InstructionParts
    from hlo_parser.infer import RootShape
    from hlo_parser.instruction import Instruction
    from hlo_parser.lines import LineReader
    from hlo_parser.scan import Scanner

_WORD = compile_pattern(patterns.NAME.encode())
_ROLE = "|".join(sorted(CALLEE_KEYS, key=len, reverse=True))
_MARK = compile_pattern(
    rf"(?<![A-Za-z0-9_.\-])({_ROLE})=\s*+\{{|[{{}}\"']|//|/\*".encode(),
)
_STRING = compile_pattern(rb'"(?:[^"\\]++|\\.)*+"|\'(?:[^\'\\]++|\\.)*+\'', re.S)


class FreshNames:
    """Names that a text does not use, made one after the other."""

    __slots__ = ("_counts", "_data", "_words")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._words: set[bytes] | None = None
        self._counts: dict[str, int] = {}

    def make(self, stem: str) -> str:
        """`stem.N` with the first N that gives a new name."""
        if self._words is None:
            self._words = set(_WORD.findall(self._data))
        while True:
            number = self._counts[stem] = self._counts.get(stem, 0) + 1
            name = f"{stem}.{number}"
            if name.encode() not in self._words:
                return name


def cut_bodies(
    scanner: Scanner, start: int, end: int, take: Callable[[str, int], tuple[str, int]]
) -> bytes:
    """The text from `start` to `end`, with a name in the place of each body.

    `take` is given the role and where the body opens; it gives a name and where the body ends.
    """
    data = scanner.data
    kept: list[bytes] = []
    position = start
    for role, opening in _openings(scanner, start, end):
        if opening < position:
            continue
        name, closed = take(role, opening)
        kept += (data[position:opening], b"%", name.encode())
        position = closed
    kept.append(data[position:end])
    return b"".join(kept)


def _openings(scanner: Scanner, start: int, end: int) -> Iterator[tuple[str, int]]:
    """Role and place of every `{` that may open a body; those inside of another body too."""
    data = scanner.data
    roles: list[str] = []
    position = start
    # Where one quote finds no end, none of its kind behind it will: those are escaped.
    open_marks: set[bytes] = set()
    while (match := _MARK.search(data, position, end)) is not None:
        mark, position = match.group(), match.end()
        if mark == b"}":
            del roles[-1:]
        elif mark in (b'"', b"'"):
            string = None if mark in open_marks else _STRING.match(data, match.start(), end)
            if string is None:
                open_marks.add(mark)
            else:
                position = string.end()
        elif mark in (b"//", b"/*"):
            position = max(scanner.skip_blank(match.start()), position)
        else:
            role = match[1].decode() if match[1] else (roles[-1] if roles else "")
            roles.append(role)
            if role and scanner.starts_instruction(scanner.skip_blank(position)):
                yield role, position - 1


class Unnester:
    """Makes instructions of one computation that need what stands before them."""

    __slots__ = ("_names", "_reader", "_root_shape", "_shapes")

    def __init__(self, reader: LineReader, names: FreshNames, root_shape: RootShape) -> None:
        self._reader = reader
        self._names = names
        self._shapes: dict[str, str] = {}
        self._root_shape = root_shape

    def define(self, instruction: Instruction) -> None:
        """Tell the shape of an instruction that stands before."""
        self._shapes[instruction.name] = instruction.shape.text

    def unnest(self, text: str, parts: InstructionParts) -> list[tuple[Instruction, int]]:
        """The instructions of `text`, innermost first; each with its offset in characters."""
        found: list[tuple[Instruction, int]] = []
        self._unnest(text, 0, parts, found)
        return found

    def _unnest(
        self,
        text: str,
        start: int,
        parts: InstructionParts,
        found: list[tuple[Instruction, int]],
    ) -> str:
        operands = list(parts.operands)
        for index, place, inner_text, inner in parts.nested:
            named = inner._replace(name=self._names.make(inner.opcode))
            operands[index] = self._unnest(inner_text, place, named, found)
        parts = parts._replace(operands=tuple(operands))
        if not parts.shape:
            shapes = [self._shapes.get(name, "") for name in operands]
            parts = parts._replace(shape=result_shape(parts, shapes, self._root_shape))
        made = self._reader.made(text, parts)
        self.define(made)
        found.append((made, start))
        return made.name
