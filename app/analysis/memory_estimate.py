"""A buffer assignment as XLA might make it, for a text that none was written for: an estimate.

Buffers and their lives are those of `buffer_flow.py`. Held for the whole run: parameters, outputs,
constants. Temporaries are given bytes of their own, so that the most that live at one moment tells
the peak; how XLA packs them, what it loses between them, alignment and scratch space of libraries
that the text does not show are not foreseen, and neither is what later passes change. Sizes are
dense, but for the first tile of a tiled layout, up to which dimensions are filled.
"""

import re
from dataclasses import dataclass
from math import prod

from app.analysis.buffer_flow import BufferFlow
from app.analysis.buffer_table import Buffer, TooMuchWork
from app.analysis.loop_writes import Element
from app.analysis.occupancy import Stay, busiest, levels_of
from app.analysis.opcodes import COLLECTIVES, base_opcode
from app.model.dump import (
    Allocation,
    BufferAssignment,
    BufferValue,
    LiveRange,
    LiveRanges,
    ModuleHistory,
    PassDump,
    ValuePositions,
)
from app.model.memory import MemoryEstimate
from hlo_parser import Instruction, Module, Shape

# Copies that one round makes may bear out others; real texts need two or three.
_MOST_ROUNDS = 4
_TILE = re.compile(r"T\(([\d,\s]{1,100})\)")
_MOST_PAIRS = 400
# Places that are looked at for temporaries, all together: a second of work.
_MOST_LOOKS = 1_000_000
_PARTITIONING = "spmd-partitioning"
# Custom calls that stand around what is divided by hand, or say how the partitioner is to divide.
_MARKS = ("Sharding", "SPMD", "xla.sdy.")


@dataclass(frozen=True, slots=True)
class Estimated:
    """What stands in for the files of a buffer assignment, and how far it goes."""

    assignment: BufferAssignment
    live: LiveRanges
    positions: ValuePositions
    estimate: MemoryEstimate


def estimate_assignment(history: ModuleHistory, dump: PassDump) -> Estimated | None:
    """The estimate for one text of a module; None for one that is not worth the work."""
    module = dump.module
    try:
        flow, is_settled = _settled_flow(module)
    except TooMuchWork:
        return None
    sets = _moved_into_outputs(_sets(flow))
    fixed = [members for members in sets if members[0].role != "temp"]
    temporary = [members for members in sets if members[0].role == "temp"]
    allocations = [_allocation(number, members) for number, members in enumerate(fixed)]
    values: list[BufferValue] = []
    stays: list[Stay] = []
    end = 0
    for members in temporary:
        sizes = [_placed_bytes(member.shape) for member in members]
        values += [_value(member, end) for member in members]
        stays += [
            Stay(member.start, member.end, end, end + size)
            for member, size in zip(members, sizes, strict=True)
        ]
        end += max(sizes)
    peak = busiest(levels_of(stays))
    allocations.append(
        Allocation(
            number=len(allocations),
            size=0 if peak is None else peak.bytes,
            kind="estimate",
            values=tuple(values),
        )
    )
    file = dump.file
    ranges = tuple(
        LiveRange(member.name, member.path, member.start, member.end)
        for members in sets
        for member in members
    )
    return Estimated(
        assignment=BufferAssignment(file, history.id, tuple(allocations)),
        live=LiveRanges(file, history.id, tuple(flow.sequence), ranges),
        positions=ValuePositions(file, history.id, _standing(flow)),
        estimate=_limits(history, dump, flow, is_settled),
    )


def _settled_flow(module: Module) -> tuple[BufferFlow, bool]:
    """The buffers of a text in which each loop is given a copy of what is read after it, too.

    False beside them where the last round still found something to copy.

    So does copy insertion where lives of values meet (xla/service/copy_insertion.cc,
    CopyRemover). Who reads what is known at the end of a walk alone, so it is walked again.

    Raises:
        TooMuchWork: as `BufferFlow`.
    """
    copied = frozenset[Element]()
    flow = BufferFlow(module)
    for _ in range(_MOST_ROUNDS):
        found = flow.overwritten() - copied
        if not found:
            return flow, True
        copied |= found
        flow = BufferFlow(module, copied)
    return flow, flow.overwritten() <= copied


def _sets(flow: BufferFlow) -> list[list[Buffer]]:
    """The buffers of the default memory space that lie in one place, the one that names it first.

    Where an edited text has a name twice the first stands for both.
    """
    sets: dict[int, list[Buffer]] = {}
    named: dict[tuple[int, str, tuple[int, ...]], Buffer] = {}
    for number, buffer in enumerate(flow.table.buffers):
        if buffer.shape.memory_space:
            continue
        held = flow.table.set_of(number)
        known = named.setdefault((held, buffer.name, buffer.path), buffer)
        members = sets.setdefault(held, [])
        if known is not buffer:
            # What a loop is given a copy of and what it leaves have one name.
            known.end = max(known.end, buffer.end)
        elif number == held:
            members.insert(0, buffer)
        else:
            members.append(buffer)
    return list(sets.values())


def _moved_into_outputs(sets: list[list[Buffer]]) -> list[list[Buffer]]:
    """The sets, temporaries put where an output lies before it is made, as far as they fit.

    XLA goes through buffers from the largest to the smallest and looks for a place among those that
    are reserved already (BufferAssigner::AssignSingleHloBuffer, xla/service/buffer_assignment.cc).
    Where there are very many of both the smallest stay where they are.
    """
    looks = _MOST_LOOKS
    places: list[tuple[int, list[Buffer]]] = []
    kept: list[list[Buffer]] = []
    sized = [(max(_placed_bytes(each.shape) for each in members), members) for members in sets]
    for size, members in sorted(sized, key=lambda one: (-one[0], one[1][0].role != "output")):
        role = members[0].role
        if role == "output":
            places.append((size, members))
        room = None
        if role == "temp":
            room, looks = _room_for(size, members, places, looks)
        if room is None:
            kept.append(members)
        else:
            room += members
    return kept


