"""Buffer assignments, live ranges and memory reports, side files of a module's final text.

Both eras of each are read (`xla/service/buffer_assignment.cc`, BufferAssignment::ToString and
MemoryUsageReport; `xla/hlo/utils/hlo_live_range.cc`, HloLiveRange::ToString). Until April 2026 one
file held the allocations, the values with their positions and the live ranges; since then each has
a file of its own. Lines that are none of the known are passed over: uses of values and the stack
traces of the peak have no place in the model.
"""

import re
from collections.abc import Iterator, Sequence

from app.ingest.names import FileKind
from app.model.dump import (
    Allocation,
    AllocationRole,
    BufferAssignment,
    BufferValue,
    LiveRange,
    LiveRanges,
    MemoryReport,
    ValuePositions,
)
from app.model.memory import MemorySpace
from hlo_parser.possessive import compile_pattern

MEMORY_KINDS: frozenset[FileKind] = frozenset(
    ("buffer_assignment", "buffer_values", "live_range", "memory_report")
)
MemoryFile = BufferAssignment | LiveRanges | ValuePositions | MemoryReport

# A shape index as printed inside braces; numbers short enough for any reader.
_INDEX = r"(?:\d{1,9}(?:,\d{1,9})*+)?"
# `allocation 4: size 13504256, preallocated-temp:`, in 2022 with an address in front of the size.
_ALLOCATION = compile_pattern(
    r"allocation (?P<number>\d{1,18}): (?:0x[0-9a-f]+, )?size (?P<size>\d{1,18})(?P<kind>[^\n]*)$"
)
# ` value: <477 param.6{6} (phi) @0> (size=2097152,offset=2097152): bf16[1024,1024]{1,0}`
_VALUE = compile_pattern(
    rf"\s+value: <\d+ (?P<name>[^\s{{]+)(?:\{{(?P<index>{_INDEX})\}})?(?: \(phi\))?(?: @\d+)?> "
    r"\(size=(?P<size>\d{1,18}),offset=(?P<offset>\d{1,18})\): (?P<shape>[^\n]*)$"
)
_QUOTED_SHAPE = compile_pattern(r"\|[^|]*+\|")
_COLOR = compile_pattern(r"color (\d{1,9})")
_PARAMETER = compile_pattern(r"parameter (\d{1,9})")
# `<477 param.6{6} (phi) @0>` begins a value, ` positions:` the places where it stands, one of
# which is `  while {0}`. jaxlib 0.4.30 and 0.4.31 write no newline at the end of the value before:
# ` from instruction: %x = f32[] parameter(0)<477 param.6{6} (phi) @0>`.
_USED_VALUE = compile_pattern(
    rf"<\d+ (?P<name>[^\s{{]+)(?:\{{(?P<index>{_INDEX})\}})?(?: \(phi\))?(?: @\d+)?>$"
)
_POSITION = compile_pattern(rf"  (?P<name>[^\s{{]+)(?: \{{(?P<index>{_INDEX})\}})?$")
_SEQUENCED = compile_pattern(r"    (?P<number>\d{1,9}):(?P<name>[^\s]+)$")
_RANGE = compile_pattern(
    rf"    (?P<name>[^\s{{]+)\{{(?P<index>{_INDEX})\}}:(?P<start>\d{{1,9}})-(?P<end>\d{{1,9}})$"
)
_PEAK = compile_pattern(r"  Live ranges at (?P<position>\d{1,9}) \(peak\):$")
_CUMULATIVE = compile_pattern(r"    [^\n]*\(cumulative: (?P<bytes>\d{1,18}) bytes\)$")
_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_TOTAL = compile_pattern(r"Total bytes(?: used)?: (?P<bytes>\d{1,18})")
_SPACE = compile_pattern(r"Memory Space: (?P<name>[^\s(]+) \(color=(?P<color>\d{1,9})\)$")
# 2024: `  24.00MiB( 60%);    16.0MiB; allocation 0: size 24.00MiB, ...:`
_ROW_BY_ALLOCATION = compile_pattern(
    r"[^;]+;[^;]+; allocation \d+: size (?P<size>[\d.]+\w*)(?P<text>.*)$"
)
# 2026: `  64B( 62%);  64B;  0;  2; f32[4,4], pred[]`
_ROW = compile_pattern(r"[^;]+; *(?P<size>[\d.]+\w*); *\d+; *\d+; (?P<text>.*)$")
_SIZE = compile_pattern(r"(\d{1,18}(?:\.\d{1,18})?)([A-Za-z]*)", re.ASCII)


def read_memory_file(kind: FileKind, text: str, *, file: str) -> tuple[MemoryFile, ...]:
    """All that a side file of one of `MEMORY_KINDS` holds; whose module it is, is not known yet."""
    if kind == "memory_report":
        return (read_memory_report(text, file=file, module_id=""),)
    found: list[MemoryFile | None] = [
        read_value_positions(text, file=file, module_id=""),
        read_live_ranges(text, file=file, module_id=""),
    ]
    if kind == "buffer_assignment":
        found.append(read_buffer_assignment(text, file=file, module_id=""))
    return tuple(entry for entry in found if entry is not None)


def read_buffer_assignment(text: str, *, file: str, module_id: str) -> BufferAssignment:
    """The allocations of a `-buffer-assignment.txt` in the order of their numbers."""
    return BufferAssignment(file, module_id, tuple(_allocations(text)), _stated_total(text))


