"""Loops and collectives as a page shows them.

Takes a report whose texts are legible and gives the rows of the two sections; every event keeps the
pass and the evidence that the report gives for it.
"""

import re
from collections import Counter, defaultdict
from urllib.parse import urlencode

from app.model.report import Collective, Loop, LoopEvent, Module, Report
from app.report.collectives_drawing import is_scheduled
from app.report.lanes import nested_order
from app.report.page import CollectiveSum, CollectiveView, LoopEventView, LoopView
from app.report.program_facts import (
    axes_text,
    heaviest,
    line_text,
    runs_text,
    sent_text,
    sum_text,
    total_text,
)
from app.report.rows import Rows, rows_of
from app.report.verdict import module_labels
from app.report.wording import (
    EVENT_GROUPS,
    EVENT_WORDS,
    counted,
    counts_text,
    numbered_pass,
    operations_text,
    pass_label,
    pass_number,
    place_text,
)

MAX_LOOPS = 200
FIRST_LOOPS = 40
FIRST_COLLECTIVES = 6
MAX_EVENTS = 100

# The detail of such an event: `12 -> 11`.
_TRIPS = re.compile(r"(\d+|unknown) -> (\d+|unknown)")

_TRIPS_HOW = {
    "backend_config": "stated by XLA",
    "condition": "from condition, start value and step",
}


def loop_views(report: Report, *, comparable: bool, server: str = "") -> Rows[LoopView]:
    """All loops, inner ones after the loop around them; `server` is the report's address."""
    modules = {module.id: (number, module) for number, module in enumerate(report.modules)}
    names = {loop.id: loop.name for loop in report.loops}
    several = len({loop.module for loop in report.loops}) > 1
    labels = module_labels(report) if several else {}
    ordered = nested_order(report.loops)
    views = tuple(
        _loop_view(
            position, loop, depth, modules.get(loop.module), names, labels, comparable, server
        )
        for position, (loop, depth) in enumerate(ordered[:MAX_LOOPS])
    )
    return rows_of(views, total=len(ordered), first=FIRST_LOOPS, most=MAX_LOOPS)


def loop_anchors(report: Report) -> dict[str, str]:
    """The anchor of each loop that the page shows, by its id."""
    ordered = nested_order(report.loops)[:MAX_LOOPS]
    return {loop.id: f"loop-{position}" for position, (loop, _) in enumerate(ordered)}


def _loop_view(
    position: int,
    loop: Loop,
    depth: int,
    where: tuple[int, Module] | None,
    names: dict[str, str],
    labels: dict[str, str],
    comparable: bool,
    server: str,
) -> LoopView:
    module = where[1] if where else None
    return LoopView(
        anchor=f"loop-{position}",
        name=loop.name,
        module=labels.get(loop.module, ""),
        href=f"{server}/loops?{urlencode({'loop': loop.id}, errors='replace')}"
        if comparable
        else "",
        depth=min(depth, 4),
        place=place_text(loop.source) if loop.source else "no line known",
        trips="unknown" if loop.trip_count is None else f"{loop.trip_count:,}",
        facts=loop_facts(
            loop, module, labels.get(loop.module, ""), names.get(loop.parent or "", "")
        ),
        op_name=loop.op_name or "",
        story=loop_story(loop),
        events=rows_of(
            tuple(_event_view(event, where, comparable) for event in loop.events),
            first=MAX_EVENTS,
            most=MAX_EVENTS,
        ),
        graph_href=f"{server}/graph?{urlencode({'loop': loop.id}, errors='replace')}"
        if comparable
        else "",
    )


def loop_facts(
    loop: Loop, module: Module | None, label: str, parent: str
) -> tuple[tuple[str, str], ...]:
    """What is known of a loop, in pairs of label and text; `parent` is the loop around it."""
    how = _TRIPS_HOW.get(loop.trip_count_how or "", loop.trip_count_how or "")
    facts = (
        ("Written as", loop.construct or ""),
        ("Line from", _source_origin(loop, module)),
        ("Module", label),
        ("Inside", parent),
        ("Trips known from", how),
        ("Collectives in its body", counts_text(loop.collectives)),
        ("Seen", _life(loop, module)),
        ("Names over the passes", " \u2192 ".join(dict.fromkeys(loop.names))),
        ("File", loop.source.file if loop.source else ""),
    )
    return tuple((label, value) for label, value in facts if value)


def loop_story(loop: Loop) -> str:
    """The structural events of a loop in a few words; where there are none, the minor ones."""
    trips = trip_history(loop)
    words = ["made by a pass"] if loop.first_dump > 0 else []
    for event in loop.events:
        if EVENT_GROUPS[event.kind] == "minor" or event.kind == "created":
            continue
        if event.kind == "trip_count_changed" and trips:
            continue
        words.append(EVENT_WORDS[event.kind])
    words += [f"trips {trips}"] if trips else []
    return ", ".join(dict.fromkeys(words)) or _minor_story(loop)


def is_rewritten(loop: Loop) -> bool:
    """Whether a pass changed the structure of a loop, made it or removed it."""
    return any(event.dump and EVENT_GROUPS[event.kind] != "minor" for event in loop.events)


