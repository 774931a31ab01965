"""The loops of a module as lanes over its passes.

Takes a module and its loops and gives bars in percent of whatever width there is: from the first
text that holds a loop to the last, a mark where a pass did something to it, inner loops below and
to the right of outer ones.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable

from app.model.report import Loop, LoopEvent, Module
from app.report.drawing import LaneMark, LanesView, LaneView
from app.report.passes import evenly_spaced, legend_of, pass_ticks
from app.report.wording import (
    EVENT_GROUPS,
    EVENT_WORDS,
    GROUP_WORDS,
    counted,
    numbered_pass,
    place_text,
)

MAX_LANES = 40
_MAX_DEPTH = 4
_LEAST_PERCENT = 0.3

Href = Callable[[int], str]


def nested_order(loops: Iterable[Loop]) -> tuple[tuple[Loop, int], ...]:
    """Loops with their depth, each after the loop around it; order is otherwise kept.

    A loop whose parent is not among them, or that is its own ancestor, counts as outermost.
    """
    children: dict[str | None, list[Loop]] = defaultdict(list)
    given = tuple(loops)
    known = {loop.id for loop in given}
    for loop in given:
        children[loop.parent if loop.parent in known else None].append(loop)
    ordered: list[tuple[Loop, int]] = []
    seen: set[str] = set()
    stack = [(loop, 0) for loop in reversed(children[None])]
    while stack:
        loop, depth = stack.pop()
        if loop.id in seen:
            continue
        seen.add(loop.id)
        ordered.append((loop, depth))
        stack += [(child, depth + 1) for child in reversed(children[loop.id])]
    ordered += [(loop, 0) for loop in given if loop.id not in seen]
    return tuple(ordered)


def lanes_view(
    module: Module,
    label: str,
    loops: tuple[Loop, ...],
    hrefs: dict[str, str],
    *,
    here: str = "",
    pass_href: Href | None = None,
    most: int = MAX_LANES,
) -> LanesView:
    """The lanes of one module, called `label`.

    Args:
        module: the module.
        label: what it is called.
        loops: those of all modules.
        hrefs: where the name of a loop leads, by its id.
        here: the id of the loop that is shown beside.
        pass_href: where a mark leads, by the position of its text.
        most: more loops than these are counted and not drawn.
    """
    ordered = nested_order(loop for loop in loops if loop.module == module.id)
    shown = ordered[:most]
    at = evenly_spaced(len(module.dumps), 0, 100)
    lanes = tuple(
        LaneView(
            name=loop.name,
            note=place_text(loop.source) if loop.source else "no line known",
            depth=min(depth, _MAX_DEPTH),
            told=_told(module, loop),
            start=at(loop.first_dump),
            width=max(round(at(loop.last_dump) - at(loop.first_dump), 1), _LEAST_PERCENT),
            ends_early=loop.last_dump < len(module.dumps) - 1,
            marks=_marks(module, loop, at, pass_href),
            href=hrefs.get(loop.id, ""),
            here=loop.id == here,
        )
        for loop, depth in shown
    )
    left_out = len(ordered) - len(shown)
    return LanesView(
        module=label,
        lanes=lanes,
        ticks=pass_ticks(module.dumps, at),
        legend=legend_of(mark.shape for lane in lanes for mark in lane.marks),
        note=f"{counted(left_out, 'loop')} more not drawn." if left_out else "",
    )


def _told(module: Module, loop: Loop) -> str:
    """The lane in words, for those who do not see it."""
    dumps = module.dumps
    if loop.last_dump >= len(dumps):
        return loop.name
    events = counted(len(loop.events), "event")
    first, last = numbered_pass(dumps[loop.first_dump]), numbered_pass(dumps[loop.last_dump])
    return f"{loop.name} from {first} to {last}, {events}"


def _marks(
    module: Module, loop: Loop, at: Callable[[int], float], pass_href: Href | None
) -> tuple[LaneMark, ...]:
    by_dump: dict[int, list[LoopEvent]] = defaultdict(list)
    for event in loop.events:
        by_dump[event.dump].append(event)
    order = list(GROUP_WORDS)
    return tuple(
        LaneMark(
            at=at(dump),
            shape=min((EVENT_GROUPS[event.kind] for event in events), key=order.index),
            title="\n".join(
                [
                    f"{loop.name}, {numbered_pass(module.dumps[dump])}",
                    *(event_line(event) for event in events),
                ]
            ),
            href=pass_href(dump) if pass_href and dump else "",
        )
        for dump, events in sorted(by_dump.items())
        if dump < len(module.dumps)
    )


def event_line(event: LoopEvent) -> str:
    """One event with its evidence: `trip count changed: 4 -> 3`."""
    word = EVENT_WORDS[event.kind]
    return f"{word}: {event.detail}" if event.detail else word
