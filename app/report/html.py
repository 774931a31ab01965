"""A report as a web page, or as one file that needs no server.

`report_page` prepares a `Page` (every text ready, nothing left to compute) and renders it with
autoescaping templates. A served page takes its styles and scripts from the server and loads texts
and diffs of passes from it; the offline page carries everything inside and asks for nothing.
"""

import base64
import functools
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlencode

import jinja2
from markupsafe import Markup

from app.model.report import Module, Report
from app.model.source_lines import NO_SOURCE_LINES, SourceLines
from app.report.briefs import memory_briefs, modules_left_out, program_briefs
from app.report.charts import pass_figure
from app.report.event_diffs import EventDiff, event_diff_views
from app.report.experiments import replay_view
from app.report.findings import finding_views
from app.report.inventory import (
    coverage_view,
    environment_view,
    folded_modules,
    module_views,
    modules_told,
)
from app.report.keys import KeyView
from app.report.lanes import lanes_view
from app.report.loops import collective_sums, collective_views, loop_anchors, loop_views
from app.report.markdown import markdown_of
from app.report.marked import marked, whole
from app.report.page import CompareView, LanesView, Page, PartView, TimelineView
from app.report.passes import changed_texts, events_by_dump, timeline_view
from app.report.rooted import RootedLinks
from app.report.thread import thread_of
from app.report.verdict import (
    FIRST_STEP,
    TRY,
    Verdict,
    main_module,
    module_labels,
    quiet_labels,
    verdict_of,
)
from app.report.views import view_links
from app.report.wording import CONFIDENCE_WORDS, counted, legible, numbered_pass
from app.settings import static_dir, template_dir

_KEYS = (
    KeyView("n p", "next or previous finding, folded ones too"),
    KeyView("Tab Enter", "from link to link, and open one"),
    KeyView("?", "this help"),
)
_MAX_TIMELINES = 6
_MAX_READABLE = 200
_MAX_RULED_OUT = 2
_TONE_WORDS = {"error": "Error", "warning": "Warning", "note": "Note", "clear": "No finding"}

