"""The page of a module's collectives: the schedule as a drawing, all of them as a table.

Takes a report and the schedules of `app.views.collectives_schedule`; gives HTML that needs no
script: bars lead to rows, a group is chosen by the address. Reads no bundle.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

from app.model.report import Collective, Loop, Module, Report
from app.report.collectives_drawing import (
    ScheduleView,
    behind_text,
    collective_anchor,
    drawn_kinds,
    exposed_us,
    hidden_text,
    is_scheduled,
    micros_text,
    overlap_kind,
    schedule_view,
)
from app.report.collectives_sums import collective_facts, exposed_text
from app.report.graph import OptionView
from app.report.history import history_href
from app.report.html import page_environment
from app.report.keys import KeyView
from app.report.overlap_story import overlap_reasons, overlap_story
from app.report.program_facts import (
    axes_text,
    inferred_text,
    kind_text,
    line_text,
    sends_text,
    total_text,
)
from app.report.rows import Rows, rows_of
from app.report.verdict import module_labels
from app.report.views import ViewLink, address_of, view_links
from app.report.wording import counted, cut_list, legible, shortened, size_text
from app.views.collectives_schedule import Schedule, ScheduledCollective

Grouping = Literal["", "line", "axes", "kind", "loop"]

GROUP_BY: Mapping[Grouping, str] = {
    "": "nothing",
    "line": "source line",
    "axes": "mesh axis",
    "kind": "kind",
    "loop": "loop",
}
OVERLAP_WORDS = {
    "sync": "synchronous",
    "unknown": "no schedule known",
    "exposed": "exposed",
    "partly": "partly hidden",
    "hidden": "hidden",
}
_MAX_DRAWN = 6
_MAX_ROWS = 2_000
_MAX_IN_FLIGHT = 4
# Of devices in groups, as the text lists them: thousands of devices make thousands of characters.
_MAX_GROUPS = 120

_KEYS = (
    KeyView("→ ←", "the next or previous collective of a drawing, when one has the focus"),
    KeyView("Enter", "go to its row in the table"),
    KeyView("f", "filter the table"),
    KeyView("?", "this help"),
)


@dataclass(frozen=True, slots=True)
class CollectiveRow:
    """One collective in the table; numbers without a unit are what the columns are sorted by.

    `why` is what made it wait, as far as its history tells; `exposed` is the part of its time that
    is waited for, all of it where it is synchronous, `exposed_note` says which.
    """

    anchor: str
    bar_href: str
    name: str
    kind: str
    sends: str
    total: str
    total_bytes: int
    overlap: str
    overlap_kind: str
    why: str
    exposed: str
    exposed_us: float
    exposed_note: str
    behind: str
    in_flight: str
    axes: str
    loop: str
    loop_href: str
    line: str
    line_href: str
    graph_href: str
    history_href: str
    groups: str


@dataclass(frozen=True, slots=True)
class CollectiveGroup:
    """What several collectives have in common, with their sums."""

    title: str
    summary: str
    anchor: str
    rows: Rows[CollectiveRow]


@dataclass(frozen=True, slots=True)
class CollectivesPage:
    """Everything the template shows."""

    title: str
    heading: str
    lead: str
    views: tuple[ViewLink, ...]
    action: str
    modules: tuple[OptionView, ...]
    groupings: tuple[OptionView, ...]
    missing: str
    facts: tuple[tuple[str, str], ...]
    reasons: tuple[str, ...]
    schedule_title: str
    legend: tuple[tuple[str, str], ...]
    schedules: tuple[ScheduleView, ...]
    others: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    groups: tuple[CollectiveGroup, ...]
    has_times: bool
    keys: tuple[KeyView, ...]


@dataclass(frozen=True, slots=True)
class CollectivesPlace:
    """What is shown: a module, how its rows are grouped, the computation drawn first if any."""

    report: str
    module: Module
    group: Grouping = ""
    computation: str = ""

    def href(self, **changes: str) -> str:
        """The address of this place with some parts changed."""
        parts = {
            "module": self.module.id,
            "group": self.group,
            "computation": self.computation,
            **changes,
        }
        return address_of(f"{self.report}/collectives", parts)


def modules_with_collectives(report: Report) -> tuple[Module, ...]:
    """The modules whose last text holds collectives, in the order of the report."""
    ids = {item.module for item in report.collectives}
    return tuple(module for module in report.modules if module.id in ids)


def collectives_page(
    report: Report,
    place: CollectivesPlace,
    schedules: Sequence[Schedule],
    *,
    notes: tuple[str, ...] = (),
    base_context: Mapping[str, object] | None = None,
) -> str:
    """The page as HTML; `schedules` are those of the module, the positions in them the report's."""
    template = page_environment().get_template("collectives.html")
    page = _page_of(report, place, schedules, notes)
    return template.render(page=page, **(base_context or {}))


