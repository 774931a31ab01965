"""What is counted of a module over its passes, as curves in panels.

Takes the dumps of a module; a panel that would be flat at nothing is left out. Where a text has no
number, the curve has a gap.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from app.model.report import Dump
from app.report.passes import collective_counts
from app.report.wording import operations_text, size_text

MAX_KINDS = 5


@dataclass(frozen=True, slots=True)
class CurveLine:
    """One curve: a value for each text, None where it is not known, and the same in words."""

    name: str
    values: tuple[int | None, ...]
    told: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CurvePanel:
    """Curves with one axis; the figures of one with a `unit` are told with prefixes of the SI."""

    title: str
    lines: tuple[CurveLine, ...]
    unit: str | None = None


def curve_panels(dumps: Sequence[Dump]) -> tuple[CurvePanel, ...]:
    """Instructions first, then what there is of fusions, copies, collectives, bytes, FLOPs."""
    counted = _line("instructions", dumps, lambda dump: dump.instructions)
    panels = (
        CurvePanel(
            "fusions, copies",
            _lines(
                _line(word, dumps, _count_of(opcode))
                for opcode, word in (("fusion", "fusions"), ("copy", "copies"), ("while", "loops"))
            ),
        ),
        CurvePanel(
            "collectives",
            _lines(
                _line(kind, dumps, _count_of(kind)) for kind in _kinds(dumps, collective_counts)
            ),
        ),
        CurvePanel(
            "bytes sent",
            _lines(
                _line(kind, dumps, _bytes_of(kind), size_text)
                for kind in _kinds(dumps, lambda dump: dump.collective_bytes)
            ),
            unit="B",
        ),
        CurvePanel(
            "FLOP",
            _lines([_line("FLOP", dumps, lambda dump: dump.flops, operations_text)]),
            unit="",
        ),
    )
    return (CurvePanel("instructions", (counted,)), *(panel for panel in panels if panel.lines))


def _lines(lines: Iterable[CurveLine]) -> tuple[CurveLine, ...]:
    return tuple(line for line in lines if any(line.values))


def _line(
    name: str,
    dumps: Sequence[Dump],
    value_of: Callable[[Dump], int | None],
    words_of: Callable[[int], str] = "{:,}".format,
) -> CurveLine:
    values = tuple(value_of(dump) for dump in dumps)
    told = tuple("not known" if value is None else words_of(value) for value in values)
    return CurveLine(name, values, told)


def _kinds(dumps: Sequence[Dump], counts_of: Callable[[Dump], dict[str, int]]) -> list[str]:
    most: dict[str, int] = {}
    for dump in dumps:
        for kind, number in counts_of(dump).items():
            most[kind] = max(most.get(kind, 0), number)
    return sorted(most, key=lambda kind: (-most[kind], kind))[:MAX_KINDS]


def _count_of(opcode: str) -> Callable[[Dump], int | None]:
    return lambda dump: dump.counts.get(opcode, 0)


def _bytes_of(kind: str) -> Callable[[Dump], int | None]:
    return lambda dump: dump.collective_bytes.get(kind, 0)
