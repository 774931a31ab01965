"""The page of a module's passes: curves over all of them, one pass at a time, a table of all.

Takes a report and gives HTML that needs no script: curves are drawings, runs of passes that changed
nothing are one row with a way to see them. Reads no bundle.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from app.model.report import Dump, Module, Report
from app.report.charts import curves_figure
from app.report.drawing import CurveView, LegendView
from app.report.graph import OptionView
from app.report.html import page_environment
from app.report.keys import KeyView
from app.report.page import EventView
from app.report.passes import (
    Events,
    changed_texts,
    collective_counts,
    events_by_dump,
    instruction_curve,
    legend_of,
    number_curve,
)
from app.report.passes_curves import curve_panels
from app.report.verdict import module_labels
from app.report.views import ViewLink, address_of, view_links
from app.report.wording import (
    change_text,
    counted,
    counts_text,
    cut_list,
    legible,
    more_text,
    numbered_pass,
    operations_text,
    pass_label,
    pass_number,
    size_text,
)

_MAX_PASSES = 5_000
_MAX_EVENTS = 20
_MAX_NAMED = 5

_KEYS = (
    KeyView("→ ←", "next or previous text"),
    KeyView("n, j", "next pass that changed something"),
    KeyView("p, k", "previous pass that changed something"),
    KeyView("Enter, o", "open what the pass changed, both texts side by side"),
    KeyView("Home, End", "first or last text"),
    KeyView("?", "this help"),
)


@dataclass(frozen=True, slots=True)
class PassView:
    """One text and the pass before it; `href` leads to both texts side by side."""

    index: int
    anchor: str
    number: str
    name: str
    pipeline: str
    instructions: str
    change: str
    computations: str
    changed: str
    collectives: str
    sent: str
    flops: str
    temporaries: str
    events: tuple[EventView, ...]
    events_note: str
    href: str
    text_href: str
    graph_href: str
    here: bool


@dataclass(frozen=True, slots=True)
class QuietView:
    """Passes in a row that changed nothing, as one line; `href` shows them."""

    words: str
    href: str


@dataclass(frozen=True, slots=True)
class PassesPage:
    """Everything the template shows; an entry of `rows` is a pass or, second, what is folded.

    `missing` says which text the address asks for and the page has not.
    """

    title: str
    heading: str
    lead: str
    views: tuple[ViewLink, ...]
    action: str
    modules: tuple[OptionView, ...]
    last: int
    at: int
    now: PassView
    earlier_href: str
    later_href: str
    curves: tuple[CurveView, ...]
    legend: tuple[LegendView, ...]
    missing: str
    rows: tuple[tuple[PassView | None, QuietView | None], ...]
    fold_href: str
    fold_words: str
    notes: tuple[str, ...]
    keys: tuple[KeyView, ...]
    data: dict[str, object]


@dataclass(frozen=True, slots=True)
class PassesPlace:
    """What is shown: a module, the chosen text, and whether the quiet passes are listed too."""

    report: str
    module: Module
    at: int
    all: bool = False

    def href(self, **changes: object) -> str:
        """The address of this place with some parts changed."""
        parts: dict[str, object] = {
            "module": self.module.id,
            "at": self.at,
            "all": 1 if self.all else "",
            **changes,
        }
        return address_of(f"{self.report}/passes", parts)


def passes_page(
    report: Report, place: PassesPlace, *, base_context: Mapping[str, object] | None = None
) -> str:
    """The page as HTML."""
    template = page_environment().get_template("passes.html")
    return template.render(page=_page_of(report, place), **(base_context or {}))


def _page_of(report: Report, asked: PassesPlace) -> PassesPage:
    names = module_labels(report)
    place = replace(asked, at=min(asked.at, min(len(asked.module.dumps), _MAX_PASSES) - 1))
    shown = legible(place.module)
    events = events_by_dump(place.module.id, legible(report.loops))
    changed = set(changed_texts(place.module))
    position = next(i for i, item in enumerate(report.modules) if item.id == place.module.id)
    passes = [
        _pass_view(place, position, shown, index, events)
        for index in range(min(len(shown.dumps), _MAX_PASSES))
    ]
    if len(passes) == len(shown.dumps):
        passes[-1] = replace(passes[-1], temporaries=_temporaries(report, place.module.id))
    earlier = [index for index in changed if index < place.at]
    later = [index for index in changed if index > place.at]
    quiet = len(passes) - len(changed) - 1
    return PassesPage(
        title=legible(f"Passes of {names[place.module.id]}"),
        heading="Passes",
        lead=legible(
            f"{names[place.module.id]}: {counted(len(shown.dumps), 'text')}, "
            f"{counted(len(changed), 'of them changed', 'of them changed')}."
        ),
        views=view_links(place.report, "passes"),
        action=f"{place.report}/passes",
        modules=tuple(
            OptionView(module.id, legible(names[module.id]), module.id == place.module.id)
            for module in report.modules
            if len(module.dumps) > 1 or module.id == place.module.id
        ),
        last=len(passes) - 1,
        at=place.at,
        now=passes[place.at],
        earlier_href=place.href(at=max(earlier)) if earlier else "",
        later_href=place.href(at=min(later)) if later else "",
        curves=_curves(shown, events),
        legend=legend_of(found[0].group for found in events.values()),
        missing=_missing(asked, shown, place.at),
        rows=tuple(_rows(place, passes, changed)),
        fold_href=place.href(all="" if place.all else 1) if quiet > 0 else "",
        fold_words=f"{'Fold' if place.all else 'Show'} the {counted(quiet, 'pass', 'passes')}"
        " that changed nothing",
        notes=_notes(report, shown),
        keys=_KEYS,
        data={
            "figures": [curves_figure(shown, events)],
            "passes": {
                "at": place.at,
                "changed": sorted(changed),
                "module": place.module.id,
                "page": f"{place.report}/passes",
                "list": [_data_of(view) for view in passes],
            },
        },
    )


def _missing(asked: PassesPlace, module: Module, shown: int) -> str:
    if asked.at == shown:
        return ""
    texts = counted(min(len(module.dumps), _MAX_PASSES), "text")
    last = numbered_pass(module.dumps[shown])
    return f"There is no text {asked.at:,} in this page: of {texts} the last is shown, {last}."


def _curves(module: Module, events: Events) -> tuple[CurveView, ...]:
    """What a page without a script has in place of the figure: one drawing for each curve."""
    lines = [line for panel in curve_panels(module.dumps)[1:] for line in panel.lines]
    return (
        instruction_curve(module, events),
        *(number_curve(module.dumps, [v or 0 for v in line.values], line.name) for line in lines),
    )


def _notes(report: Report, module: Module) -> tuple[str, ...]:
    notes: list[str] = []
    if len(module.dumps) > _MAX_PASSES:
        notes.append(f"{len(module.dumps) - _MAX_PASSES:,} texts more are not in this page.")
    memory = next((item for item in report.memory if item.module == module.id), None)
    if memory is not None:
        notes.append("Temporaries are assigned at the end: their bytes stand at the last text.")
    return tuple(notes)


def _temporaries(report: Report, module_id: str) -> str:
    """The bytes reserved for temporaries once they are assigned; "" where that is not known."""
    memory = next((item for item in report.memory if item.module == module_id), None)
    size = None if memory is None else memory.reserved.get("temp")
    if memory is None or size is None:
        return ""
    return size_text(size) + (" (estimate)" if memory.estimate is not None else "")


def _rows(
    place: PassesPlace, passes: list[PassView], changed: set[int]
) -> Iterator[tuple[PassView | None, QuietView | None]]:
    quiet: list[PassView] = []
    for view in passes:
        is_quiet = view.index not in changed and not view.events and view.index > 0
        if is_quiet and not place.all and not view.here:
            quiet.append(view)
            continue
        yield from _folded(place, quiet)
        quiet = []
        yield view, None
    yield from _folded(place, quiet)


def _folded(
    place: PassesPlace, quiet: list[PassView]
) -> Iterator[tuple[PassView | None, QuietView | None]]:
    if len(quiet) == 1:
        yield quiet[0], None
    elif quiet:
        named = cut_list([view.name for view in quiet], _MAX_NAMED)
        words = f"{counted(len(quiet), 'text')} in which nothing changed: {named}"
        yield None, QuietView(words, f"{place.href(all=1)}#{quiet[0].anchor}")


def _pass_view(
    place: PassesPlace,
    position: int,
    module: Module,
    index: int,
    events: Events,
) -> PassView:
    dump = module.dumps[index]
    before = module.dumps[index - 1] if index else None
    change = dump.instructions - before.instructions if before else 0
    found = events.get(index, ())
    query = {"module": place.module.id, "a": max(0, index - 1), "b": index}
    graph = {"module": place.module.id, "text": index}
    return PassView(
        index=index,
        anchor=f"pass-{index}",
        number=pass_number(dump),
        name=pass_label(dump),
        pipeline=dump.pipeline or "",
        instructions=f"{dump.instructions:,}",
        change=change_text(change),
        computations=f"{dump.computations:,}",
        changed=f"{dump.changed:,}",
        collectives=counts_text(collective_counts(dump)),
        sent=_sent(dump),
        flops="" if dump.flops is None else operations_text(dump.flops),
        temporaries="",
        events=found[:_MAX_EVENTS],
        events_note=more_text(len(found) - _MAX_EVENTS),
        href=f"{place.report}/diff?{urlencode(query, errors='replace')}" if index else "",
        text_href=f"{place.report}#text/{position}/{index}/1",
        graph_href=f"{place.report}/graph?{urlencode(graph, errors='replace')}",
        here=index == place.at,
    )


def _sent(dump: Dump) -> str:
    total = sum(dump.collective_bytes.values())
    return size_text(total) if total else ""


def _data_of(view: PassView) -> dict[str, object]:
    """What the script shows of a pass when it is chosen."""
    facts = (
        ("Instructions", f"{view.instructions} ({view.change or 'as before'})"),
        ("Computations", f"{view.computations}, {view.changed} of them new or changed"),
        ("Collectives", view.collectives),
        ("Bytes sent in a run", view.sent),
        ("Operations in a run", view.flops),
        ("Temporaries", view.temporaries),
        ("Pipeline", view.pipeline),
    )
    events = [
        f"{event.word}: {event.loops}" + (f" ({event.detail})" if event.detail else "")
        for event in view.events
    ]
    return {
        "name": f"{view.number} {view.name}".strip(),
        "facts": [[label, value] for label, value in facts if value],
        "events": [*events, *filter(None, [view.events_note])],
        "diff": view.href,
        "text": view.text_href,
        "graph": view.graph_href,
    }


def chosen_pass(module: Module, at: int | None) -> int:
    """The text that is meant: the last that differs from the one before where none is named.

    One that is named need not be there: the page says so and shows the last.
    """
    last = min(len(module.dumps), _MAX_PASSES) - 1
    if at is not None:
        return at
    changed = [index for index in changed_texts(module) if index <= last]
    return changed[-1] if changed else last
