"""The passes of a module as rows and as a curve.

Takes a module and its loops and gives what the timeline of a page shows: every text with what
changed, the few worth a look first, and the drawing of instructions over passes. The drawing is in
SVG coordinates, so that a page without scripts and a page from disk have it too.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence

from app.analysis.opcodes import COLLECTIVES
from app.analysis.passes import ChangedBy, changed_by_names
from app.model.dump import DumpName
from app.model.report import Dump, Loop, LoopEventKind, Module
from app.report.drawing import CurveView, LegendView, MarkView, TickView
from app.report.page import EventView, PassRow, TimelineView
from app.report.rows import MAX_ROWS, rows_of
from app.report.wording import (
    EVENT_GROUPS,
    EVENT_WORDS,
    GROUP_WORDS,
    EventGroup,
    change_text,
    counted,
    counts_text,
    cut_list,
    more_text,
    numbered_pass,
    pass_label,
    pass_number,
    shortened,
)

# A pass that moves the number of instructions by this share is worth a look of its own.
_NOTABLE_SHARE = 0.2

_WIDTH, _HEIGHT = 960, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 16, 28, 28
_MAX_POINTS = 2_000
_X_TICKS = 8
_MAX_EVENTS = 8
_MAX_NAMES = 4
_MAX_LINE = 100

Events = Mapping[int, tuple[EventView, ...]]


def events_by_dump(module_id: str, loops: tuple[Loop, ...]) -> Events:
    """What passes did to the loops of one module, by the position of the text.

    The same done to several loops is one entry; what is only a new name has no detail here, since
    the loop's own history tells it.
    """
    found: dict[int, dict[tuple[LoopEventKind, str], list[str]]] = {}
    for loop in loops:
        if loop.module != module_id:
            continue
        for event in loop.events:
            detail = "" if EVENT_GROUPS[event.kind] == "minor" else event.detail
            entries = found.setdefault(event.dump, {})
            entries.setdefault((event.kind, detail), []).append(loop.name)
    return {dump: _event_views(entries) for dump, entries in found.items()}


def _event_views(entries: dict[tuple[LoopEventKind, str], list[str]]) -> tuple[EventView, ...]:
    order = list(GROUP_WORDS)
    views = [
        EventView(
            word=EVENT_WORDS[kind],
            group=EVENT_GROUPS[kind],
            detail=detail,
            loops=cut_list(names, _MAX_NAMES),
        )
        for (kind, detail), names in entries.items()
    ]
    return tuple(sorted(views, key=lambda view: order.index(view.group)))


def timeline_view(
    position: int,
    figure: int,
    module: Module,
    label: str,
    events: Events,
    *,
    comparable: bool,
    href: str = "",
) -> TimelineView:
    """The timeline of the module at `position` of the report's modules, called `label`.

    `href` is the page of all its curves.
    """
    rows = tuple(
        _pass_row(position, module, index, events, comparable=comparable)
        for index in range(len(module.dumps))
    )
    notable = tuple(
        row for index, row in enumerate(rows) if _is_notable(module.dumps, index, events)
    )
    return TimelineView(
        anchor=f"passes-{position}",
        module=label,
        summary=_summary(module),
        figure=figure,
        curve=instruction_curve(module, events),
        legend=legend_of(found[0].group for found in events.values()),
        notable=rows_of(notable),
        notable_label="Passes that changed loops, collectives or the size of the program most",
        every=rows_of(rows, first=MAX_ROWS),
        every_label=f"All {counted(len(rows), 'text')} of {label}",
        href=href,
    )


def legend_of(shapes: Iterable[EventGroup]) -> tuple[LegendView, ...]:
    """The shapes that were used, the weightiest first."""
    used = set(shapes)
    return tuple(
        LegendView(shape=group, word=word) for group, word in GROUP_WORDS.items() if group in used
    )


def event_lines(events: tuple[EventView, ...]) -> tuple[str, ...]:
    """What was done to which loops, a short line each."""
    lines = [shortened(f"{event.word}: {event.loops}", _MAX_LINE) for event in events[:_MAX_EVENTS]]
    note = more_text(len(events) - _MAX_EVENTS)
    return (*lines, note) if note else tuple(lines)


def instruction_curve(module: Module, events: Events) -> CurveView:
    """Instructions over passes, a mark where a pass did something to a loop."""
    dumps = module.dumps
    return number_curve(
        dumps,
        [dump.instructions for dump in dumps],
        f"Instructions of {module.name} after each of {counted(len(dumps), 'text')}",
        events,
    )


def number_curve(
    dumps: Sequence[Dump], values: Sequence[int], label: str, events: Events | None = None
) -> CurveView:
    """One number over passes, a value a text, with marks on the line for events of loops."""
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    ticks = _round_ticks(max(values, default=0))
    x_of = evenly_spaced(len(dumps), _LEFT, right)

    def y_of(value: int) -> float:
        return round(bottom - (bottom - _TOP) * value / ticks[-1], 1)

    step = -(-len(dumps) // _MAX_POINTS) or 1
    return CurveView(
        width=_WIDTH,
        height=_HEIGHT,
        left=_LEFT,
        right=right,
        top=_TOP,
        bottom=bottom,
        points=_steps([(x_of(index), y_of(values[index])) for index in range(0, len(dumps), step)]),
        label_x=_LEFT - 8,
        label_y=_HEIGHT - 8,
        label=label,
        marks=tuple(
            MarkView(
                x=x_of(index),
                y=y_of(values[index]),
                shape=found[0].group,
                title="\n".join((numbered_pass(dumps[index]), *event_lines(found))),
            )
            for index, found in sorted((events or {}).items())[:_MAX_POINTS]
            if index < len(dumps)
        ),
        x_ticks=pass_ticks(dumps, x_of),
        y_ticks=tuple(TickView(at=y_of(value), label=short_number(value)) for value in ticks),
    )


def short_number(value: int) -> str:
    """A count for the axis of a drawing: all of it up to a million, then `2.5e9`."""
    if value < 1_000_000:
        return f"{value:,}"
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def _steps(points: list[tuple[float, float]]) -> str:
    """The points joined by level lines and upright ones: between two passes nothing changes."""
    corners = [
        f"{x},{height}"
        for (_, before), (x, after) in itertools.pairwise(points)
        for height in (before, after)
    ]
    first = [f"{x},{y}" for x, y in points[:1]]
    return " ".join(first + corners)


def evenly_spaced(count: int, left: float, right: float) -> Callable[[int], float]:
    """The place of each of `count` positions between two borders."""
    gap = (right - left) / max(count - 1, 1)
    return lambda index: round(left + gap * index, 1)


def pass_ticks(dumps: Sequence[Dump], x_of: Callable[[int], float]) -> tuple[TickView, ...]:
    """Numbers of passes along the foot of a drawing, few enough to be read."""
    step = -(-len(dumps) // _X_TICKS) or 1
    return tuple(
        TickView(at=x_of(index), label=tick_word(dumps, index))
        for index in range(0, len(dumps), step)
    )


def tick_word(dumps: Sequence[Dump], index: int) -> str:
    """The number of a text; those before the first pass and after the last one have none."""
    ends = {0: "start", len(dumps) - 1: "end"}
    return pass_number(dumps[index]) or ends.get(index, "")


def _round_ticks(largest: int) -> tuple[int, ...]:
    """From 0 past `largest` in a few steps of 1, 2 or 5 times a power of ten."""
    step = 1
    for factor in itertools.cycle((2, 2.5, 2)):
        if step * 4 >= largest:
            break
        step = int(step * factor)
    return tuple(step * number for number in range(max(-(-largest // step), 1) + 1))


def changed_texts(module: Module) -> list[int]:
    """Positions of the texts that differ from the one before, as far as counts tell."""
    return [
        after.index
        for before, after in itertools.pairwise(module.dumps)
        if after.changed
        or (before.instructions, before.computations) != (after.instructions, after.computations)
    ]


def passes_behind(module: Module) -> tuple[ChangedBy, ...]:
    """For each text the pass whose work it shows, as the file names of all texts tell."""
    return changed_by_names(
        [
            DumpName(
                file=dump.file,
                kind="after_optimizations"
                if pass_label(dump) == "after optimizations"
                else "other",
                step=int(number) if (number := pass_number(dump)) else None,
                pipeline=dump.pipeline,
                after=dump.after,
                before=dump.before,
            )
            for dump in module.dumps
        ]
    )


def collective_counts(dump: Dump) -> dict[str, int]:
    """The collectives of a text, by opcode."""
    return {opcode: number for opcode, number in dump.counts.items() if opcode in COLLECTIVES}


def _is_notable(dumps: tuple[Dump, ...], index: int, events: Events) -> bool:
    if index in (0, len(dumps) - 1):
        return True
    if any(event.group != "minor" for event in events.get(index, ())):
        return True
    before, dump = dumps[index - 1], dumps[index]
    if collective_counts(dump) != collective_counts(before):
        return True
    moved = abs(dump.instructions - before.instructions)
    return moved > _NOTABLE_SHARE * max(before.instructions, 1)


def _pass_row(
    position: int, module: Module, index: int, events: Events, *, comparable: bool
) -> PassRow:
    dump = module.dumps[index]
    before = module.dumps[index - 1] if index else None
    change = dump.instructions - before.instructions if before else 0
    found = events.get(index, ())
    return PassRow(
        number=pass_number(dump),
        name=pass_label(dump),
        pipeline=dump.pipeline or "",
        instructions=f"{dump.instructions:,}",
        change=change_text(change),
        computations=f"{dump.computations:,}",
        changed=f"{dump.changed:,}",
        collectives=counts_text(collective_counts(dump)),
        events=found[:_MAX_EVENTS],
        events_note=more_text(len(found) - _MAX_EVENTS),
        href=f"#compare/{position}/{index - 1}/{index}" if comparable and before else "",
        text_href=f"#text/{position}/{index}/1" if comparable else "",
    )


def _summary(module: Module) -> str:
    first, last = module.dumps[0], module.dumps[-1]
    end = "" if module.complete else "; the text after all optimizations is missing"
    return (
        f"{counted(len(module.dumps), 'text')}, from {first.instructions:,} instructions to "
        f"{last.instructions:,}. Last: {numbered_pass(last)}{end}."
    )