def _allocations(text: str) -> Iterator[Allocation]:
    found: re.Match[str] | None = None
    values: list[BufferValue] = []
    for line in text.split("\n"):
        if line.startswith("allocation "):
            if found:
                yield _allocation(found, values)
            found, values = _ALLOCATION.match(line), []
        elif found and (value := _VALUE.match(line)):
            values.append(
                BufferValue(
                    name=value["name"],
                    index="" if value["index"] is None else "{" + value["index"] + "}",
                    size=int(value["size"]),
                    offset=int(value["offset"]),
                    shape=value["shape"],
                )
            )
        elif line.startswith("Total bytes used"):
            break
    if found:
        yield _allocation(found, values)


def _allocation(found: re.Match[str], values: list[BufferValue]) -> Allocation:
    kind = found["kind"].strip(" ,:")
    parts = _QUOTED_SHAPE.sub("", kind).split(", ")
    color = next((int(c[1]) for part in parts if (c := _COLOR.fullmatch(part))), 0)
    parameter = next((int(p[1]) for part in parts if (p := _PARAMETER.fullmatch(part))), None)
    return Allocation(
        number=int(found["number"]),
        size=int(found["size"]),
        kind=kind,
        values=tuple(values),
        role=allocation_role(parts, is_parameter=parameter is not None),
        parameter=parameter,
        color=color,
    )


def allocation_role(parts: Sequence[str], *, is_parameter: bool) -> AllocationRole:
    """What an allocation is for, by the words of its line (`maybe-live-out`, `constant`, ...)."""
    is_live_out = "maybe-live-out" in parts
    if is_parameter:
        return "donated" if is_live_out else "parameter"
    if is_live_out:
        return "output"
    if "constant" in parts:
        return "constant"
    return "thread_local" if "thread-local" in parts else "temp"


def _stated_total(text: str) -> int | None:
    found = re.search(r"^Total bytes used: (\d{1,18})", text, re.M)
    return None if found is None else int(found[1])


def read_value_positions(text: str, *, file: str, module_id: str) -> ValuePositions | None:
    """Where the values of the module stand beside the place that defines them.

    None for a text that holds no `Used values:`.
    """
    _, mark, listing = text.partition("\nUsed values:\n")
    if not mark:
        return None
    values: dict[tuple[str, tuple[int, ...]], tuple[str, tuple[int, ...]]] = {}
    value: tuple[str, tuple[int, ...]] | None = None
    in_positions = False
    for line in listing.split("\n"):
        if line.startswith(("<", " from instruction:")):
            found = _USED_VALUE.match(line, max(line.rfind("<"), 0))
            value = None if found is None else (found["name"], _path(found["index"]))
            in_positions = False
        elif not line.startswith("  "):
            if line.startswith("HloLiveRange"):
                break
            in_positions = line == " positions:"
        elif in_positions and value is not None and (found := _POSITION.match(line)):
            position = (found["name"], _path(found["index"]))
            if position != value:
                values[position] = value
    return ValuePositions(file, module_id, values, _stated_total(text))


def read_live_ranges(text: str, *, file: str, module_id: str) -> LiveRanges | None:
    """The live ranges and XLA's own peak; None for a text that holds no `HloLiveRange`."""
    start = 0 if text.startswith("HloLiveRange ") else text.find("\nHloLiveRange ")
    if start < 0:
        return None
    sequence: list[str] = []
    ranges: list[LiveRange] = []
    peak_position = peak_bytes = None
    for line in text[start:].split("\n"):
        if peak_position is not None:
            if found := _CUMULATIVE.match(line):
                peak_bytes = int(found["bytes"])
        elif found := _RANGE.match(line):
            first, last = int(found["start"]), int(found["end"])
            ranges.append(LiveRange(found["name"], _path(found["index"]), first, last))
        elif (found := _SEQUENCED.match(line)) and int(found["number"]) == len(sequence):
            sequence.append(found["name"])
        elif found := _PEAK.match(line):
            peak_position = int(found["position"])
    return LiveRanges(file, module_id, tuple(sequence), tuple(ranges), peak_position, peak_bytes)


def _path(index: str | None) -> tuple[int, ...]:
    return tuple(int(word) for word in index.split(",")) if index else ()


def read_memory_report(text: str, *, file: str, module_id: str) -> MemoryReport:
    """Total and largest allocations of a `-memory-usage-report.txt`, as the report lists them.

    Sizes are rounded there to three digits, and so they are here. The total is that of all memory
    spaces together.
    """
    total = 0
    rows: list[tuple[int, str]] = []
    spaces: list[MemorySpace] = []
    space: re.Match[str] | None = None
    for line in text.split("\n"):
        if found := _TOTAL.match(line):
            total += int(found["bytes"])
            if space is not None:
                spaces.append(
                    MemorySpace(
                        color=int(space["color"]), name=space["name"], bytes=int(found["bytes"])
                    )
                )
        elif line.startswith("Memory Space:"):
            space = _SPACE.match(line)
        elif line.startswith("Allocations sorted by size with"):
            break
        elif ";" in line and (row := _ROW_BY_ALLOCATION.match(line) or _ROW.match(line)):
            rows.append((_bytes(row["size"]), row["text"].strip(" ,:")))
    return MemoryReport(file, module_id, total, tuple(rows), tuple(spaces))


def _bytes(size: str) -> int:
    found = _SIZE.fullmatch(size)
    if found is None or found[2] not in _UNITS:
        return 0
    return round(float(found[1]) * _UNITS[found[2]])
