"""The buffer assignment that a proto of a final text holds, where no text file of it came along.

Says of allocations what `-buffer-assignment.txt` says. From when to when temporaries are needed is
told by the trace of the simulated heap: in steps at which a value gets its bytes, not in those of
the schedule, which leaves the peak where it is. Positions of values are not in it.
"""

from app.ingest.memory_files import MemoryFile, allocation_role
from app.model.dump import Allocation, BufferAssignment, BufferValue, LiveRange, LiveRanges
from hlo_parser import BufferAssignment as Assigned
from hlo_parser import Module, Shape, parse_buffer_assignment


def read_proto_assignment(
    data: bytes, module: Module, *, file: str, max_bytes: int
) -> tuple[MemoryFile, ...]:
    """What a serialized HloProto says of the buffers of `module`, the one in it; () for nothing.

    Raises:
        HloProtoError: the bytes are no HloProto.
    """
    assigned = parse_buffer_assignment(data, max_bytes=max_bytes)
    if assigned is None or not assigned.allocations:
        return ()
    shapes = {
        instruction.name: instruction.shape
        for computation in module.computations
        for instruction in computation.instructions
    }
    allocations = tuple(_allocations(assigned, shapes))
    found: list[MemoryFile] = [BufferAssignment(file, "", allocations)]
    live = _live_ranges(assigned, allocations, file)
    return (*found, live) if live is not None else tuple(found)


def _allocations(assigned: Assigned, shapes: dict[str, Shape]) -> list[Allocation]:
    found: list[Allocation] = []
    for allocation in assigned.allocations:
        parts = (
            *(() if allocation.parameter is None else (f"parameter {allocation.parameter}",)),
            *(("constant",) if allocation.is_constant else ()),
            *(("thread-local",) if allocation.is_thread_local else ()),
            *(("maybe-live-out",) if allocation.maybe_live_out else ()),
        )
        found.append(
            Allocation(
                number=allocation.number,
                size=allocation.size,
                kind=", ".join(parts),
                values=tuple(
                    BufferValue(
                        name=name,
                        index=_index(path, shapes.get(name)),
                        size=buffer.size,
                        offset=buffer.offset,
                        shape=_shape_text(shapes.get(name), path),
                    )
                    for buffer in allocation.buffers
                    for name, path in (buffer.value,)
                ),
                role=allocation_role(parts, is_parameter=allocation.parameter is not None),
                parameter=allocation.parameter,
                color=allocation.color,
            )
        )
    return found


def _index(path: tuple[int, ...], shape: Shape | None) -> str:
    """As the text prints it: nothing for an array, `{}` for a tuple's table of pointers."""
    is_tuple = shape is not None and shape.kind == "tuple"
    return "{" + ",".join(map(str, path)) + "}" if path or is_tuple else ""


def _shape_text(shape: Shape | None, path: tuple[int, ...]) -> str:
    for index in path:
        elements = () if shape is None else shape.elements
        shape = elements[index] if index < len(elements) else None
    return "" if shape is None else shape.text


def _live_ranges(
    assigned: Assigned, allocations: tuple[Allocation, ...], file: str
) -> LiveRanges | None:
    """Those of the default memory's temporaries, where one heap was simulated.

    What lies in other allocations for temporaries, mostly a few bytes, counts for the whole run.
    """
    color = min(allocation.color for allocation in allocations)
    temporary = {a.number for a in allocations if a.role == "temp" and a.color == color}
    homes = {
        (value.name, value.path): allocation.number
        for allocation in allocations
        if allocation.number in temporary
        for value in allocation.values
    }
    # The trace names its allocation by a number that merging and sorting make another's later.
    heaps = [heap for heap in assigned.heaps if any(life.value in homes for life in heap.lives)]
    if len(heaps) != 1:
        return None
    (heap,) = heaps
    ranges = [LiveRange(*life.value, life.start, life.end) for life in heap.lives]
    simulated = {homes[life.value] for life in heap.lives if life.value in homes}
    ranges += [
        LiveRange(*value, 0, len(heap.sequence) - 1)
        for value, home in homes.items()
        if home not in simulated
    ]
    return LiveRanges(file, "", heap.sequence, tuple(ranges))
