"""Where the curves over a module's passes bend: which pass made notably more or less of what.

Reads the rows of `describe_dumps` and the names of the passes, no texts. A bend is a step between
two neighbouring texts that is large for what the curve shows there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.analysis.opcodes import COLLECTIVES
from app.analysis.passes import changed_by, pass_on_loops
from app.model.dump import ModuleHistory
from app.model.report import Bend, Curve, Dump
from app.model.work import LARGEST_COUNT


@dataclass(frozen=True, slots=True)
class _Reading:
    """How a curve is read from a row, and which steps of it are notable.

    A step is, when it is at least `percent` of the larger value and `least` in itself.
    """

    value: Callable[[Dump], int]
    percent: int
    least: int


def _count(opcode: str) -> Callable[[Dump], int]:
    return lambda dump: dump.counts.get(opcode, 0)


def _collectives(dump: Dump) -> int:
    return sum(number for opcode, number in dump.counts.items() if opcode in COLLECTIVES)


def _bytes(dump: Dump) -> int:
    return min(sum(dump.collective_bytes.values()), LARGEST_COUNT)


_READINGS: Mapping[Curve, _Reading] = {
    "instructions": _Reading(lambda dump: dump.instructions, percent=15, least=20),
    "fusions": _Reading(_count("fusion"), percent=25, least=4),
    "copies": _Reading(_count("copy"), percent=40, least=8),
    "collectives": _Reading(_collectives, percent=10, least=1),
    "whiles": _Reading(_count("while"), percent=0, least=1),
    "flops": _Reading(lambda dump: dump.flops or 0, percent=5, least=1),
    "collective_bytes": _Reading(_bytes, percent=5, least=1),
}


def find_bends(history: ModuleHistory, rows: Sequence[Dump]) -> tuple[Bend, ...]:
    """The bends of all curves, by text; `rows` are those of `describe_dumps`."""
    passes = changed_by(history)
    return tuple(
        Bend(
            dump=here.index,
            pass_=pass_on_loops(passes[here.index]),
            curve=curve,
            before=old,
            after=new,
        )
        for before, here in pairwise(rows)
        for curve, reading in _READINGS.items()
        if _is_notable(reading, old := reading.value(before), new := reading.value(here))
    )


def _is_notable(reading: _Reading, before: int, after: int) -> bool:
    step = abs(after - before)
    return step >= reading.least and 100 * step >= reading.percent * max(before, after)
