"""Instruction lines to instructions, each distinct text once.

Ordinary lines are cut by regular expressions; what those refuse goes to the grammar. Both give
the same answer where both answer (tests/parser/test_grammar_agreement.py). Shapes, attribute
lists and their typed values are shared between instructions.
"""

from __future__ import annotations

from hlo_parser import grammar, patterns
from hlo_parser.instruction import AttributeList, Instruction, ValuePool
from hlo_parser.shapes import Shape

MAX_DEPTH = 200
"""Brackets nested deeper than this are refused: no printer nests so, and readers may recurse."""

_OPENING = "({["
_CLOSING = ")}]"


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
        match = patterns.line.fullmatch(text)
        if match is None:
            match = patterns.multi_line_constant.fullmatch(text)
            if match is None:
                return None
        root, name, shape_text, opcode, arguments, tail = match.groups()
        shape = self.shapes.get(shape_text)
        if shape is None:
            if patterns.shape.fullmatch(shape_text) is None:
                return None
            shape = self.shapes[shape_text] = Shape(shape_text)
        attributes = self.attribute_lists.get(tail)
        if attributes is None:
            if patterns.attribute_list.fullmatch(tail) is None:
                return None
            attributes = self._keep(tail, _split(tail))
        if opcode == "constant":
            if patterns.literal.fullmatch(arguments) is None:
                return None
        elif opcode == "parameter":
            if not (arguments.isascii() and arguments.isdigit()):
                return None
        elif patterns.operand_list.fullmatch(arguments) is None:
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
        attributes = self.attribute_lists.get(key) or self._keep(key, parts.attributes)
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

    def _keep(self, tail: str, raw: dict[str, str]) -> AttributeList:
        attributes = self.attribute_lists[tail] = AttributeList(raw, self.pool)
        return attributes


def _split(tail: str) -> dict[str, str]:
    """Cut a proved attribute list into key and raw value."""
    return {key[:-1]: value for key, value in patterns.attribute.findall(tail)}


def _depth(text: str) -> int:
    deepest = depth = 0
    for character in text:
        if character in _OPENING:
            depth += 1
            deepest = max(deepest, depth)
        elif character in _CLOSING:
            depth -= 1
    return deepest
