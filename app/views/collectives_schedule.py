"""Where the collectives of a module stand in its schedule, and what runs while they are on the way.

Takes the text and the collectives of the report and gives, for each computation that holds some,
windows in schedule order. Places count the instructions that do something: constants, parameters,
tuples and their elements take no place of their own.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from heapq import nlargest

from app.analysis.flops import FlopCounter
from app.analysis.opcodes import async_role
from app.model.report import Collective, Struct
from app.views.window_bounds import Bound, maker_of, taker_of
from hlo_parser import Computation, Instruction, Module

MAX_WINDOWS = 400
MAX_WORKS = 600
MAX_BEHIND = 4

_PLACELESS = frozenset(
    {
        "after-all", "bitcast", "constant", "get-tuple-element", "opt-barrier",
        "optimization-barrier", "parameter", "partition-id", "replica-id", "tuple",
    }
)  # fmt: skip


class Work(Struct, frozen=True, kw_only=True):
    """An instruction that computes, on its place; `flops` is None where the text does not tell."""

    place: int
    name: str
    opcode: str
    flops: int | None


class ScheduledCollective(Struct, frozen=True, kw_only=True):
    """One collective of a computation: `index` is its position among those of the report.

    It is on its way from place `start` to place `end`, in a row of its own (`lane`) where others
    are too. `behind` is what runs meanwhile, the most operations first, `behind_total` how much
    that is in all. `made_by` is the last to make what it sends, `taken_by` the first to take the
    result of its done.
    """

    index: int
    start: int
    end: int
    lane: int
    behind: tuple[Work, ...] = ()
    behind_total: int = 0
    made_by: Bound | None = None
    taken_by: Bound | None = None


class Schedule(Struct, frozen=True, kw_only=True):
    """One computation over its `places`; `left_out` counts collectives that are not among them."""

    computation: str
    loop: str | None
    places: int
    scheduled: bool
    lanes: int
    windows: tuple[ScheduledCollective, ...]
    works: tuple[Work, ...]
    in_flight: tuple[tuple[int, int], ...]
    left_out: int = 0


def schedules_of(
    module: Module, collectives: Sequence[Collective], module_id: str
) -> tuple[Schedule, ...]:
    """The computations of a text with collectives, that with the most first.

    `collectives` are all of the report, of which those of `module_id` stand in the text.
    """
    by_computation: dict[str, list[int]] = {}
    for index, collective in enumerate(collectives):
        if collective.module != module_id:
            continue
        by_computation.setdefault(collective.computation, []).append(index)
    counter = FlopCounter(module)
    found: list[Schedule] = []
    for name, indices in by_computation.items():
        computation = module.get(name)
        if computation is not None:
            found.append(_schedule(module, computation, collectives, indices, counter))
    return tuple(sorted(found, key=lambda item: -(len(item.windows) + item.left_out)))


def _schedule(
    module: Module,
    computation: Computation,
    collectives: Sequence[Collective],
    indices: Sequence[int],
    counter: FlopCounter,
) -> Schedule:
    places = _places(computation)
    shown = indices[:MAX_WINDOWS]
    spans = {index: _span(collectives[index], places) for index in shown}
    ordered = sorted(spans, key=lambda index: spans[index])
    ends = {collectives[index].instruction for index in indices}
    ends |= {window.done for index in indices if (window := collectives[index].window)}
    works = _works(computation, places, ends, counter)
    work_places = [work.place for work in works]
    windows: list[ScheduledCollective] = []
    free: list[int] = []
    for index in ordered:
        start, end = spans[index]
        lane = next((lane for lane, until in enumerate(free) if until < start), len(free))
        free[lane : lane + 1] = [end]
        within = works[bisect_right(work_places, start) : bisect_left(work_places, end)]
        windows.append(
            ScheduledCollective(
                index=index,
                start=start,
                end=end,
                lane=lane,
                behind=tuple(nlargest(MAX_BEHIND, within, key=lambda work: work.flops or 0)),
                behind_total=len(within),
                made_by=maker_of(computation, collectives[index].instruction, places),
                taken_by=taker_of(computation, _done_of(collectives[index]), places),
            )
        )
    return Schedule(
        computation=computation.name,
        loop=collectives[indices[0]].loop,
        places=max(places.values(), default=0) + 1,
        scheduled=module.header.is_scheduled,
        lanes=len(free),
        windows=tuple(windows),
        works=tuple(nlargest(MAX_WORKS, works, key=lambda work: work.flops or 0)),
        in_flight=_in_flight([spans[index] for index in ordered]),
        left_out=len(indices) - len(shown),
    )


def _places(computation: Computation) -> dict[str, int]:
    """The place of each instruction; one without a place of its own has that of the one before."""
    places: dict[str, int] = {}
    place = -1
    for instruction in computation.instructions:
        if instruction.opcode not in _PLACELESS:
            place += 1
        places.setdefault(instruction.name, max(place, 0))
    return places


def _span(collective: Collective, places: dict[str, int]) -> tuple[int, int]:
    window = collective.window
    start = places.get(window.start if window else collective.instruction, 0)
    end = places.get(window.done, start) if window else start
    return start, max(start, end)


def _done_of(collective: Collective) -> str:
    window = collective.window
    return window.done if window else collective.instruction


def _works(
    computation: Computation, places: dict[str, int], ends: set[str], counter: FlopCounter
) -> list[Work]:
    return [
        Work(
            place=places[instruction.name],
            name=instruction.name,
            opcode=instruction.opcode,
            flops=counter.of_instruction(computation, instruction),
        )
        for instruction in computation.instructions
        if _computes(instruction) and instruction.name not in ends
    ]


def _computes(instruction: Instruction) -> bool:
    if instruction.opcode in _PLACELESS:
        return False
    return async_role(instruction.opcode) not in ("update", "done")


def _in_flight(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """How many are on their way from a place on, as (place, number), where the number changes."""
    changes: dict[int, int] = {}
    for start, end in spans:
        if end > start:
            changes[start] = changes.get(start, 0) + 1
            changes[end] = changes.get(end, 0) - 1
    steps: list[tuple[int, int]] = []
    number = 0
    for place, change in sorted(changes.items()):
        number += change
        steps.append((place, number))
    return tuple(steps)
