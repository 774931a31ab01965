"""Instruction lines to instructions, each distinct text once.

Ordinary lines are cut by regular expressions; what those refuse goes to the grammar. Both give
the same answer where both answer (tests/parser/test_grammar_agreement.py). Shapes, attribute
lists and their typed values are shared between instructions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hlo_parser import grammar, patterns, values
from hlo_parser.comments import blanked
from hlo_parser.instruction import AttributeList, Instruction
from hlo_parser.possessive import compile_pattern
from hlo_parser.shapes import Shape
from hlo_parser.value_pool import ValuePool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MAX_DEPTH = 64
"""Brackets nested deeper than this are refused: no printer nests so, and readers may recurse."""

# Twice as fast as str.split with three characters.
cut_lines: Callable[[str], list[str]] = compile_pattern("\n  ").split

# Text, ROOT, name, shape, opcode, arguments, attribute list.
_Row = tuple[str, ...]
_BRACKET_OR_STRING = compile_pattern(r'"(?:[^"\\]++|\\.)*+(?:"|\\?+\Z)|[(){}\[\]]', re.S)
_plain = patterns.plain_line.fullmatch
_plain_rows = patterns.plain_rows.findall
_line = patterns.line.fullmatch
_long_constant = patterns.long_constant.fullmatch
_shape = patterns.shape.fullmatch
_literal = patterns.literal.fullmatch
_operand_list = patterns.operand_list.fullmatch
_plain_attribute_list = patterns.plain_attribute_list.fullmatch
_attribute_list = patterns.attribute_list.fullmatch


class ContextNeeded(Exception):
    """The instruction cannot be made from its line alone.

    It has no result shape, or holds instructions or computations printed in place.
    """


class LineReader:
    """Reads single instructions and remembers them by text."""

    __slots__ = (
        "_first_named",
        "_instructions",
        "attribute_lists",
        "has_several_rows",
        "pool",
        "refused",
        "shapes",
    )

    has_several_rows: bool
    """Whether an instruction of several rows was read; before that, each is one line."""

    def __init__(self) -> None:
        self._instructions: dict[str, Instruction] = {}
        # Names tell the lines of one text apart at a fraction of what whole lines cost: these are
        # looked up by their text only when there is a second text.
        self._first_named: dict[str, Instruction] | None = {}
        self.shapes: dict[str, Shape] = {}
        self.attribute_lists: dict[str, AttributeList] = {}
        self.refused: dict[str, tuple[str, int]] = {}
        self.pool: ValuePool = ValuePool()
        self.has_several_rows = False

    @property
    def is_empty(self) -> bool:
        """Whether no instruction was read so far."""
        return not self._first_named and not self._instructions

    @property
    def is_first(self) -> bool:
        """Whether there was no second text so far."""
        return self._first_named is not None

    def end_first_text(self) -> None:
        """Know lines by their text from now on, not by name."""
        if self._first_named is not None:
            for made in self._first_named.values():
                self._instructions.setdefault(made.text, made)
            self._first_named = None

    @property
    def instructions(self) -> dict[str, Instruction]:
        """Those read so far by their text."""
        self.end_first_text()
        return self._instructions

    def read_lines(self, texts: list[str]) -> list[Instruction | None]:
        """Look lines up, and read those of ordinary form; None for the others."""
        if self._first_named is not None:
            return self.ordinary(texts)
        found = list(map(self._instructions.get, texts))
        if all(found):
            return found
        if not any(found):
            return self.ordinary(texts)
        pairs = zip(texts, found, strict=True)
        new = iter(self.ordinary([text for text, known in pairs if not known]))
        return [known or next(new) for known in found]

    def read_rows(self, text: str, start: int, end: int) -> list[Instruction | None] | None:
        """Read the body between two places; None when it is for `read_lines`.

        Lines are cut in one go and not looked up: a tenth faster for those that are new.
        """
        rows = _plain_rows(text, start, end)
        if len(rows) != text.count("\n", start, end):
            rows = self._with_others(rows, text[start:end])
        return self._made(rows) if rows else None

    def _with_others(self, rows: list[_Row], body: str) -> list[_Row] | None:
        """The rows of all lines, given those of the plain ones; None when one is not ordinary."""
        lines = cut_lines(body)
        if len(lines) <= body.count("\n"):
            return None
        plain, complete = iter(rows), list[_Row]()
        row = next(plain, None)
        for line in lines[1:]:
            if row is not None and row[0] == line:
                complete.append(row)
                row = next(plain, None)
            elif (match := self._other(line)) is not None:
                complete.append(match.groups())
            else:
                return None
        return complete

    def ordinary(self, texts: Iterable[str]) -> list[Instruction | None]:
        """Read lines not known yet, of ordinary form; None for those that are not."""
        return self._made(
            [
                match.groups() if (match := _plain(text) or self._other(text)) is not None else None
                for text in texts
            ]
        )

    def _made(self, rows: Sequence[_Row | None]) -> list[Instruction | None]:
        """The instructions of these rows; None where a shape or an attribute list is odd."""
        shapes, attribute_lists, keep = (
            self.shapes, self.attribute_lists, self._instructions.setdefault,
        )  # fmt: skip
        first_named, pool, new = self._first_named, self.pool, object.__new__
        found: list[Instruction | None] = []
        for row in rows:
            if row is None:
                found.append(None)
                continue
            text, root, name, shape_text, opcode, arguments, tail = row
            shape = shapes.get(shape_text)
            if shape is None and _shape(shape_text) is not None:
                shape = shapes[shape_text] = Shape(shape_text)
            attributes = attribute_lists.get(tail)
            if attributes is None:
                # Positional, and no method around it: with names it would cost a twentieth more.
                is_plain = "\n" not in tail and _plain_attribute_list(tail) is not None
                if is_plain or _is_attribute_list(tail):
                    attributes = attribute_lists[tail] = AttributeList(tail, pool, None, is_plain)
            if shape is None or attributes is None:
                found.append(None)
                continue
            # As Instruction.__init__ does; its call is a tenth of what an ordinary line costs.
            made = new(Instruction)
            made.text = text
            # None or nothing, as the regular expression was asked.
            made.is_root = not not root
            made.name = name
            made.shape = shape
            made.opcode = opcode
            made.attribute_list = attributes
            made.arguments = arguments
            if first_named is not None:
                first = first_named.setdefault(name, made)
                found.append(first if first is made or first.text == text else keep(text, made))
            else:
                found.append(keep(text, made))
        return found

    def _other(self, text: str) -> re.Match[str] | None:
        """A constant, or a line whose operands have shapes."""
        match = _line(text)
        if match is None:
            match = _long_constant(text)
            self.has_several_rows |= match is not None and "\n" in text
        if match is None or match[5] == "parameter":
            return None
        if match[5] == "constant":
            return match if _literal(match[6]) else None
        return match if _operand_list(match[6]) and not match[6].isdigit() else None

    def read(self, text: str) -> Instruction:
        """Read any instruction; raises grammar.GrammarError, or ContextNeeded for the odd ones."""
        known = self._instructions.get(text) or self.ordinary([text])[0]
        if known is not None:
            return known
        if values.holds_body(blanked(text)):
            raise ContextNeeded
        if text in self.refused:
            raise grammar.GrammarError(*self.refused[text])
        try:
            parts = read_parts(text)
        except grammar.GrammarError as error:
            self.refused[text] = error.message, error.offset
            raise
        if parts.nested or not parts.shape:
            raise ContextNeeded
        self.has_several_rows |= "\n" in text
        made = self._instructions[text] = self.made(text, parts)
        return made

    def made(self, text: str, parts: grammar.InstructionParts) -> Instruction:
        """An instruction of these parts; its shape and attributes are shared, it is not kept."""
        shape = self.shapes.get(parts.shape)
        if shape is None:
            shape = self.shapes[parts.shape] = Shape(parts.shape)
        tail = "".join(f", {name}={value}" for name, value in parts.attributes.items())
        attributes = self.attribute_lists.get(tail)
        if attributes is None:
            attributes = AttributeList(tail, self.pool, parts.attributes)
            self.attribute_lists[tail] = attributes
        return Instruction.from_parts(text, parts, shape, attributes)


def _is_attribute_list(text: str) -> bool:
    """Whether it is one, each value closed, comments aside, and holds no computation."""
    return (
        _attribute_list(text) is not None
        and ("//" not in text or _attribute_list(blanked(text)) is not None)
        and not values.holds_body(text)
    )


def read_parts(text: str) -> grammar.InstructionParts:
    """Read an instruction by the grammar; raises GrammarError, also when it nests too deep."""
    refuse_depth(text)
    return grammar.read_instruction(text)


def refuse_depth(text: str) -> None:
    """Raise GrammarError when brackets nest too deep."""
    if _depth(text) > MAX_DEPTH:
        raise grammar.GrammarError(f"brackets nest deeper than {MAX_DEPTH}", 0)


def _depth(text: str) -> int:
    deepest = depth = 0
    for mark in _BRACKET_OR_STRING.findall(blanked(text)):
        if mark[0] != '"':
            depth += 1 if mark in "({[" else -1
            deepest = max(deepest, depth)
    return deepest