def trip_history(loop: Loop) -> str:
    """`12 → 11 → 5`, or "" where no pass changed the number of trips or none says how."""
    steps: list[str] = []
    for event in loop.events:
        changed = _TRIPS.search(event.detail) if event.kind == "trip_count_changed" else None
        if changed is not None:
            # One step that the histories leave out would make a false chain.
            joined = steps and steps[-1] == changed[1]
            steps += [changed[2]] if joined else [changed[1], changed[2]]
    return " \u2192 ".join(steps)


def _minor_story(loop: Loop) -> str:
    minor = Counter(EVENT_WORDS[event.kind] for event in loop.events if event.kind != "created")
    if not minor:
        return "unchanged"
    return "only " + ", ".join(minor)


def _source_origin(loop: Loop, module: Module | None) -> str:
    if loop.source is None:
        return ""
    if loop.source_from is None or module is None or loop.source_from >= len(module.dumps):
        return ""
    if loop.source_from == loop.last_dump:
        return "stated in the last text"
    return f"stated in {numbered_pass(module.dumps[loop.source_from])}"


def _life(loop: Loop, module: Module | None) -> str:
    if module is None or loop.last_dump >= len(module.dumps):
        return ""
    first, last = module.dumps[loop.first_dump], module.dumps[loop.last_dump]
    begin = "from the first text" if loop.first_dump == 0 else f"from {numbered_pass(first)}"
    end = (
        "to the last"
        if loop.last_dump == len(module.dumps) - 1
        else f"last seen in {numbered_pass(last)}"
    )
    return f"{begin} {end}"


def _event_view(
    event: LoopEvent, where: tuple[int, Module] | None, comparable: bool
) -> LoopEventView:
    number = name = href = ""
    if where is not None and event.dump < len(where[1].dumps):
        dump = where[1].dumps[event.dump]
        number, name = pass_number(dump), pass_label(dump)
        if comparable and event.dump:
            href = f"#compare/{where[0]}/{event.dump - 1}/{event.dump}"
    return LoopEventView(
        number=number,
        pass_name=event.pass_ or name,
        word=EVENT_WORDS[event.kind],
        group=EVENT_GROUPS[event.kind],
        detail=event.detail,
        href=href,
    )


def collective_views(report: Report) -> Rows[CollectiveView]:
    """All collectives, those that send most in a whole run first."""
    modules = module_labels(report)
    loops = {loop.id: loop for loop in report.loops}
    ordered = heaviest(report.collectives)
    several = len({item.module for item in ordered}) > 1
    scheduled = {module.id for module in report.modules if is_scheduled(module)}
    return rows_of(
        tuple(
            _collective_view(item, modules, loops, several, scheduled=item.module in scheduled)
            for item in ordered
        ),
        first=FIRST_COLLECTIVES,
    )


def _collective_view(
    collective: Collective,
    modules: dict[str, str],
    loops: dict[str, Loop],
    several: bool,
    *,
    scheduled: bool,
) -> CollectiveView:
    loop = loops.get(collective.loop or "")
    overlap, kind = _overlap(collective, scheduled=scheduled)
    return CollectiveView(
        name=collective.instruction,
        name_note=_name_note(collective, modules, several),
        size=sent_text(collective),
        groups=collective.replica_groups or "",
        loop=loop.name if loop else "",
        place=line_text(collective),
        overlap=overlap,
        overlap_kind=kind,
        axes=axes_text(collective),
        runs=runs_text(collective),
        total=total_text(collective),
    )


def _name_note(collective: Collective, modules: dict[str, str], several: bool) -> str:
    parts = [] if collective.opcode in collective.instruction else [collective.opcode]
    if several:
        parts.append(f"in {modules.get(collective.module, collective.module)}")
    return " ".join(parts)


def _overlap(collective: Collective, *, scheduled: bool) -> tuple[str, str]:
    if not scheduled:
        return "no schedule known", "unknown"
    if not collective.is_async:
        return "nothing: synchronous", "none"
    window = collective.window
    if window is None:
        return "no schedule known", "unknown"
    if not window.instructions:
        return "nothing: not hidden", "exposed"
    work = f", {operations_text(window.flops)}" if window.flops is not None else ""
    return f"{counted(window.instructions, 'instruction')}{work}", "hidden"


def collective_sums(report: Report) -> tuple[CollectiveSum, ...]:
    """Numbers and bytes by opcode, what sends most in a run first."""
    found: dict[str, list[Collective]] = defaultdict(list)
    for collective in report.collectives:
        found[collective.opcode].append(collective)
    totals = {opcode: sum(each.total_bytes or 0 for each in own) for opcode, own in found.items()}
    return tuple(
        CollectiveSum(number=f"{len(own):,} {opcode}", size=_sum_words(own))
        for opcode, own in sorted(found.items(), key=lambda item: (-totals[item[0]], item[0]))
    )


def _sum_words(own: list[Collective]) -> str:
    sent = sum_text(own) if any(each.bytes for each in own) else ""
    return f"send {sent} in a run" if sent else ""
