"""The figures that checks of a policy ask for: of the last text of a module, or of one loop of it.

Reads reports alone. What a report does not tell is None, which is no figure of 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from app.analysis.comparison_amounts import exposed_us
from app.analysis.policy_file import Check, Lines, Measure
from app.model.policy import PolicyPlace
from app.model.report import Collective, Dump, Loop, Module, Report, Source

MOST_PLACES = 12
_COUNTS: dict[Measure, str] = {
    "copies": "copy",
    "custom_calls": "custom-call",
    "fusions": "fusion",
    "whiles": "while",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """One module of a side, or one loop of it."""

    report: Report
    module: Module
    loop: Loop | None = None


def figure_of(check: Check, subject: Subject) -> tuple[float | None, tuple[PolicyPlace, ...]]:
    """The figure, and all instructions behind it where it counts some, the largest share first."""
    measure = check.measure
    if measure in ("collectives", "collective_bytes", "exposed_us"):
        counted = _collectives(check, subject)
        return _of_collectives(measure, counted), _places(measure, counted)
    loop = subject.loop
    if measure == "trip_count":
        return (None if loop is None else loop.trip_count), ()
    if measure == "carry":
        return (None if loop is None else len(loop.carry)), ()
    return _of_module(measure, subject), ()


def _collectives(check: Check, subject: Subject) -> list[Collective]:
    if subject.loop is None and check.loop is not None:
        # The baseline has no such loop: what stands in it is new.
        return []
    return [
        c
        for c in subject.report.collectives
        if c.module == subject.module.id
        and (subject.loop is None or c.loop == subject.loop.id)
        and (check.opcode is None or fnmatchcase(c.opcode, check.opcode))
        and (not check.lines or is_at(check.lines, c.source))
    ]


def _of_collectives(measure: Measure, counted: Sequence[Collective]) -> float | None:
    if measure == "collectives":
        return len(counted)
    if measure == "collective_bytes":
        return sum(c.bytes for c in counted)
    return exposed_us(counted) if counted else 0.0


def _of_module(measure: Measure | None, subject: Subject) -> float | None:
    memory = next((m for m in subject.report.memory if m.module == subject.module.id), None)
    last = subject.module.dumps[-1]
    if measure == "total_memory":
        return memory.total_bytes if memory else None
    if measure == "peak_memory":
        return memory.peak.bytes if memory and memory.peak else None
    if measure in _COUNTS:
        return last.counts.get(_COUNTS[measure], 0)
    of_dump: dict[str, Callable[[Dump], float | None]] = {
        "instructions": lambda dump: dump.instructions,
        "flops": lambda dump: dump.flops,
        "run_bytes": lambda dump: sum(dump.collective_bytes.values()),
    }
    return of_dump[measure](last) if measure is not None else None


def _places(measure: Measure, counted: Sequence[Collective]) -> tuple[PolicyPlace, ...]:
    found: list[PolicyPlace] = []
    windows: set[tuple[str, str]] = set()
    for collective in counted:
        value: float | None = collective.bytes
        if measure == "exposed_us":
            value = exposed_us((collective,))
            place = collective.computation, collective.instruction
            # What is hidden, or waited for with another of the same window, adds nothing.
            if not value or (place in windows and collective.waited_us is None):
                continue
            windows.add(place)
        found.append(_place(collective, value))
    return tuple(sorted(found, key=lambda place: -(place.value or 0)))


def _place(collective: Collective, value: float | None) -> PolicyPlace:
    return PolicyPlace(
        instruction=collective.instruction,
        opcode=collective.opcode,
        computation=collective.computation,
        source=collective.source,
        value=value,
    )


def is_at(lines: Sequence[Lines], source: Source | None) -> bool:
    """Whether a place, or a call that led to it, stands in one of these lines."""
    if source is None:
        return False
    calls = [(source.file, source.line), *((f.file, f.line) for f in source.frames)]
    return any(holds_line(wanted, file, line) for wanted in lines for file, line in calls)


def holds_line(wanted: Lines, file: str, line: int) -> bool:
    """Whether a line is one of these; a file is known by the end of its path."""
    return wanted.first <= line <= wanted.last and _is_file(wanted.file, file)


def _is_file(wanted: str, file: str) -> bool:
    file = file.replace("\\", "/")
    return file == wanted or file.endswith(f"/{wanted}")
