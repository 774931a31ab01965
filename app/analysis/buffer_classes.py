"""What a temporary is there for: state of a loop, a collective's buffer, a copy, scratch space.

Said of values as a buffer assignment names them, from the text they belong to. Where several
answers fit, the one that stands first in `BufferSorter.of` is given.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.analysis.async_pairs import called_by_start
from app.analysis.buffers import Place, Placement
from app.analysis.carry import describe_carry
from app.analysis.dataflow import Value
from app.analysis.opcodes import COLLECTIVES, base_opcode, collective_opcode
from app.model.facts import WhileLoop
from app.model.memory import BufferClass
from app.model.report import CarriedElement
from hlo_parser import Computation, Instruction, Module

_COPIES = frozenset({"copy", "copy-start", "copy-done"})
_MOVES = frozenset({"bitcast", "copy", "parameter", "reshape", "transpose", "tuple"})
_WRAPPERS = frozenset({"async-start", "call", "fusion"})


@dataclass(frozen=True, slots=True)
class Carried:
    """The element of a loop, by the loop's id, that a value is the state of."""

    loop: str
    element: CarriedElement


@dataclass(frozen=True, slots=True)
class Definition:
    """Where a value is defined."""

    computation: Computation
    instruction: Instruction


class BufferSorter:
    """Tells what the values of one text are for; `loops` are its loops by id."""

    def __init__(
        self, module: Module, placement: Placement, loops: Mapping[str, WhileLoop]
    ) -> None:
        self._module = module
        self._carried: dict[Value, Carried] = {}
        for value, carried in _carried_values(module, placement, loops):
            known = self._carried.get(value)
            # What one loop fills and another one reads is of the loop that fills it.
            if known is None or known.element.kind != "stacked_output":
                self._carried[value] = carried
        self._definitions = {
            instruction.name: Definition(computation, instruction)
            for computation in module.computations
            for instruction in computation.instructions
        }

    def definition(self, name: str) -> Definition | None:
        """The instruction of that name; None where the text does not hold it."""
        return self._definitions.get(name)

    def carried(self, value: Value) -> Carried | None:
        """The state of a loop that the value is, be it on the way in, inside or on the way out."""
        return self._carried.get(value)

    def of(self, place: Place) -> BufferClass:
        """What a temporary is there for."""
        carried = self._carried.get(place.value)
        definition = self._definitions.get(place.buffer.name)
        instruction = None if definition is None else definition.instruction
        if carried is not None and carried.element.kind == "stacked_output":
            return "stacked"
        if instruction is not None and self._is_collective(instruction):
            return "collective"
        if instruction is not None and self._is_copy(instruction):
            return "copy"
        if instruction is not None and _is_workspace(instruction, place.value.path):
            return "workspace"
        if carried is None:
            return "temporary"
        return self._of_carried(carried.element)

    def _of_carried(self, element: CarriedElement) -> BufferClass:
        if element.kind == "stacked_input":
            return "stacked"
        shown_by = self._definitions.get(element.instruction or "")
        if element.kind == "double_buffer" and shown_by is not None:
            return "collective" if self._is_collective(shown_by.instruction) else "carried"
        return "carried"

    def _is_collective(self, instruction: Instruction) -> bool:
        opcode = instruction.opcode
        if collective_opcode(instruction) is not None:
            return True
        if base_opcode(opcode.removesuffix("-done")) in COLLECTIVES:
            return True
        return any(collective_opcode(inner) is not None for inner in self._inside(instruction))

    def _is_copy(self, instruction: Instruction) -> bool:
        if instruction.opcode in _COPIES:
            return True
        opcodes = {inner.opcode for inner in self._inside(instruction)}
        return bool(opcodes & {"copy", "transpose"}) and opcodes <= _MOVES

    def _inside(self, instruction: Instruction) -> Iterator[Instruction]:
        if instruction.opcode in _WRAPPERS:
            for computation in called_by_start(self._module, instruction):
                yield from computation.instructions


def _is_workspace(instruction: Instruction, path: tuple[int, ...]) -> bool:
    """Whether a result of a library call is bytes without form, as cuBLAS and cuDNN ask for."""
    if instruction.opcode != "custom-call" or len(path) != 1:
        return False
    elements = instruction.shape.elements
    if path[0] == 0 or path[0] >= len(elements):
        return False
    shape = elements[path[0]]
    return shape.element_type in ("s8", "u8") and len(shape.dimensions) == 1


def _carried_values(
    module: Module, placement: Placement, loops: Mapping[str, WhileLoop]
) -> Iterator[tuple[Value, Carried]]:
    """The values that are the state of a loop; of nested loops the innermost comes last.

    An element that is handed on untouched is the same value outside: it is state of this loop only
    where the loop reads it slice by slice.
    """
    for loop_id, loop in sorted(loops.items(), key=lambda item: item[1].depth):
        for element in describe_carry(module, loop):
            if element.kind == "invariant":
                continue
            for place in placement.of_element(loop, element.index):
                yield place.value, Carried(loop_id, element)
