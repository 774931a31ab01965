"""The page of two texts side by side, as HTML that needs no script.

Takes a reader of `app.views.diff_slices` and gives the first rows of the address that is asked
for; the page's script goes on from there. Reads no bundle.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from app.model.report import Module, Report
from app.report.compare_rows import RowView, row_views
from app.report.graph import OptionView
from app.report.html import page_environment, readable_modules
from app.report.keys import KeyView
from app.report.passes import changed_texts
from app.report.verdict import module_labels
from app.report.views import ViewLink, address_of, view_links
from app.report.wording import legible, numbered_pass
from app.views.diff_panes import PaneComputation
from app.views.diff_slices import PaneReader, visible_rows
from app.views.pass_diff import Totals

PAGE_ROWS = 80
_MAX_OUTLINE = 2_000
_MAX_OPEN = 200
_ROWS_ABOVE = 8

_KEYS = (
    KeyView("n, j", "next change"),
    KeyView("p, k", "previous change"),
    KeyView("↓ ↑", "next or previous row"),
    KeyView(
        "Enter, o", "open or close what is folded; at a moved instruction, go to its other place"
    ),
    KeyView("← →", "read on in long lines"),
    KeyView("/", "search in both texts; Enter goes to the next hit, Shift+Enter back"),
    KeyView("] [", "the next or previous pass that changed something"),
    KeyView("x", "open all folds, or close them again"),
    KeyView("Home, End", "first or last row"),
    KeyView("?", "this help"),
)


@dataclass(frozen=True, slots=True)
class PanePlace:
    """What is shown, as the address says it; `at` is the chosen row, -1 for none."""

    report: str
    module: Module
    before: int
    after: int
    at: int = -1
    opened: tuple[int, ...] = ()
    query: str = ""
    start: int = 0

    def href(self, **changes: object) -> str:
        """The address of this place with some parts changed; `start` counts visible rows."""
        parts: dict[str, object] = {
            "module": self.module.id,
            "a": self.before,
            "b": self.after,
            "at": self.at if self.at >= 0 else "",
            "open": ",".join(map(str, self.opened[:_MAX_OPEN])),
            "q": self.query,
            "from": self.start or "",
            **changes,
        }
        return address_of(f"{self.report}/diff", parts)


@dataclass(frozen=True, slots=True)
class OutlineView:
    """A computation in the list beside the panes."""

    name: str
    note: str
    kind: str
    row: int
    href: str


@dataclass(frozen=True, slots=True)
class PanesPage:
    """Everything the template shows."""

    title: str
    heading_before: str
    heading_after: str
    lead: str
    views: tuple[ViewLink, ...]
    action: str
    module: str
    modules: tuple[OptionView, ...]
    before: tuple[OptionView, ...]
    after: tuple[OptionView, ...]
    query: str
    earlier_href: str
    later_href: str
    swap_href: str
    previous_rows_href: str
    next_rows_href: str
    where: str
    rows: tuple[RowView, ...]
    outline: tuple[OutlineView, ...]
    outline_note: str
    keys: tuple[KeyView, ...]
    data: dict[str, object]


def chosen_texts(module: Module, before: int | None, after: int | None) -> tuple[int, int]:
    """The texts to compare where an address leaves one or both out: the last that differ."""
    last = len(module.dumps) - 1
    if after is None:
        changed = [number for number in changed_texts(module) if before is None or number > before]
        after = changed[-1] if changed and before is None else min(last, (before or 0) + 1)
    if before is None:
        before = max(0, after - 1)
    return before, after


def panes_page(
    report: Report,
    place: PanePlace,
    reader: PaneReader,
    *,
    base_context: Mapping[str, object] | None = None,
) -> str:
    """The page as HTML."""
    template = page_environment().get_template("diff.html")
    return template.render(page=_page_of(report, place, reader), **(base_context or {}))


def _page_of(report: Report, place: PanePlace, reader: PaneReader) -> PanesPage:
    dumps = place.module.dumps
    labels = [legible(numbered_pass(dump)) for dump in dumps]
    changed = set(changed_texts(place.module))
    options = [
        label if number == 0 or number in changed else f"{label} (unchanged)"
        for number, label in enumerate(labels)
    ]
    place, visible, start = _in_sight(place, reader)
    shown = visible[start : start + PAGE_ROWS]
    names = module_labels(report)
    outline = _outline(place, reader.rows.computations)
    return PanesPage(
        title=legible(f"{labels[place.before]} and {labels[place.after]}"),
        heading_before=labels[place.before],
        heading_after=labels[place.after],
        lead=f"{legible(names[place.module.id])}. {totals_text(reader.rows.totals)}",
        views=view_links(place.report, "diff"),
        action=f"{place.report}/diff",
        module=place.module.id,
        modules=tuple(
            OptionView(module.id, legible(names[module.id]), module.id == place.module.id)
            for _, module in readable_modules(report)
        ),
        before=_options(options, place.before),
        after=_options(options, place.after),
        query=legible(place.query),
        earlier_href=_step(place, changed, -1),
        later_href=_step(place, changed, 1),
        swap_href=_pair_href(place, place.after, place.before),
        previous_rows_href=place.href(**{"from": max(0, start - PAGE_ROWS) or ""}) if start else "",
        next_rows_href=place.href(**{"from": start + PAGE_ROWS})
        if start + PAGE_ROWS < len(visible)
        else "",
        where=f"Rows {start + 1:,} to {start + len(shown):,} of {len(visible):,}",
        rows=tuple(row_views(place.href, place.opened, reader, shown, _text_hrefs(report, place))),
        outline=outline[:_MAX_OUTLINE],
        outline_note=f"{len(outline) - _MAX_OUTLINE:,} more are not listed."
        if len(outline) > _MAX_OUTLINE
        else "",
        keys=_KEYS,
        data=_data(report, place, reader),
    )


def _in_sight(place: PanePlace, reader: PaneReader) -> tuple[PanePlace, list[int], int]:
    """The place with the fold around the chosen row open, what is visible, and where to begin."""
    at = place.at if place.at < reader.total else -1
    folds = reader.rows.folds
    inside = bisect_right(folds, at, key=lambda fold: fold.row) - 1
    if at >= 0 and inside >= 0 and folds[inside].row + folds[inside].rows > at:
        place = replace(place, opened=tuple(dict.fromkeys((*place.opened, inside))))
    known = tuple(fold for fold in place.opened if fold < len(folds))
    place = replace(place, at=at, opened=known)
    visible = list(visible_rows(reader.total, folds, frozenset(place.opened)))
    start = min(place.start, max(0, len(visible) - 1))
    if at >= 0 and not place.start:
        start = max(0, visible.index(at) - _ROWS_ABOVE)
    return place, visible, start


def totals_text(totals: Totals) -> str:
    """The whole difference in a few words."""
    instructions = _counts(
        (totals.instructions_added - totals.instructions_copied, "added"),
        (totals.instructions_copied, "copied"),
        (totals.instructions_removed, "removed"),
        (totals.instructions_changed, "changed"),
        (totals.instructions_moved, "moved in the schedule"),
        (totals.instructions_moved_between, "moved between computations"),
        (totals.instructions_renamed, "renamed"),
    )
    computations = _counts(
        (totals.computations_added, "added"),
        (totals.computations_removed, "removed"),
        (totals.computations_changed, "changed"),
        (totals.computations_renamed, "renamed"),
        (totals.computations_unchanged, "unchanged"),
    )
    if not instructions and not totals.computations_added and not totals.computations_removed:
        return "The two texts say the same."
    parts = (("Instructions", instructions), ("Computations", computations))
    return " ".join(f"{word}: {counts}." for word, counts in parts if counts)


def _counts(*counts: tuple[int, str]) -> str:
    return ", ".join(f"{number:,} {word}" for number, word in counts if number)


def _options(labels: Sequence[str], chosen: int) -> tuple[OptionView, ...]:
    return tuple(
        OptionView(str(number), label, number == chosen) for number, label in enumerate(labels)
    )


def _pair_href(place: PanePlace, before: int, after: int) -> str:
    return place.href(a=before, b=after, at="", open="", **{"from": ""})


def _step(place: PanePlace, changed: set[int], step: int) -> str:
    """The next pass that changed something, compared with the text before it."""
    later = [number for number in changed if (number - place.after) * step > 0]
    if not later:
        return ""
    number = min(later) if step > 0 else max(later)
    return _pair_href(place, number - 1, number)


def _outline(place: PanePlace, computations: Sequence[PaneComputation]) -> tuple[OutlineView, ...]:
    """Those that differ, each group of equal edits once."""
    return tuple(
        OutlineView(
            name=legible(item.after or item.before or ""),
            note=_outline_note(item),
            kind=item.kind,
            row=item.row,
            href=place.href(at=item.row, **{"from": ""}) + f"#row-{item.row}",
        )
        for item in computations
        if item.kind != "same" and item.like < 0
    )


def _outline_note(item: PaneComputation) -> str:
    if item.kind != "changed":
        return f"{item.kind}, {item.rows - 1:,} instructions"
    words = ", ".join(f"{number:,} {word}" for word, number in item.counts.items())
    renamed = f"was {legible(item.before or '')}" if item.before != item.after else ""
    return "; ".join(part for part in (words or "changed", renamed) if part)


def _text_hrefs(report: Report, place: PanePlace) -> tuple[str, str]:
    position = next(i for i, item in enumerate(report.modules) if item.id == place.module.id)
    return (
        f"{place.report}#text/{position}/{place.before}/",
        f"{place.report}#text/{position}/{place.after}/",
    )


def _data(report: Report, place: PanePlace, reader: PaneReader) -> dict[str, object]:
    rows = reader.rows
    query = {"module": place.module.id, "a": place.before, "b": place.after}
    return {
        "total": reader.total,
        "before": rows.kinds_before,
        "after": rows.kinds_after,
        "folds": [[fold.row, fold.rows, legible(fold.words)] for fold in rows.folds],
        "places": {
            str(number + 1): list(edit.rows)
            for number, edit in enumerate(rows.edits)
            if edit.times > 1
        },
        "heads": [item.row for item in rows.computations],
        "query": urlencode(query, errors="replace"),
        "rows": f"{place.report}/diff/rows",
        "find": f"{place.report}/diff/find",
        "texts": _text_hrefs(report, place),
        "graph": f"{place.report}/graph",
        "at": place.at,
        "open": list(place.opened),
    }
