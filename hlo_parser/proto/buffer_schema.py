# ruff: noqa: D101 -- each class is the message of that name in XLA's .proto files
"""The fields of a BufferAssignmentProto, as `schema.py` has those of a module.

Field numbers are facts of xla/service/hlo.proto: those of jaxlib 0.10.2, and those that older
releases wrote. Holds no code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from hlo_parser.proto.schema import Message


class Location(Message):
    """Of LogicalBufferProto; `instruction_name` until 2023, `instruction_id` since."""

    instruction_name: Annotated[bytes, 2]
    shape_index: Annotated[Sequence[int], 3]
    instruction_id: Annotated[int, 4]


class LogicalBufferProto(Message):
    id: Annotated[int, 1]
    size: Annotated[int, 2]
    defined_at: Annotated[Location, 3]
    color: Annotated[int, 4]


class Assigned(Message):
    """Of BufferAllocationProto."""

    UNREAD = frozenset({4})

    logical_buffer_id: Annotated[int, 1]
    offset: Annotated[int, 2]
    size: Annotated[int, 3]


class BufferAllocationProto(Message):
    index: Annotated[int, 1]
    size: Annotated[int, 2]
    is_thread_local: Annotated[bool, 3]
    is_entry_computation_parameter: Annotated[bool, 5]
    parameter_number: Annotated[int, 6]
    maybe_live_out: Annotated[bool, 7]
    color: Annotated[int, 8]
    assigned: Annotated[Sequence[Assigned], 9]
    parameter_shape_index: Annotated[Sequence[int], 10]
    is_tuple: Annotated[bool, 11]
    is_constant: Annotated[bool, 12]
    is_parameter_aliased_with_output: Annotated[bool, 13]


class Event(Message):
    """Of HeapSimulatorTrace; `kind` is 0 for ALLOC, 1 for FREE, 2 for SHARE_WITH."""

    kind: Annotated[int, 1]
    buffer_id: Annotated[int, 2]
    computation_name: Annotated[bytes, 3]
    instruction_name: Annotated[bytes, 4]
    share_with_canonical_id: Annotated[int, 5]


class HeapSimulatorTrace(Message):
    events: Annotated[Sequence[Event], 1]
    whole_module_simulation: Annotated[bool, 2]
    buffer_allocation_index: Annotated[int, 3]


class BufferAssignmentProto(Message):
    UNREAD = frozenset({2, 5})

    logical_buffers: Annotated[Sequence[LogicalBufferProto], 1]
    buffer_allocations: Annotated[Sequence[BufferAllocationProto], 3]
    heap_simulator_traces: Annotated[Sequence[HeapSimulatorTrace], 4]