def _page_of(
    report: Report,
    place: CollectivesPlace,
    schedules: Sequence[Schedule],
    notes: tuple[str, ...],
) -> CollectivesPage:
    names = module_labels(report)
    loops = {loop.id: loop.name for loop in report.loops}
    own = [
        (index, item)
        for index, item in enumerate(report.collectives)
        if item.module == place.module.id
    ]
    ordered = sorted(schedules, key=lambda item: item.computation != place.computation)
    drawn = ordered[:_MAX_DRAWN]
    windows = {window.index: window for item in schedules for window in item.windows}
    drawn_indices = {window.index for item in drawn for window in item.windows}
    by_id = {loop.id: loop for loop in report.loops}
    rows = [
        (item, _row(place, index, item, by_id, windows.get(index), index in drawn_indices))
        for index, item in own
    ]
    whys = {index: row.why for (index, _), (_, row) in zip(own, rows, strict=True) if row.why}
    drawings = tuple(
        schedule_view(report, item, number, loops, whys) for number, item in enumerate(drawn)
    )
    return CollectivesPage(
        title=legible(f"Collectives of {names[place.module.id]}"),
        heading="Collectives and overlap",
        lead=legible(f"{names[place.module.id]}: {counted(len(own), 'collective')}."),
        views=view_links(place.report, "collectives"),
        action=f"{place.report}/collectives",
        modules=tuple(
            OptionView(module.id, legible(names[module.id]), module.id == place.module.id)
            for module in modules_with_collectives(report)
        ),
        groupings=tuple(
            OptionView(value, word, value == place.group) for value, word in GROUP_BY.items()
        ),
        missing=_missing(place, schedules),
        facts=collective_facts(
            report, [item for _, item in own], scheduled=is_scheduled(place.module)
        ),
        reasons=overlap_reasons(
            place.module,
            [item for _, item in own],
            [windows.get(index) for index, _ in own],
        ),
        schedule_title="In the schedule"
        if is_scheduled(place.module)
        else "In the order of the text",
        legend=drawn_kinds(drawings),
        schedules=drawings,
        others=tuple(
            (legible(item.computation), place.href(computation=item.computation))
            for item in ordered[_MAX_DRAWN:]
        ),
        notes=(*notes, *filter(None, [inferred_text(tuple(legible(item) for _, item in own))])),
        groups=_groups(by_id, place.group, rows),
        has_times=any(exposed_us(item) is not None for _, item in own),
        keys=_KEYS,
    )


def _missing(place: CollectivesPlace, schedules: Sequence[Schedule]) -> str:
    """That the computation of the address holds no collective, where that is known."""
    names = {item.computation for item in schedules}
    if not names or place.computation in ("", *names):
        return ""
    name = legible(shortened(place.computation, _MAX_GROUPS))
    return f"No collective stands in a computation {name} of the last text; shown are the others."


