"""The differences around what passes did to loops, for a file that holds no texts of passes.

Says which passes those are, matches their texts, which whoever has them gives, and makes what a
page shows of the differences.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.analysis.diff import diff_modules
from app.ingest.collection import collection_paused
from app.model.dump import ModuleHistory
from app.model.report import Report
from app.report.diff_text import difference_lines
from app.report.verdict import main_module
from app.report.wording import legible, numbered_pass
from app.views.pass_diff import PassDiff, diff_view
from hlo_parser import Module

MAX_EVENT_DIFFS = 12
MAX_BYTES = 24 << 20
"""Bytes of texts that are matched for one file, a few seconds' work; later passes are left out."""

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


def event_diffs(
    report: Report, sizes: Mapping[str, Sequence[int]], text: Callable[[str, int], Module]
) -> Iterator[EventDiff]:
    """The differences of the passes that `event_dumps` names.

    `sizes` are the bytes of the texts of each module, `text` gives one of them. Raises as `text`.
    """
    room = MAX_BYTES
    for module, dump in event_dumps(report):
        texts = sizes.get(module, ())
        if dump >= len(texts):
            continue
        room -= texts[dump - 1] + texts[dump]
        if room < 0:
            return
        with collection_paused():
            before, after = text(module, dump - 1), text(module, dump)
            found = diff_view(before, after, diff_modules(before, after))
        yield EventDiff(module, dump, found)


def event_diffs_of_histories(
    report: Report, histories: Sequence[ModuleHistory]
) -> tuple[EventDiff, ...]:
    """The same from the parsed texts themselves."""
    dumps = {history.id: history.dumps for history in histories}
    sizes = {module: [dump.byte_size for dump in found] for module, found in dumps.items()}
    return tuple(event_diffs(report, sizes, lambda module, at: dumps[module][at].module))


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
