"""A module as text again, in either form of XLA's dump files.

Given a module, gives a text that reads as an equal module (`equality.py` says what equal means):
XLA's own spelling, whatever the spelling it was read from. Attribute values are printed as they
were read, but for the names in them. What was not understood when reading is not printed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from hlo_parser import patterns
from hlo_parser.possessive import compile_pattern
from hlo_parser.values import CALLEE_KEYS, in_one_row, names_from_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo_parser.computation import Computation
    from hlo_parser.instruction import Instruction
    from hlo_parser.module import Header, Module

PrintForm = OneOf["long", "short"]

_INDEX_INTERVAL = 5
_LAYOUT = compile_pattern(patterns.LAYOUT)
_ODD_SHAPE = compile_pattern(r"//|/\*(?!index=\d+\*/)|[^\S ]")
_COMMENT = compile_pattern(r"/\*.*?\*/|//[^\n\r]*|\s+", re.S)
_RESERVED = compile_pattern(
    r"(?:pred|token|opaque|[su](?:1|2|4|8|16|32|64)|c(?:64|128)|bf16|f(?:16|32|64)"
    r"|f[468]e\d++m\d++(?:b11)?+(?:fn|fnuz|fnu)?+"
    r"|true|false|inf|nan|HloModule|ENTRY|ROOT|FileNames|FunctionNames|FileLocations|StackFrames"
    r"|maximal|replicated|manual|last_tile_dim_replicate|shard_as|shard_like|unknown|unreduced)",
    re.ASCII,
)
"""Words that XLA's lexer takes for something else where a name without `%` stands."""


def print_module(module: Module, *, form: PrintForm = "long") -> str:
    """The text of a module.

    `long` is what dumps hold since March 2025: `%` before names, signatures, operands without
    shapes. `short` is what they held from 2021 to February 2025: neither `%` nor signatures.
    """
    return "\n".join(_Printer(form).lines(module)) + "\n"


class _Printer:
    """Prints in one form."""

    __slots__ = ("is_long",)

    def __init__(self, form: PrintForm) -> None:
        self.is_long = form == "long"

    def lines(self, module: Module) -> Iterator[str]:
        if module.header.text:
            yield _header(module.header)
            yield ""
        if module.frames is not None:
            yield module.frames.text()
            yield ""
        for computation in module.computations:
            yield from self._computation(computation)
            yield ""

    def name(self, name: str) -> str:
        """A name as it is printed where it is used or given."""
        return f"%{name}" if self.is_long or _RESERVED.fullmatch(name) else name

    def _computation(self, computation: Computation) -> Iterator[str]:
        entry = "ENTRY " if computation.is_entry else ""
        signature = _signature(computation) if self.is_long else ""
        yield f"{entry}{self.name(computation.name)} {signature}{{"
        for instruction in computation.instructions:
            yield "  " + self._instruction(instruction)
        thread = computation.execution_thread
        told = "" if thread == "main" else f', execution_thread="{thread}"'
        config = computation.backend_config
        yield f"}}{told}, backend_config={config}" if config else f"}}{told}"

    def _instruction(self, instruction: Instruction) -> str:
        root = "ROOT " if instruction.is_root else ""
        shape = f"{_on_one_line(instruction.shape.text)} " if instruction.shape.text else ""
        attributes = "".join(
            f", {key}={self._value(key, value)}" for key, value in instruction.attributes.items()
        )
        return (
            f"{root}{self.name(instruction.name)} = {shape}{instruction.opcode}"
            f"({self._arguments(instruction)}){attributes}"
        )

    def _arguments(self, instruction: Instruction) -> str:
        if instruction.opcode in {"parameter", "constant"}:
            return instruction.arguments
        printed: list[str] = []
        pairs = zip(instruction.operands, instruction.operand_paths, strict=True)
        for index, (name, path) in enumerate(pairs):
            comment = f"/*index={index}*/" if index and index % _INDEX_INTERVAL == 0 else ""
            steps = "".join(f"#{step}" for step in path)
            printed.append(f"{comment}{self.name(name)}{steps}")
        return ", ".join(printed)

    def _value(self, key: str, value: str) -> str:
        if key not in CALLEE_KEYS and key != "control-predecessors":
            # A line that starts with a brace would end the computation.
            if "\n" not in value or "//" in value or value.startswith("'"):
                return value
            return in_one_row(value)
        names = names_from_text(value)
        if not names:
            # A body in place of a name, as canonical texts have it.
            return value
        printed = ", ".join(self.name(name) for name in names)
        return f"{{{printed}}}" if value.startswith("{") else printed


def _on_one_line(shape: str) -> str:
    """A shape without comments and line breaks; only the usual `/*index=5*/` stays."""
    return _COMMENT.sub("", shape) if _ODD_SHAPE.search(shape) else shape


def _header(header: Header) -> str:
    parts = [f"HloModule {header.name}", *(f"{k}={v}" for k, v in header.attributes.items())]
    return ", ".join(parts)


def _signature(computation: Computation) -> str:
    """`(name: shape, ...) -> shape ` without layouts; empty where a shape is not known."""
    result = _on_one_line(computation.root.shape.text)
    parameters = [(one.name, _on_one_line(one.shape.text)) for one in computation.parameters]
    if not result or not all(shape for _, shape in parameters):
        return ""
    printed = ", ".join(f"{name}: {_LAYOUT.sub('', shape)}" for name, shape in parameters)
    return f"({printed}) -> {_LAYOUT.sub('', result)} "
