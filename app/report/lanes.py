"""The loops of a module as lanes over its passes.

Takes a module and its loops and gives a drawing in SVG coordinates: a bar from the first text that
holds a loop to the last, a mark where a pass did something to it, inner loops below and to the
right of outer ones.
"""

from collections import defaultdict
from collections.abc import Iterable

from app.model.report import Loop, LoopEvent, Module
from app.report.drawing import LanesView, LaneView, MarkView
from app.report.passes import evenly_spaced, legend_of, pass_ticks
from app.report.wording import (
    EVENT_GROUPS,
    EVENT_WORDS,
    GROUP_WORDS,
    counted,
    numbered_pass,
    place_text,
    shortened,
)

MAX_LANES = 40

_WIDTH = 960
_LEFT, _RIGHT, _TOP, _BOTTOM = 320, 16, 12, 28
_LANE_HEIGHT = 30
_BAR_HEIGHT = 8
_MAX_LABEL = 20
_INDENT = 12


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
    module: Module, label: str, loops: tuple[Loop, ...], anchors: dict[str, str]
) -> LanesView:
    """The lanes of one module, called `label`; `anchors` are the places of loops in the page."""
    ordered = nested_order(loop for loop in loops if loop.module == module.id)
    shown = ordered[:MAX_LANES]
    right = _WIDTH - _RIGHT
    x_of = evenly_spaced(len(module.dumps), _LEFT, right)
    lanes: list[LaneView] = []
    for row, (loop, depth) in enumerate(shown):
        y = _TOP + _LANE_HEIGHT * row + _LANE_HEIGHT / 2
        start, end = x_of(loop.first_dump), x_of(loop.last_dump)
        lanes.append(
            LaneView(
                label=shortened(loop.name, _MAX_LABEL - 2 * min(depth, 4)),
                place=shortened(place_text(loop.source), _MAX_LABEL) if loop.source else "",
                x=start,
                y=y,
                bar_y=y - _BAR_HEIGHT / 2,
                width=round(max(end - start, 2), 1),
                label_x=8 + _INDENT * min(depth, 4),
                ends_early=loop.last_dump < len(module.dumps) - 1,
                marks=_marks(module, loop, x_of(0), right, y),
                href=f"#{anchors[loop.id]}" if loop.id in anchors else "",
            )
        )
    height = _TOP + _LANE_HEIGHT * len(shown) + _BOTTOM
    left_out = len(ordered) - len(shown)
    return LanesView(
        module=label,
        width=_WIDTH,
        height=height,
        top=_TOP,
        bottom=height - _BOTTOM,
        place_x=_LEFT - 12,
        label_y=height - 8,
        lanes=tuple(lanes),
        ticks=pass_ticks(module.dumps, x_of),
        legend=legend_of(mark.shape for lane in lanes for mark in lane.marks),
        note=f"{counted(left_out, 'loop')} more not drawn." if left_out else "",
    )


def _marks(module: Module, loop: Loop, left: float, right: float, y: float) -> tuple[MarkView, ...]:
    x_of = evenly_spaced(len(module.dumps), left, right)
    by_dump: dict[int, list[LoopEvent]] = defaultdict(list)
    for event in loop.events:
        by_dump[event.dump].append(event)
    order = list(GROUP_WORDS)
    return tuple(
        MarkView(
            x=x_of(dump),
            y=y,
            shape=min((EVENT_GROUPS[event.kind] for event in events), key=order.index),
            title="\n".join(
                [
                    f"{loop.name}, {numbered_pass(module.dumps[dump])}",
                    *(_event_line(event) for event in events),
                ]
            ),
        )
        for dump, events in sorted(by_dump.items())
        if dump < len(module.dumps)
    )


def _event_line(event: LoopEvent) -> str:
    word = EVENT_WORDS[event.kind]
    return f"{word}: {event.detail}" if event.detail else word
