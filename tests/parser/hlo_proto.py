"""As much of a serialized HloModuleProto as tests compare, without protobuf.

Field numbers after xla/service/hlo.proto; unknown fields are passed over.
"""

from collections.abc import Iterator
from dataclasses import dataclass

_LENGTH = 2
_SIZES = {1: 8, 5: 4}


@dataclass(frozen=True, slots=True)
class InstructionFacts:
    """What an instruction is, by names.

    An operand may be a part of a tuple, written as compact texts do (`t#1#0`); `element` is that
    which a get-tuple-element takes.
    """

    opcode: str
    operands: tuple[str, ...]
    callees: tuple[str, ...]
    control_predecessors: tuple[str, ...]
    element: int | None = None


@dataclass(frozen=True, slots=True)
class ComputationFacts:
    """What a computation holds; names of instructions are unique in it."""

    root: str
    instructions: dict[str, InstructionFacts]


@dataclass(frozen=True, slots=True)
class ModuleFacts:
    """Names and bodies of a module's computations."""

    entry: str
    computations: dict[str, ComputationFacts]


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    position, size = 0, len(data)
    while position < size:
        key, position = _varint(data, position)
        kind = key & 7
        if kind == _LENGTH:
            length, position = _varint(data, position)
            yield key >> 3, data[position : position + length]
            position += length
        elif kind == 0:
            value, position = _varint(data, position)
            yield key >> 3, value
        else:
            position += _SIZES[kind]


def _numbers(value: int | memoryview) -> list[int]:
    if isinstance(value, int):
        return [value]
    numbers: list[int] = []
    position = 0
    while position < len(value):
        number, position = _varint(value, position)
        numbers.append(number)
    return numbers


def _text(value: int | memoryview) -> str:
    assert isinstance(value, memoryview)
    return bytes(value).decode()


@dataclass(slots=True)
class _Instruction:
    name: str = ""
    opcode: str = ""
    number: int = 0
    operands: tuple[int, ...] = ()
    controls: tuple[int, ...] = ()
    callees: tuple[int, ...] = ()
    element: int = 0


@dataclass(slots=True)
class _Computation:
    name: str
    number: int
    root: int
    instructions: list[_Instruction]


def _instruction(data: memoryview) -> _Instruction:
    made = _Instruction()
    for field, value in _fields(data):
        match field:
            case 1:
                made.name = _text(value)
            case 2:
                made.opcode = _text(value)
            case 13:
                made.element = _numbers(value)[0]
            case 35:
                made.number = _numbers(value)[0]
            case 36:
                made.operands += tuple(_numbers(value))
            case 37:
                made.controls += tuple(_numbers(value))
            case 38:
                made.callees += tuple(_numbers(value))
            case _:
                pass
    return made


def _computation(data: memoryview) -> _Computation:
    made = _Computation("", 0, 0, [])
    for field, value in _fields(data):
        match field:
            case 1:
                made.name = _text(value)
            case 2:
                assert isinstance(value, memoryview)
                made.instructions.append(_instruction(value))
            case 5:
                made.number = _numbers(value)[0]
            case 6:
                made.root = _numbers(value)[0]
            case _:
                pass
    return made


def facts_of_proto(data: bytes) -> ModuleFacts:
    """Read a serialized HloModuleProto."""
    computations: list[_Computation] = []
    entry = 0
    for field, value in _fields(memoryview(data)):
        if field == 3:
            assert isinstance(value, memoryview)
            computations.append(_computation(value))
        elif field == 6:
            entry = _numbers(value)[0]
    names = {computation.number: computation.name for computation in computations}
    return ModuleFacts(names[entry], {made.name: _named(made, names) for made in computations})


def _named(computation: _Computation, computations: dict[int, str]) -> ComputationFacts:
    names = {made.number: made.name for made in computation.instructions}
    return ComputationFacts(
        names[computation.root],
        {
            made.name: InstructionFacts(
                made.opcode,
                tuple(names[number] for number in made.operands),
                tuple(computations[number] for number in made.callees),
                tuple(names[number] for number in made.controls),
                made.element if made.opcode == "get-tuple-element" else None,
            )
            for made in computation.instructions
        },
    )