def _groups(
    loops: Mapping[str, Loop],
    grouping: Grouping,
    rows: Sequence[tuple[Collective, CollectiveRow]],
) -> tuple[CollectiveGroup, ...]:
    key = _key_of(grouping, loops)
    found: dict[str, list[tuple[Collective, CollectiveRow]]] = {}
    for item, row in rows:
        found.setdefault(key(item), []).append((item, row))
    ordered = sorted(found.items(), key=lambda group: -_bytes_of(group[1]))
    return tuple(
        CollectiveGroup(
            title=legible(title),
            summary=_summary([item for item, _ in members]),
            anchor=f"group-{number}",
            rows=rows_of(tuple(row for _, row in members), first=200, most=_MAX_ROWS),
        )
        for number, (title, members) in enumerate(ordered)
    )


def _key_of(grouping: Grouping, loops: Mapping[str, Loop]) -> Callable[[Collective], str]:
    def loop_of(item: Collective) -> str:
        loop = loops.get(item.loop or "")
        return f"Loop {loop.name}" if loop else "Outside loops"

    keys: dict[Grouping, Callable[[Collective], str]] = {
        "": lambda item: "All",
        "line": lambda item: line_text(item) or "No line known",
        "axes": lambda item: axes_text(item) or "No mesh axis known",
        "kind": lambda item: item.opcode,
        "loop": loop_of,
    }
    return keys[grouping]


def _bytes_of(members: Sequence[tuple[Collective, CollectiveRow]]) -> int:
    return sum(row.total_bytes for _, row in members)


def _summary(items: Sequence[Collective]) -> str:
    parts = [
        counted(len(items), "collective"),
        f"{size_text(sum(item.bytes for item in items))} when each runs once",
    ]
    exposed, waited = (exposed_text(items, of_async=each) for each in (True, False))
    parts += [f"{exposed} exposed in windows"] if exposed else []
    parts += [f"{waited} synchronous"] if waited else []
    return ", ".join(parts)


def _row(
    place: CollectivesPlace,
    index: int,
    asked: Collective,
    loops: Mapping[str, Loop],
    window: ScheduledCollective | None,
    is_drawn: bool,
) -> CollectiveRow:
    item = legible(asked)
    loop = loops.get(asked.loop or "")
    kind = overlap_kind(item, scheduled=is_scheduled(place.module))
    exposed = exposed_us(item)
    source = asked.source
    return CollectiveRow(
        anchor=collective_anchor(index),
        bar_href=f"#bar-{index}" if is_drawn else "",
        name=item.instruction,
        kind=kind_text(item),
        sends=sends_text(item),
        total=total_text(item),
        total_bytes=item.bytes if item.total_bytes is None else item.total_bytes,
        overlap=OVERLAP_WORDS[kind],
        overlap_kind=kind,
        why=overlap_story(place.module, asked, window),
        exposed="" if exposed is None else micros_text(exposed),
        exposed_us=-1 if exposed is None else exposed,
        exposed_note=hidden_text(item),
        behind=behind_text(window) if window else "",
        in_flight=cut_list(item.window.in_flight, _MAX_IN_FLIGHT) if item.window else "",
        axes=axes_text(item),
        loop=legible(loop.name) if loop else "",
        loop_href=f"{place.report}/loops?{urlencode({'loop': loop.id}, errors='replace')}"
        if loop
        else "",
        line=line_text(item),
        line_href=_line_href(place.report, source.file, source.line) if source else "",
        graph_href=_graph_href(place, asked),
        history_href=history_href(
            place.report, asked.module, asked.dump, asked.computation, asked.instruction
        ),
        groups=shortened(item.replica_groups or "", _MAX_GROUPS),
    )


def _line_href(report: str, file: str, line: int) -> str:
    return f"{report}/source?{urlencode({'file': file, 'line': line}, errors='replace')}"


def _graph_href(place: CollectivesPlace, item: Collective) -> str:
    query = {
        "module": item.module,
        "text": item.dump,
        "computation": item.computation,
        "instruction": item.instruction,
    }
    return f"{place.report}/graph?{urlencode(query, errors='replace')}"
