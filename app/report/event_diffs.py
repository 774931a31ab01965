"""The differences around what passes did to loops, for a file that holds no texts of passes.

Says which passes those are, and makes what a page shows of their differences; the texts are read
and matched by whoever has them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.model.report import Report
from app.report.diff_text import difference_lines
from app.report.verdict import main_module
from app.report.wording import legible, numbered_pass
from app.views.pass_diff import PassDiff

MAX_EVENT_DIFFS = 12
_MAX_LINES = 400
_MINOR = frozenset(("created", "renamed", "moved", "simplified", "carry_changed", "removed"))


@dataclass(frozen=True, slots=True)
class EventDiff:
    """What the pass before the text `dump` of a module changed."""

    module: str
    dump: int
    diff: PassDiff


@dataclass(frozen=True, slots=True)
class EventDiffView:
    """The same as a page shows it: a heading and lines of text."""

    title: str
    lines: tuple[str, ...]
    note: str


def event_dumps(report: Report) -> tuple[tuple[str, int], ...]:
    """The texts, by module and position, after which the structure of a loop is another one.

    Those of the most telling module first, in order; of a failed compile the last that changed,
    too, since the pass that died worked on it.
    """
    main = main_module(report)
    found = {
        (loop.module, event.dump)
        for loop in report.loops
        for event in loop.events
        if event.kind not in _MINOR and event.dump > 0
    }
    if report.failure is not None and main is not None:
        changed = [n for n, dump in enumerate(main.dumps) if n and dump.changed]
        found |= {(main.id, number) for number in changed[-1:]}
    order = {module.id: position for position, module in enumerate(report.modules)}
    if main is not None:
        order[main.id] = -1
    ranked = sorted(found, key=lambda item: (order.get(item[0], len(order)), item[1]))
    return tuple(ranked[:MAX_EVENT_DIFFS])


def event_diff_views(report: Report, diffs: Sequence[EventDiff]) -> tuple[EventDiffView, ...]:
    """What a page shows of them."""
    dumps = {module.id: module.dumps for module in report.modules}
    return tuple(
        _view(numbered_pass(dumps[each.module][each.dump]), difference_lines(each.diff))
        for each in diffs
    )


def _view(name: str, lines: Sequence[str]) -> EventDiffView:
    left = len(lines) - _MAX_LINES
    return EventDiffView(
        title=legible(name),
        lines=tuple(legible(line) for line in lines[:_MAX_LINES]),
        note=f"{left:,} lines more are left out." if left > 0 else "",
    )
