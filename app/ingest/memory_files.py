"""Buffer assignments and memory reports, side files of a module's final text.

Both eras of each are read (`xla/service/buffer_assignment.cc`, BufferAssignment::ToString and
MemoryUsageReport; the report changed in March 2026). Lines that are none of the known are passed
over: the files go on with values and live ranges that have no place in the model.
"""

import re
from collections.abc import Iterator

from app.model.dump import Allocation, BufferAssignment, BufferValue, MemoryReport

# `allocation 4: size 13504256, preallocated-temp:`, in 2022 with an address in front of the size.
_ALLOCATION = re.compile(
    r"allocation (?P<number>\d{1,18}): (?:0x[0-9a-f]+, )?size (?P<size>\d{1,20})(?P<kind>[^\n]*)$"
)
# ` value: <477 param.6{6} (phi) @0> (size=2097152,offset=2097152): bf16[1024,1024]{1,0}`
_VALUE = re.compile(
    r"\s+value: <\d+ (?P<name>[^\s{]+)(?:\{(?P<index>[\d,]*)\})?(?: \(phi\))?(?: @\d+)?> "
    r"\(size=(?P<size>\d{1,20}),offset=(?P<offset>\d{1,20})\): (?P<shape>[^\n]*)$"
)
_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_TOTAL = re.compile(r"Total bytes(?: used)?: (?P<bytes>\d{1,20})")
# 2024: `  24.00MiB( 60%);    16.0MiB; allocation 0: size 24.00MiB, ...:`
_ROW_BY_ALLOCATION = re.compile(
    r"[^;]+;[^;]+; allocation \d+: size (?P<size>[\d.]+\w*)(?P<text>.*)$"
)
# 2026: `  64B( 62%);  64B;  0;  2; f32[4,4], pred[]`
_ROW = re.compile(r"[^;]+; *(?P<size>[\d.]+\w*); *\d+; *\d+; (?P<text>.*)$")
_SIZE = re.compile(r"([\d.]+)([A-Za-z]*)")


def read_buffer_assignment(text: str, *, file: str, module_id: str) -> BufferAssignment:
    """The allocations of a `-buffer-assignment.txt` in the order of their numbers."""
    return BufferAssignment(file, module_id, tuple(_allocations(text)))


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
    return Allocation(int(found["number"]), int(found["size"]), kind, tuple(values))


def read_memory_report(text: str, *, file: str, module_id: str) -> MemoryReport:
    """Total and largest allocations of a `-memory-usage-report.txt`, as the report lists them.

    Sizes are rounded there to three digits, and so they are here. The total is that of all memory
    spaces together.
    """
    total = 0
    rows: list[tuple[int, str]] = []
    for line in text.split("\n"):
        if found := _TOTAL.match(line):
            total += int(found["bytes"])
        elif line.startswith("Allocations sorted by size with"):
            break
        elif ";" in line and (row := _ROW_BY_ALLOCATION.match(line) or _ROW.match(line)):
            rows.append((_bytes(row["size"]), row["text"].strip(" ,:")))
    return MemoryReport(file, module_id, total, tuple(rows))


def _bytes(size: str) -> int:
    found = _SIZE.fullmatch(size)
    if found is None or found[2] not in _UNITS or found[1].count(".") > 1:
        return 0
    return round(float(found[1]) * _UNITS[found[2]])
