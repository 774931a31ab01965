"""The page of loops: all of a module as lanes over its passes, and one of them in full.

Takes a report and, for the rewrite that is shown, rows of two panes; gives HTML that needs no
script. Reads no bundle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from app.model.report import CarriedElement, CarryKind, Collective, Loop, Module, Report, Source
from app.report.compare_rows import RowView, row_views
from app.report.drawing import LanesView
from app.report.graph import OptionView
from app.report.html import page_environment
from app.report.keys import KeyView
from app.report.lanes import event_line, lanes_view, nested_order
from app.report.loops import loop_facts, loop_story
from app.report.program_facts import axes_text, line_text, runs_text, sent_text
from app.report.verdict import module_labels
from app.report.views import ViewLink, address_of, view_links
from app.report.wording import (
    EVENT_GROUPS,
    EVENT_WORDS,
    EventGroup,
    counted,
    counts_text,
    legible,
    numbered_pass,
    pass_label,
    pass_number,
    place_text,
    size_text,
)
from app.views.diff_loop import BodyRows
from app.views.diff_slices import PaneReader

CARRY_WORDS: Mapping[CarryKind, str] = {
    "counter": "counter",
    "invariant": "invariant",
    "stacked_input": "read slice by slice",
    "stacked_output": "written slice by slice",
    "accumulator": "accumulator",
    "double_buffer": "for the next iteration",
    "other": "state",
}
MAX_LANES = 200
_MAX_CARRIED = 500

_KEYS = (
    KeyView("j, k", "next or previous loop"),
    KeyView("n, p", "next or previous rewrite of this loop"),
    KeyView("o", "open the rewrite with all of both texts"),
    KeyView("?", "this help"),
)


@dataclass(frozen=True, slots=True)
class LoopsPlace:
    """What is shown: a module, a loop of it, and the text whose rewrite is shown, -1 for none."""

    report: str
    module: Module
    loop: Loop
    event: int

    def href(self, **changes: object) -> str:
        """The address of this place with some parts changed."""
        parts: dict[str, object] = {
            "loop": self.loop.id,
            "event": self.event if self.event >= 0 else "",
            **changes,
        }
        return address_of(f"{self.report}/loops", parts)

    def diff_href(self, **changes: object) -> str:
        """The address of both texts around the rewrite, side by side."""
        parts: dict[str, object] = {
            "module": self.module.id,
            "a": max(0, self.event - 1),
            "b": max(0, self.event),
            **changes,
        }
        return address_of(f"{self.report}/diff", parts)


@dataclass(frozen=True, slots=True)
class CarriedRow:
    """One element of the carried tuple."""

    index: int
    kind: str
    word: str
    shape: str
    size: str
    bytes: int
    how: str
    line: str
    line_href: str


@dataclass(frozen=True, slots=True)
class TripRow:
    """A collective in the body."""

    name: str
    kind: str
    size: str
    runs: str
    axes: str
    line: str
    href: str


@dataclass(frozen=True, slots=True)
class EventRow:
    """What one pass did to the loop."""

    number: str
    name: str
    word: str
    group: EventGroup
    detail: str
    href: str
    here: bool


@dataclass(frozen=True, slots=True)
class LoopsPage:
    """Everything the template shows."""

    title: str
    heading: str
    lead: str
    views: tuple[ViewLink, ...]
    action: str
    modules: tuple[OptionView, ...]
    lanes: LanesView
    earlier_href: str
    later_href: str
    name: str
    place: str
    place_href: str
    story: str
    facts: tuple[tuple[str, str], ...]
    op_name: str
    graph_href: str
    events: tuple[EventRow, ...]
    missing: str
    rewrite: str
    rewrite_href: str
    earlier_rewrite_href: str
    later_rewrite_href: str
    rewrite_told: tuple[str, ...]
    rows: tuple[RowView, ...]
    rows_note: str
    carried: tuple[CarriedRow, ...]
    carried_note: str
    trips: tuple[TripRow, ...]
    trips_note: str
    keys: tuple[KeyView, ...]


def chosen_loop(report: Report, loop_id: str, module_id: str) -> Loop | None:
    """The loop asked for, else the one that passes did most to, of that module if it is named."""
    if loop_id:
        return next((loop for loop in report.loops if loop.id == loop_id), None)
    loops = [loop for loop in report.loops if module_id in ("", loop.module)]
    return max(loops, key=lambda loop: len(_rewrites(loop)), default=None)


def chosen_rewrite(loop: Loop, event: int | None) -> int:
    """The text whose rewrite is shown: the first that changed the structure; -1 for none."""
    rewrites = _rewrites(loop)
    if event is not None:
        return event if any(event == each.dump for each in loop.events) and event else -1
    return rewrites[0] if rewrites else -1


def _rewrites(loop: Loop) -> list[int]:
    """The texts in which a pass changed the structure of the loop."""
    return sorted(
        {event.dump for event in loop.events if event.dump and EVENT_GROUPS[event.kind] != "minor"}
    )


def no_loops_page(report: str, *, base_context: Mapping[str, object] | None = None) -> str:
    """The page of a report without loops, as HTML; `report` is its address."""
    template = page_environment().get_template("loops_none.html")
    page = {"views": view_links(report, "loops")}
    return template.render(page=page, **(base_context or {}))


def loops_page(
    report: Report,
    place: LoopsPlace,
    *,
    reader: PaneReader | None = None,
    body: BodyRows | None = None,
    base_context: Mapping[str, object] | None = None,
) -> str:
    """The page as HTML; `reader` and `body` are those of the rewrite, where it can be shown."""
    template = page_environment().get_template("loops.html")
    return template.render(page=_page_of(report, place, reader, body), **(base_context or {}))


def _page_of(
    report: Report, place: LoopsPlace, reader: PaneReader | None, body: BodyRows | None
) -> LoopsPage:
    labels = module_labels(report)
    loop = legible(place.loop)
    module = legible(place.module)
    own = [each for each, _ in nested_order(o for o in report.loops if o.module == loop.module)]
    at = next(number for number, each in enumerate(own) if each.id == place.loop.id)
    rewrites = _rewrites(place.loop)
    source = place.loop.source
    return LoopsPage(
        title=f"Loop {loop.name}",
        heading="Loops",
        lead=legible(f"{labels[place.module.id]}: {counted(len(own), 'loop')}."),
        views=view_links(place.report, "loops"),
        action=f"{place.report}/loops",
        modules=_modules(report, place, labels),
        lanes=_lanes(report, place, legible(labels[place.module.id])),
        earlier_href=_loop_href(place, own[at - 1]) if at else "",
        later_href=_loop_href(place, own[at + 1]) if at + 1 < len(own) else "",
        name=loop.name,
        place=place_text(loop.source) if loop.source else "no line known",
        place_href=_source_href(place, source),
        story=loop_story(loop),
        facts=loop_facts(
            loop,
            module,
            legible(labels[place.module.id]),
            next((legible(each.name) for each in own if each.id == place.loop.parent), ""),
        ),
        op_name=loop.op_name or "",
        graph_href=f"{place.report}/graph?{urlencode({'loop': place.loop.id}, errors='replace')}",
        events=_events(place, loop, module),
        missing="No pass did anything to this loop in the text that the address names."
        if place.event < 0 and rewrites
        else "",
        rewrite=numbered_pass(module.dumps[place.event]) if _is_shown(place) else "",
        rewrite_href=place.diff_href(computation=body.computation if body else "")
        if _is_shown(place)
        else "",
        earlier_rewrite_href=_rewrite_href(place, [e for e in rewrites if e < place.event][-1:]),
        later_rewrite_href=_rewrite_href(place, [e for e in rewrites if e > place.event][:1]),
        rewrite_told=tuple(event_line(e) for e in loop.events if e.dump == place.event),
        rows=tuple(row_views(place.diff_href, (), reader, body.visible, _text_hrefs(report, place)))
        if reader and body
        else (),
        rows_note=_rows_note(body),
        carried=tuple(_carried(place, item) for item in loop.carry[:_MAX_CARRIED]),
        carried_note=_carried_note(loop),
        trips=_trips(report, place),
        trips_note=_trips_note(loop),
        keys=_KEYS,
    )


def _is_shown(place: LoopsPlace) -> bool:
    return 0 < place.event < len(place.module.dumps)


def _modules(
    report: Report, place: LoopsPlace, labels: Mapping[str, str]
) -> tuple[OptionView, ...]:
    ids = {loop.module for loop in report.loops}
    return tuple(
        OptionView(module.id, legible(labels[module.id]), module.id == place.module.id)
        for module in report.modules
        if module.id in ids
    )


def _lanes(report: Report, place: LoopsPlace, label: str) -> LanesView:
    own = tuple(loop for loop in report.loops if loop.module == place.module.id)
    by_id = {loop.id: _loop_href(place, loop) for loop in own}

    def pass_href(dump: int) -> str:
        query = {"module": place.module.id, "a": dump - 1, "b": dump}
        return f"{place.report}/diff?{urlencode(query, errors='replace')}"

    # Ids stay as they are: they pick the lane and are not shown.
    shown = tuple(legible(loop) for loop in own)
    hrefs = {new.id: by_id[old.id] for old, new in zip(own, shown, strict=True)}
    module = legible(place.module)
    return lanes_view(
        module,
        label,
        shown,
        hrefs,
        here=legible(place.loop.id),
        pass_href=pass_href,
        most=MAX_LANES,
    )


def _loop_href(place: LoopsPlace, loop: Loop) -> str:
    return place.href(loop=loop.id, event="")


def _rewrite_href(place: LoopsPlace, events: Sequence[int]) -> str:
    return place.href(event=events[0]) if events else ""


def _events(place: LoopsPlace, loop: Loop, module: Module) -> tuple[EventRow, ...]:
    rows: list[EventRow] = []
    for event in loop.events:
        dump = module.dumps[event.dump] if event.dump < len(module.dumps) else None
        rows.append(
            EventRow(
                number=pass_number(dump) if dump else "",
                name=event.pass_ or (pass_label(dump) if dump else ""),
                word=EVENT_WORDS[event.kind],
                group=EVENT_GROUPS[event.kind],
                detail=event.detail,
                href=place.href(event=event.dump) + "#rewrite" if event.dump and dump else "",
                here=event.dump == place.event,
            )
        )
    return tuple(rows)


def _text_hrefs(report: Report, place: LoopsPlace) -> tuple[str, str]:
    position = next(i for i, item in enumerate(report.modules) if item.id == place.module.id)
    return (
        f"{place.report}#text/{position}/{max(0, place.event - 1)}/",
        f"{place.report}#text/{position}/{place.event}/",
    )


def _rows_note(body: BodyRows | None) -> str:
    if body is None:
        return ""
    if not body.visible:
        return "Neither text has a body of this loop by a name that its history tells."
    more = f"{body.left_out:,} lines more are not shown here. " if body.left_out else ""
    return f"{more}What is unchanged or repeated is folded."


def _carried(place: LoopsPlace, item: CarriedElement) -> CarriedRow:
    slices = f" ({item.slices:,} slices)" if item.slices else ""
    return CarriedRow(
        index=item.index,
        kind=item.kind.replace("_", "-"),
        word=f"{CARRY_WORDS[item.kind]}{slices}",
        shape=item.shape,
        size=size_text(item.bytes),
        bytes=item.bytes,
        how=item.how,
        line=place_text(item.source) if item.source else "",
        line_href=_source_href(place, item.source),
    )


def _carried_note(loop: Loop) -> str:
    left_out = len(loop.carry) - _MAX_CARRIED
    return f"{left_out:,} elements more are not in this page." if left_out > 0 else ""


def _trips(report: Report, place: LoopsPlace) -> tuple[TripRow, ...]:
    return tuple(_trip(place, item) for item in report.collectives if item.loop == place.loop.id)


def _trip(place: LoopsPlace, asked: Collective) -> TripRow:
    item = legible(asked)
    query = {
        "module": asked.module,
        "text": asked.dump,
        "computation": asked.computation,
        "instruction": asked.instruction,
    }
    return TripRow(
        name=item.instruction,
        kind=item.opcode,
        size=sent_text(item),
        runs=runs_text(item),
        axes=axes_text(item),
        line=line_text(item),
        href=f"{place.report}/graph?{urlencode(query, errors='replace')}",
    )


def _trips_note(loop: Loop) -> str:
    if not loop.collectives:
        return "No collective stands in its body."
    sent = "" if loop.collective_bytes is None else f", {size_text(loop.collective_bytes)} sent"
    return f"Each iteration: {counts_text(loop.collectives)}{sent} by one device."


def _source_href(place: LoopsPlace, source: Source | None) -> str:
    if source is None:
        return ""
    query = {"file": source.file, "line": source.line}
    return f"{place.report}/source?{urlencode(query, errors='replace')}"
