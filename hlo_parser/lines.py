"""Instruction lines to instructions, each distinct text once.

Ordinary lines are cut by regular expressions; what those refuse goes to the grammar. Both give
the same answer where both answer (tests/parser/test_grammar_agreement.py). Shapes, attribute
lists and their typed values are shared between instructions.
"""

from __future__ import annotations

import re
from itertools import chain

from hlo_parser import grammar, patterns
from hlo_parser.instruction import AttributeList, Instruction, ValuePool
from hlo_parser.shapes import Shape

MAX_DEPTH = 200
"""Brackets nested deeper than this are refused: no printer nests so, and readers may recurse."""

_BRACKET = re.compile(r"[(){}\[\]]")
_line = patterns.line.fullmatch
_multi_line_constant = patterns.multi_line_constant.fullmatch
_shape = patterns.shape.fullmatch
_literal = patterns.literal.fullmatch
_operand_list = patterns.operand_list.fullmatch
_attributes = patterns.attribute.findall


class LineReader:
    """Reads single instructions and remembers them by text."""

    __slots__ = ("attribute_lists", "instructions", "pool", "shapes")

    def __init__(self) -> None:
        self.instructions: dict[str, Instruction] = {}
        self.shapes: dict[str, Shape] = {}
        self.attribute_lists: dict[str, AttributeList] = {}
        self.pool = ValuePool()

    def ordinary(self, text: str) -> Instruction | None:
        """Read an instruction of ordinary form; None when it is not."""
        match = _line(text) or _multi_line_constant(text)
        if match is None:
            return None
        root, name, shape_text, opcode, arguments, tail = match.groups()
        shape = self.shapes.get(shape_text)
        if shape is None:
            if _shape(shape_text) is None:
                return None
            shape = self.shapes[shape_text] = Shape(shape_text)
        attributes = self.attribute_lists.get(tail)
        if attributes is None:
            raw = split_attributes(tail)
            if raw is None:
                return None
            attributes = self.attribute_lists[tail] = AttributeList(raw, self.pool)
        if not _arguments_fit(opcode, arguments):
            return None
        instruction = Instruction(
            text, root is not None, name, shape, opcode, arguments, attributes
        )
        self.instructions[text] = instruction
        return instruction

    def read(self, text: str) -> Instruction:
        """Read any instruction; raises grammar.GrammarError."""
        known = self.instructions.get(text) or self.ordinary(text)
        if known is not None:
            return known
        if _depth(text) > MAX_DEPTH:
            raise grammar.GrammarError(f"brackets nest deeper than {MAX_DEPTH}", 0)
        parts = grammar.read_instruction(text)
        shape = self.shapes.get(parts.shape)
        if shape is None:
            shape = self.shapes[parts.shape] = Shape(parts.shape)
        key = "".join(f", {name}={value}" for name, value in parts.attributes.items())
        attributes = self.attribute_lists.get(key)
        if attributes is None:
            attributes = self.attribute_lists[key] = AttributeList(parts.attributes, self.pool)
        instruction = Instruction(
            text,
            parts.is_root,
            parts.name,
            shape,
            parts.opcode,
            parts.arguments,
            attributes,
            parts.operands,
            parts.operand_paths,
        )
        self.instructions[text] = instruction
        return instruction


def split_attributes(tail: str) -> dict[str, str] | None:
    """Cut `, key=value, key=value` into keys and raw values; None when it is not of that form."""
    found = _attributes(tail)
    # The matches stand apart from each other, so equal lengths prove that nothing is between them.
    if sum(map(len, chain.from_iterable(found))) + 2 * len(found) != len(tail):
        return None
    return {key[:-1]: value for key, value in found}


def _arguments_fit(opcode: str, arguments: str) -> bool:
    if opcode == "constant":
        return _literal(arguments) is not None
    if opcode == "parameter":
        return arguments.isascii() and arguments.isdigit()
    return _operand_list(arguments) is not None


def _depth(text: str) -> int:
    deepest = depth = 0
    for bracket in _BRACKET.findall(text):
        depth += 1 if bracket in "({[" else -1
        deepest = max(deepest, depth)
    return deepest