# The offline page inlines these in this order; `report.js` imports nothing.
_OFFLINE_STYLES = (
    "css/base.css",
    "css/report.css",
    "css/first_screen.css",
    "css/report_passes.css",
    "css/memory_curve.css",
)
_OFFLINE_SCRIPT = "js/report.js"


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Addresses on the server; `report` is the address that the module routes hang below."""

    report: str = ""
    json: str = ""
    markdown: str = ""
    offline: str = ""


NO_LINKS = PageLinks()


def report_page(
    report: Report,
    *,
    offline: bool = False,
    links: PageLinks = NO_LINKS,
    source_lines: SourceLines = NO_SOURCE_LINES,
    diffs: Sequence[EventDiff] = (),
    base_context: Mapping[str, object] | None = None,
) -> str:
    """The page of one report, as HTML.

    Args:
        report: what is shown; its texts may be hostile.
        offline: one file with everything inside, without figures or passes to compare.
        links: addresses for the served page.
        source_lines: lines of the user's program; only ever for the user's own eyes.
        diffs: what passes changed around events, for a file that holds no texts of passes.
        base_context: what the site's base template wants beside the page.
    """
    page = page_of(report, offline=offline, links=links, source_lines=source_lines, diffs=diffs)
    environment = page_environment()
    if offline:
        return environment.get_template("report_offline.html").render(page=page, **_inlined_files())
    return environment.get_template("report.html").render(page=page, **(base_context or {}))


def page_of(
    report: Report,
    *,
    offline: bool,
    links: PageLinks = NO_LINKS,
    source_lines: SourceLines = NO_SOURCE_LINES,
    diffs: Sequence[EventDiff] = (),
) -> Page:
    """Everything the templates show of a report."""
    shown = legible(report)
    comparable = bool(links.report) and not offline
    verdict = verdict_of(shown)
    passes = [_passes_href(links, module) if comparable else "" for module in report.modules]
    quiet, done = quiet_labels(shown), {FIRST_STEP, TRY}
    timelines, figures, note = _timelines(shown, passes, comparable=comparable, figures=not offline)
    return Page(
        title=verdict.headline,
        card_title=_card_title(shown),
        card_text=_card_text(shown),
        input_name=shown.input.name,
        made_by=f"{shown.tool.name} {shown.tool.version}",
        parts=_parts(shown),
        views=view_links("" if offline else links.report, "report"),
        verdict=verdict,
        facts=tuple(fact for fact in verdict.facts if fact[0] not in quiet | done),
        first_step=dict(verdict.facts).get(FIRST_STEP, ""),
        ruled_out=_first_ruled_out(verdict.ruled_out),
        small_print=(
            *_program_fact(shown, verdict),
            *(fact for fact in verdict.facts if fact[0] in quiet),
        ),
        verdict_word=_TONE_WORDS[verdict.tone],
        confidence_word=CONFIDENCE_WORDS[verdict.confidence] if verdict.confidence else "",
        findings=finding_views(
            shown,
            source_lines,
            outside_links=not offline,
            text_links=_text_links(shown) if comparable else {},
            server="" if offline else links.report,
        ),
        timelines=timelines,
        timelines_note=note,
        lanes=_lanes(shown),
        loops=loop_views(shown, comparable=comparable, server=links.report),
        collectives=collective_views(shown),
        collectives_href="" if offline else f"{links.report}/collectives",
        collective_sums=collective_sums(shown),
        memory=memory_briefs(report, "" if offline else links.report),
        programs=program_briefs(report, "" if offline else links.report),
        memory_note=modules_left_out(report)[0],
        programs_note=modules_left_out(report)[1],
        compare=_compare_view(shown, links, comparable=comparable),
        event_diffs=event_diff_views(report, diffs),
        replay=replay_view(shown.replay) if shown.replay else None,
        modules=module_views(shown),
        modules_told=modules_told(shown),
        folded_modules=folded_modules(shown),
        coverage=coverage_view(shown.coverage),
        environment=environment_view(shown.environment),
        json_href=links.json,
        markdown_href=links.markdown,
        offline_href=links.offline,
        keys=() if offline else _KEYS,
        data={
            "markdown": markdown_of(shown),
            "thread": thread_of(shown),
            "figures": figures,
            "passes": _pass_data(report, links) if comparable else None,
        },
    )


def _program_fact(report: Report, verdict: Verdict) -> tuple[tuple[str, str], ...]:
    """Which module and how many texts of it, where the verdict does not say so already."""
    module = main_module(report)
    if module is None or "Program" in dict(verdict.facts):
        return ()
    return (("Program", f"{module.name}, {counted(len(module.dumps), 'text')}"),)


def _first_ruled_out(hypotheses: Sequence[str]) -> tuple[str, ...]:
    more = len(hypotheses) - _MAX_RULED_OUT
    rest = (f"and {more:,} more below",) if more > 0 else ()
    return (*hypotheses[:_MAX_RULED_OUT], *rest)


def _parts(report: Report) -> tuple[PartView, ...]:
    counts = (
        ("verdict", "Verdict", 0),
        ("findings", "Findings", len(report.findings)),
        *((("replay", "Replay", len(report.replay.experiments)),) if report.replay else ()),
        ("passes", "Passes", sum(len(module.dumps) for _, module in _modules_with_passes(report))),
        ("loops", "Loops", len(report.loops)),
        ("collectives", "Collectives", len(report.collectives)),
        ("memory", "Memory", 0),
        ("lines", "Lines", sum(len(f.lines) for p in report.programs for f in p.files)),
        ("compare", "Compare", 0),
        ("modules", "Modules", len(report.modules)),
        ("files", "What was read", 0),
        ("environment", "Environment", 0),
    )
    return tuple(
        PartView(anchor=anchor, word=word, count=f"{number:,}" if number else "")
        for anchor, word, number in counts
    )


def _card_title(report: Report) -> str:
    by_severity = Counter(
        finding.severity for finding in report.findings if finding.confidence != "ruled_out"
    )
    words = [
        counted(by_severity[severity], severity)
        for severity in ("error", "warning", "note")
        if by_severity[severity]
    ]
    return f"XLA dump: {', '.join(words) or 'no findings'}"


def _card_text(report: Report) -> str:
    rules = sorted({finding.rule for finding in report.findings})
    size = f"{counted(len(report.modules), 'module')}, {counted(len(report.loops), 'loop')}"
    return f"{size}; {', '.join(rules[:8])}" if rules else size


def _passes_href(links: PageLinks, module: Module) -> str:
    return f"{links.report}/passes?{urlencode({'module': module.id}, errors='replace')}"


def _timelines(
    report: Report, hrefs: Sequence[str], *, comparable: bool, figures: bool
) -> tuple[tuple[TimelineView, ...], list[dict[str, object]], str]:
    drawn: list[dict[str, object]] = []
    views: list[TimelineView] = []
    modules = _modules_with_passes(report)
    labels = module_labels(report)
    for position, module in modules[:_MAX_TIMELINES]:
        events = events_by_dump(module.id, report.loops)
        views.append(
            timeline_view(
                position,
                len(views),
                module,
                labels[module.id],
                events,
                comparable=comparable,
                href=hrefs[position],
            )
        )
        if figures:
            drawn.append(pass_figure(module, events))
    left_out = len(modules) - len(views)
    note = f"{counted(left_out, 'module')} more with passes, not drawn here." if left_out else ""
    return tuple(views), drawn, note


def _modules_with_passes(report: Report) -> list[tuple[int, Module]]:
    main = main_module(report)
    found = [
        (position, module)
        for position, module in enumerate(report.modules)
        if len(module.dumps) > 1 and (module.role == "user" or module is main)
    ]
    return sorted(found, key=lambda item: item[1] is not main)


def _lanes(report: Report) -> tuple[LanesView, ...]:
    anchors = {loop: f"#{anchor}" for loop, anchor in loop_anchors(report).items()}
    labels = module_labels(report)
    with_loops = {loop.module for loop in report.loops}
    return tuple(
        lanes_view(module, labels[module.id], report.loops, anchors)
        for _, module in _modules_with_passes(report)[:_MAX_TIMELINES]
        if module.id in with_loops
    )


def _compare_view(report: Report, links: PageLinks, *, comparable: bool) -> CompareView:
    if not any(len(module.dumps) > 1 for module in report.modules):
        return CompareView(False, "No module has two texts to compare.")
    if not comparable:
        why = "This file does not hold the texts of the passes; hloscope diff compares two of them."
        return CompareView(False, why)
    return CompareView(True, "", f"{links.report}/diff")


def _pass_data(report: Report, links: PageLinks) -> dict[str, object]:
    labels = module_labels(report)
    return {
        "base": links.report,
        "modules": [
            {
                "position": position,
                # The id as it stands in the report: it becomes part of an address, not of the page.
                "id": module.id,
                "name": legible(labels[module.id]),
                "texts": [legible(numbered_pass(dump)) for dump in module.dumps],
                "changed": changed_texts(module),
            }
            for position, module in readable_modules(report)
        ],
    }


def _text_links(report: Report) -> dict[str, str]:
    return {
        dump.file: f"#text/{position}/{index}"
        for position, module in readable_modules(report)
        for index, dump in enumerate(module.dumps)
    }


def readable_modules(report: Report) -> list[tuple[int, Module]]:
    """The modules whose texts a page can show with their positions, the most telling first."""
    main = main_module(report)
    modules = [item for item in enumerate(report.modules) if item[1].dumps]
    modules.sort(key=lambda item: (item[1] is not main, item[1].role != "user"))
    return modules[:_MAX_READABLE]


@functools.cache
def page_environment() -> jinja2.Environment:
    """The environment of all report templates: autoescaping, and no silent misspelling."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(template_dir()),
        autoescape=True,
        extensions=[RootedLinks],
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Jinja does not say what its filters are.
    cast("Any", environment).filters.update(marked=marked, whole=whole)
    return environment


@functools.cache
def _inlined_files() -> dict[str, object]:
    # These are the project's own files, so they go in as they stand; `</` would end the element.
    style = "".join((static_dir() / name).read_text(encoding="utf-8") for name in _OFFLINE_STYLES)
    script = (static_dir() / _OFFLINE_SCRIPT).read_text(encoding="utf-8")
    for text in (style, script):
        if "</" in text:
            raise ValueError("a style or script to be inlined holds `</`")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return {"style": Markup(style), "script": Markup(script), "policy": policy}


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
