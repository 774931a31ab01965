"""The buffer assignment inside an HloProto: which value lies where, and when it is needed.

XLA writes it into the proto of the text after all optimizations (BufferAssignment::ToProto,
xla/service/buffer_assignment.cc). Instructions are named there by number or by name; here by name.
What names no instruction of the module is left out and counted. Given bytes, gives values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hlo_parser.proto.buffer_schema import (
    BufferAllocationProto,
    BufferAssignmentProto,
    HeapSimulatorTrace,
    Location,
)
from hlo_parser.proto.reading import MAX_BYTES, unpacked
from hlo_parser.proto.schema import HloInstructionProto, HloModuleProto, HloProto
from hlo_parser.proto.wire import decode

ValuePlace = tuple[str, tuple[int, ...]]
"""An instruction by name, and the path of the element in the tuple it makes."""

_FREE = 1


class AssignedBuffer(NamedTuple):
    """One value in an allocation; bytes."""

    value: ValuePlace
    size: int
    offset: int


class BufferAllocation(NamedTuple):
    """One allocation; `parameter` is the number of the entry parameter it is for."""

    number: int
    size: int
    color: int
    parameter: int | None
    is_constant: bool
    is_thread_local: bool
    maybe_live_out: bool
    buffers: tuple[AssignedBuffer, ...]


class BufferLife(NamedTuple):
    """A value that needs its bytes from one position of the simulated heap to another."""

    value: ValuePlace
    start: int
    end: int


class BufferHeap(NamedTuple):
    """The simulated heap of one allocation or more.

    `sequence` names the instructions whose values get bytes, in that order, one position each;
    what is given back is given back after the last of them so far.
    """

    sequence: tuple[str, ...]
    lives: tuple[BufferLife, ...]


class BufferAssignment(NamedTuple):
    """What an HloProto says of buffers.

    `unknown` counts values of instructions that the module does not hold.
    """

    allocations: tuple[BufferAllocation, ...]
    heaps: tuple[BufferHeap, ...]
    unknown: int


def parse_buffer_assignment(data: bytes, *, max_bytes: int = MAX_BYTES) -> BufferAssignment | None:
    """The assignment in a serialized HloProto (or a gzip of one); None where it has none.

    Raises HloProtoError for bytes that are no HloProto.
    """
    proto = decode(HloProto, unpacked(data, max_bytes))
    if not proto.buffer_assignment:
        return None
    return _Reader(proto.hlo_module, decode(BufferAssignmentProto, proto.buffer_assignment)).read()


class _Reader:
    def __init__(self, module: HloModuleProto, assignment: BufferAssignmentProto) -> None:
        self._assignment = assignment
        self._names = dict(_names_by_id(module))
        self._values: dict[int, ValuePlace] = {}
        for buffer in assignment.logical_buffers:
            place = self._place(buffer.defined_at)
            if place is not None:
                self._values[buffer.id] = place

    def read(self) -> BufferAssignment:
        assignment = self._assignment
        return BufferAssignment(
            tuple(map(self._allocation, assignment.buffer_allocations)),
            tuple(map(self._heap, assignment.heap_simulator_traces)),
            len(assignment.logical_buffers) - len(self._values),
        )

    def _place(self, location: Location) -> ValuePlace | None:
        name = self._names.get(location.instruction_id)
        if location.instruction_name:
            name = _text(location.instruction_name)
        return None if name is None else (name, tuple(location.shape_index))

    def _allocation(self, allocation: BufferAllocationProto) -> BufferAllocation:
        is_parameter = allocation.is_entry_computation_parameter
        return BufferAllocation(
            number=allocation.index,
            size=allocation.size,
            color=allocation.color,
            parameter=allocation.parameter_number if is_parameter else None,
            is_constant=allocation.is_constant,
            is_thread_local=allocation.is_thread_local,
            maybe_live_out=allocation.maybe_live_out,
            buffers=tuple(
                AssignedBuffer(value, each.size, each.offset)
                for each in allocation.assigned
                if (value := self._values.get(each.logical_buffer_id)) is not None
            ),
        )

    def _heap(self, trace: HeapSimulatorTrace) -> BufferHeap:
        """An event names the instruction that makes the value, be it taken or given back."""
        sequence: list[str] = []
        begun: dict[int, int] = {}
        lives: list[BufferLife] = []
        for event in trace.events:
            if event.kind != _FREE:
                begun.setdefault(event.buffer_id, len(sequence))
                sequence.append(_text(event.instruction_name))
            elif event.buffer_id in begun and event.buffer_id in self._values:
                start = begun.pop(event.buffer_id)
                lives.append(BufferLife(self._values[event.buffer_id], start, len(sequence) - 1))
        lives += [
            BufferLife(self._values[number], start, len(sequence) - 1)
            for number, start in begun.items()
            if number in self._values
        ]
        return BufferHeap(tuple(sequence), tuple(lives))


def _names_by_id(module: HloModuleProto) -> Iterator[tuple[int, str]]:
    for computation in module.computations:
        for raw in computation.instructions:
            instruction = decode(HloInstructionProto, raw)
            yield instruction.id, _text(instruction.name)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