def _room_for(
    size: int, members: list[Buffer], places: list[tuple[int, list[Buffer]]], looks: int
) -> tuple[list[Buffer] | None, int]:
    """The newest place that has room, None where there is none; and how many looks are left."""
    for most, held in reversed(places):
        if not looks:
            break
        looks -= 1
        if size <= most and _are_apart(members, held):
            return held, looks
    return None, looks


def _are_apart(some: list[Buffer], others: list[Buffer]) -> bool:
    """Whether no two of them are needed at once; not told for very many."""
    if len(some) * len(others) > _MOST_PAIRS:
        return False
    return all(one.end < other.start or other.end < one.start for one in some for other in others)


def _allocation(number: int, members: list[Buffer]) -> Allocation:
    first = members[0]
    return Allocation(
        number=number,
        size=max(_placed_bytes(member.shape) for member in members),
        kind="estimate",
        values=tuple(_value(member, 0) for member in members),
        role=first.role,
        parameter=first.parameter,
    )


def _value(buffer: Buffer, offset: int) -> BufferValue:
    index = "{" + ",".join(map(str, buffer.path)) + "}" if buffer.path else ""
    size = _placed_bytes(buffer.shape)
    return BufferValue(buffer.name, index, size, offset, buffer.shape.text)


def _standing(
    flow: BufferFlow,
) -> dict[tuple[str, tuple[int, ...]], tuple[str, tuple[int, ...]]]:
    return {
        place: (flow.table.buffers[number].name, flow.table.buffers[number].path)
        for place, number in flow.standing.items()
    }


def _placed_bytes(shape: Shape) -> int:
    """Bytes with the dimensions filled up to the first tile, as TPUs store arrays."""
    tile = _TILE.search(shape.layout_text) if shape.kind == "array" else None
    size = shape.byte_size
    elements = prod(shape.dimensions)
    if tile is None or not elements:
        return size
    tiles = [int(word) for word in re.findall(r"\d{1,9}", tile[1])]
    order = shape.minor_to_major or tuple(reversed(range(len(shape.dimensions))))
    sizes = [shape.dimensions[d] for d in reversed(order) if d < len(shape.dimensions)]
    sizes = [1] * (len(tiles) - len(sizes)) + sizes
    head, inner = sizes[: len(sizes) - len(tiles)], sizes[len(sizes) - len(tiles) :]
    filled = prod(head) * prod(
        -(-length // step) * step for length, step in zip(inner, tiles, strict=True) if step
    )
    return size * filled // elements


def _limits(
    history: ModuleHistory, dump: PassDump, flow: BufferFlow, is_settled: bool
) -> MemoryEstimate:
    module = dump.module
    is_scheduled = module.header.is_scheduled
    is_divided = _is_divided(history, dump)
    elsewhere = sum(1 for buffer in flow.table.buffers if buffer.shape.memory_space)
    limits: list[str] = []
    if not is_scheduled:
        limits.append("there is no schedule yet: in the order of the text, before later passes")
    if not is_divided:
        limits.append(
            f"not yet divided among {module.header.num_partitions:,} devices: sizes are those"
            " of whole arrays"
        )
    if not is_settled:
        limits.append("loops need more copies than were reckoned with: it is no less than this")
    if flow.repeated_calls:
        limits.append("what is called several times is counted once")
    if elsewhere:
        limits.append("arrays in other memory spaces are left out")
    return MemoryEstimate(
        order="schedule" if is_scheduled else "text",
        divided=is_divided,
        limits=tuple(limits),
    )


def _is_divided(history: ModuleHistory, dump: PassDump) -> bool:
    """Whether arrays are those of one device already: a schedule is made after partitioning."""
    header = dump.module.header
    if header.num_partitions < 2 or header.is_scheduled:
        return True
    if dump.name.kind == "after_optimizations":
        return True
    earlier = (each.name for each in history.dumps[: dump.index + 1])
    return any(name.after == _PARTITIONING for name in earlier) or _reads_as_divided(dump.module)


def _reads_as_divided(module: Module) -> bool:
    """Whether a text tells that it was partitioned, as one without its name and neighbours must.

    Partitioning leaves shardings on parameters alone, for whoever calls the program, and none of
    the calls that mark them (xla/service/spmd/spmd_partitioner.cc); of a program without any it
    divides nothing.
    """
    if any(computation.name.endswith("_spmd") for computation in module.computations):
        return True
    lines = [i for computation in module.computations for i in computation.instructions]
    if any(map(_is_marked, lines)):
        return False
    return any(map(_is_of_one_device, lines)) or not any("sharding" in i.attributes for i in lines)


def _is_marked(instruction: Instruction) -> bool:
    """Whether it says how an array is to be divided."""
    target = instruction.custom_call_target if instruction.opcode == "custom-call" else None
    if target is not None and target.startswith(_MARKS):
        return True
    sharding = instruction.attributes.get("sharding", "")
    # What runs on the host keeps its one device.
    return instruction.opcode != "parameter" and bool(sharding) and "maximal" not in sharding


def _is_of_one_device(instruction: Instruction) -> bool:
    return instruction.opcode == "partition-id" or base_opcode(instruction.opcode) in COLLECTIVES
