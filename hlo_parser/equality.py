"""What differs between two modules, value by value.

Two modules are equal when they hold the same computations in the same order, these the same
instructions in the same order, and each instruction the same name, shape with layout, opcode,
operands and attribute values; likewise header and source places. How a text spells it (`%`,
signatures, operand shapes, comments, blanks, the order of attributes) makes no difference, nor
do literals of which one is elided. A text that leaves out what another prints (an older release)
differs in just that, by key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

from hlo_parser.patterns import STRING
from hlo_parser.possessive import compile_pattern
from hlo_parser.values import CALLEE_KEYS, names_from_text

if TYPE_CHECKING:
    from hlo_parser.computation import Computation
    from hlo_parser.instruction import Instruction
    from hlo_parser.module import Module

_PIECE = compile_pattern(rf"/\*.*?\*/|//[^\n]*+|\s++|%|({STRING}|[\w.\-+]++|.)", re.S)
_LITERAL_PIECE = compile_pattern(r"/\*.*?\*/|[\s,]++|([{}()]|[^\s,{}()]++)", re.S)
_SHOWN = 200


class Difference(NamedTuple):
    """One value that two modules do not share; values are shown cut to 200 characters."""

    place: str
    """Empty for the module itself, else `computation` or `computation/instruction`."""
    what: str
    """A property or an attribute key; `metadata.op_name` for a part of the metadata."""
    first: str
    second: str
    """`None` where one side has no such value."""


def modules_differ(first: Module, second: Module) -> tuple[Difference, ...]:
    """All differences, in text order of `first`; none when the modules are equal."""
    return tuple(_between(first, second))


def _between(first: Module, second: Module) -> Iterator[Difference]:
    yield from _values("", "name", first.name, second.name)
    yield from _values("", "entry", first.entry.name, second.entry.name)
    header, other = first.header.attributes, second.header.attributes
    yield from _by_key("", "", _plain_values(header), _plain_values(other))
    yield from _values("", "frames", _frames(first), _frames(second))
    yield from _values("", "unparsed", len(first.unparsed), len(second.unparsed))
    yield from _sequences("", "computations", first.computations, second.computations)
    for computation in first.computations:
        twin = second.get(computation.name)
        if twin is not None and twin is not computation:
            yield from _computations(computation, twin)


def _computations(first: Computation, second: Computation) -> Iterator[Difference]:
    place = first.name
    yield from _values(place, "execution_thread", first.execution_thread, second.execution_thread)
    yield from _values(place, "backend_config", first.backend_config, second.backend_config)
    yield from _values(place, "root", first.root.name, second.root.name)
    yield from _sequences(place, "instructions", first.instructions, second.instructions)
    for instruction in first.instructions:
        twin = second.get(instruction.name)
        if twin is not None and twin is not instruction:
            yield from _instructions(f"{place}/{instruction.name}", instruction, twin)


def _instructions(place: str, first: Instruction, second: Instruction) -> Iterator[Difference]:
    yield from _values(place, "opcode", first.opcode, second.opcode)
    yield from _values(place, "shape", _plain(first.shape.text), _plain(second.shape.text))
    yield from _values(place, "operands", _operands(first), _operands(second))
    yield from _values(place, "parameter_number", first.parameter_number, second.parameter_number)
    yield from _literals(place, first, second)
    if first.attribute_list is not second.attribute_list:
        own, other = first.attributes, second.attributes
        yield from _by_key(place, "", _plain_values(own), _plain_values(other))
        yield from _typed(place, first, second)


def _typed(place: str, first: Instruction, second: Instruction) -> Iterator[Difference]:
    """Attributes whose spelling may differ where their value does not."""
    yield from _by_key(place, "metadata.", _metadata(first), _metadata(second))
    yield from _by_key(
        place, "frontend_attributes.", first.frontend_attributes, second.frontend_attributes
    )
    yield from _values(place, "backend_config", first.backend_config, second.backend_config)


_TYPED = frozenset({"metadata", "frontend_attributes", "backend_config"})


def _metadata(instruction: Instruction) -> dict[str, object]:
    """Parts that say something: 0 and an empty string are what XLA keeps for none."""
    metadata = instruction.metadata
    found = {} if metadata is None else asdict(metadata)
    return {key: value for key, value in found.items() if value}


def _literals(place: str, first: Instruction, second: Instruction) -> Iterator[Difference]:
    one, other = first.literal, second.literal
    if one is None or other is None or one.is_elided or other.is_elided:
        return
    # XLA skips the commas between elements.
    pieces = _words(_LITERAL_PIECE, one.text), _words(_LITERAL_PIECE, other.text)
    yield from _values(place, "literal", *pieces)


def _operands(instruction: Instruction) -> list[str]:
    return [
        name + "".join(f"#{index}" for index in path)
        for name, path in zip(instruction.operands, instruction.operand_paths, strict=True)
    ]


def _frames(module: Module) -> str | None:
    return None if module.frames is None else module.frames.text()


# ---- spelling ------------------------------------------------------------------------------------


def _words(piece: re.Pattern[str], text: str) -> str:
    return " ".join(match[1] for match in piece.finditer(text) if match[1])


def _plain(text: str) -> str:
    """The words of a value without blanks, comments and `%`."""
    return _words(_PIECE, text)


def _plain_values(attributes: Mapping[str, str]) -> dict[str, str]:
    """Raw attributes by key, those aside whose spelling varies."""
    plain: dict[str, str] = {}
    for key, text in attributes.items():
        if key in CALLEE_KEYS or key == "control-predecessors":
            plain[key] = ", ".join(names_from_text(text)) or _plain(text)
        elif key not in _TYPED:
            plain[key] = _plain(text)
    return plain


# ---- comparing -----------------------------------------------------------------------------------


def _values(place: str, what: str, first: object, second: object) -> Iterator[Difference]:
    if first != second:
        yield Difference(place, what, str(first)[:_SHOWN], str(second)[:_SHOWN])


def _by_key(
    place: str, prefix: str, first: Mapping[str, object], second: Mapping[str, object]
) -> Iterator[Difference]:
    for key in dict.fromkeys((*first, *second)):
        yield from _values(place, prefix + key, first.get(key), second.get(key))


def _sequences(
    place: str,
    what: str,
    first: Sequence[Computation] | Sequence[Instruction],
    second: Sequence[Computation] | Sequence[Instruction],
) -> Iterator[Difference]:
    """Names that only one side has, else the first place where the order differs."""
    names, others = [one.name for one in first], [one.name for one in second]
    if names == others:
        return
    held, other_held = set(names), set(others)
    missing = [name for name in names if name not in other_held]
    added = [name for name in others if name not in held]
    if missing or added or len(names) != len(others):
        yield Difference(place, what, " ".join(missing)[:_SHOWN], " ".join(added)[:_SHOWN])
        return
    at = next(i for i, (name, other) in enumerate(zip(names, others, strict=True)) if name != other)
    yield Difference(
        place,
        f"order of {what}",
        " ".join(names[at : at + 5])[:_SHOWN],
        " ".join(others[at : at + 5])[:_SHOWN],
    )
