"""Memory in use over the schedule, as a curve of few enough points to be kept and drawn.

Gets the bytes that temporaries hold from position to position (`occupancy.py`), the live ranges
they come from, and which loop each instruction runs in; finds nothing out about single buffers.
"""

from collections.abc import Mapping, Sequence

from app.analysis.occupancy import Level, highest_in_stretches
from app.model.dump import LiveRanges
from app.model.facts import LoopHistory
from app.model.memory import LoopSpan, MemoryCurve

MOST_POINTS = 1_000
_LONGEST_NAME = 200


def curve_of(
    live: LiveRanges,
    levels: Sequence[Level],
    held: int,
    loops: Sequence[LoopHistory] = (),
    around: Mapping[str, str | None] | None = None,
) -> MemoryCurve | None:
    """The curve of one module; None where it has no schedule.

    `held` are the bytes that are there for the whole run. `around` says for instructions of the
    schedule that run in one of the `loops` which is the nearest, by id.
    """
    positions = max(len(live.sequence), levels[-1].position if levels else 0)
    if not positions:
        return None
    step = -(-positions // MOST_POINTS)
    points = highest_in_stretches(levels, positions, step)
    return MemoryCurve(
        positions=positions,
        step=step,
        held=held,
        bytes=tuple(held + point.bytes for point in points),
        at=tuple(point.position for point in points),
        instructions=tuple(_name_at(live, point.position) for point in points),
        loops=_spans(live, loops, around or {}),
    )


def _name_at(live: LiveRanges, position: int) -> str:
    name = live.sequence[position] if position < len(live.sequence) else ""
    return name if len(name) <= _LONGEST_NAME else ""


def _spans(
    live: LiveRanges, loops: Sequence[LoopHistory], around: Mapping[str, str | None]
) -> tuple[LoopSpan, ...]:
    parents = {loop.id: loop.parent for loop in loops}
    edges: dict[str, tuple[int, int]] = {}
    for position, name in enumerate(live.sequence):
        loop = around.get(name)
        # Parents of loops may run in a circle in an edited text.
        met: set[str] = set()
        while loop is not None and loop not in met:
            met.add(loop)
            first, _ = edges.get(loop, (position, position))
            edges[loop] = first, position
            loop = parents.get(loop)
    return tuple(
        LoopSpan(loop=loop, first=first, last=last)
        for loop, (first, last) in sorted(
            edges.items(), key=lambda item: (item[1][0] - item[1][1], item[1][0])
        )
    )
