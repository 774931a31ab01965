"""Where values lie: a buffer assignment read together with the positions of its values.

A value of XLA is defined by one instruction and stands at many more (tuple access, bitcasts, the
results of loops); `Placement` finds it from any of them, by the list of positions where the dump
has one, else by following the text. Nothing is placed that the assignment does not place.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from app.analysis.dataflow import Value, root_elements, value_of
from app.model.dump import Allocation, BufferAssignment, BufferValue, ValuePositions
from app.model.facts import WhileLoop
from hlo_parser import Computation

_Position = tuple[str, tuple[int, ...]]

_MOST_BITCASTS = 100


# Equal only to itself: comparing would go through all values of the allocation.
@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Bytes `offset` to `offset + size` of an allocation, with the value that lies there."""

    allocation: Allocation
    buffer: BufferValue

    @property
    def value(self) -> Value:
        """What lies there."""
        return Value(self.buffer.name, self.buffer.path)

    @property
    def slot(self) -> tuple[int, int]:
        """Allocation and offset: equal where one value takes the place of another."""
        return self.allocation.number, self.buffer.offset


class Placement:
    """The places of one module's values."""

    def __init__(self, assignment: BufferAssignment, positions: ValuePositions | None) -> None:
        self._places = {
            Value(buffer.name, buffer.path): Place(allocation, buffer)
            for allocation in assignment.allocations
            for buffer in allocation.values
        }
        self._standing: Mapping[_Position, _Position] = (
            dict[_Position, _Position]() if positions is None else positions.values
        )
        self._by_name: dict[str, list[Place]] = {}
        for value, place in self._places.items():
            self._by_name.setdefault(value.name, []).append(place)

    def of_value(self, value: Value) -> Place | None:
        """The place of a value as its defining instruction names it."""
        return self._places.get(value)

    def defined_by(self, name: str) -> tuple[Place, ...]:
        """The places of all values that an instruction defines."""
        return tuple(self._by_name.get(name, ()))

    def at(self, computation: Computation, name: str, path: tuple[int, ...] = ()) -> Place | None:
        """The place of what stands at an instruction and a path, wherever it is defined."""
        here = Value(name, path)
        for _ in range(_MOST_BITCASTS):
            stated = self._standing.get(here)
            found = self._places.get(here if stated is None else Value(*stated))
            if found is not None:
                return found
            value = value_of(computation, here.name, here.path)
            instruction = computation.get(value.name)
            if instruction is not None and instruction.opcode == "bitcast" and instruction.operands:
                value = Value(instruction.operands[0], instruction.operand_paths[0])
            if value == here:
                return None
            here = value
        return None

    def of_element(self, loop: WhileLoop, element: int) -> tuple[Place, ...]:
        """The places an element of a carried tuple goes through: in, through the body, and out.

        For an element that lies in one buffer for the whole loop these are all in one slot.
        """
        path = (element,) if loop.instruction.shape.kind == "tuple" else ()
        found: list[Place | None] = [self.at(loop.computation, loop.name, path)]
        for computation in (loop.body, loop.condition):
            found += [self.at(computation, p.name, path) for p in computation.parameters[:1]]
        if loop.instruction.operands:
            outer = (*loop.instruction.operand_paths[0], *path)
            found.append(self.at(loop.computation, loop.instruction.operands[0], outer))
        roots = root_elements(loop.body) if path else (Value(loop.body.root.name),)
        if element < len(roots):
            found.append(self.at(loop.body, *roots[element]))
        return tuple({place.value: place for place in found if place is not None}.values())
