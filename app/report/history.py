"""The page of one instruction's past: which pass made it, and what passes did to it since.

Takes what `app.views.instruction_history` found and gives HTML that needs no script; every stage
leads to both texts side by side, at the instruction. Reads no bundle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from app.analysis.passes import ChangedBy
from app.model.report import Module, Report
from app.report.html import page_environment
from app.report.keys import KeyView
from app.report.passes import passes_behind
from app.report.verdict import module_labels
from app.report.views import ViewLink, view_links
from app.report.wording import legible, numbered_pass, pass_number
from app.views.instruction_history import Ending, InstructionHistory, Stage, StageKind

_WORDS: dict[StageKind, str] = {
    "made": "made",
    "first_seen": "no surely equal one",
    "copied": "copied from",
    "replaced": "in the place of",
    "moved": "moved, from",
    "changed": "changed",
    "renamed": "renamed, from",
}
_KEYS = (
    KeyView("n p", "next or previous pass that did something to it"),
    KeyView("Enter", "both texts side by side, at the instruction"),
    KeyView("?", "this help"),
)
_MAX_ALIKE = 3
_ENDINGS: dict[Ending, str] = {
    "made": "",
    "first_text": "It stands in the first text already: the program was traced with it.",
    "given_up": "Texts before these are too large to be followed further here.",
}


@dataclass(frozen=True, slots=True)
class HistoryPlace:
    """Whose past is shown, as the address says it."""

    report: str
    module: Module
    text: int
    computation: str
    instruction: str


@dataclass(frozen=True, slots=True)
class StageView:
    """What one pass did.

    `href` leads to both texts side by side, `how` says what a copy is known by.
    """

    name: str
    href: str
    word: str
    how: str
    before: str
    what: str
    after: str
    opcode: str
    computation: str
    is_made: bool


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Everything the template shows."""

    title: str
    heading: str
    lead: str
    views: tuple[ViewLink, ...]
    graph_href: str
    stages: tuple[StageView, ...]
    ending: str
    keys: tuple[KeyView, ...]


def history_href(report: str, module: str, text: int, computation: str, instruction: str) -> str:
    """The address of the page of an instruction."""
    query = {
        "module": module,
        "text": text,
        "computation": computation,
        "instruction": instruction,
    }
    return f"{report}/history?{urlencode(query, errors='replace')}"


def history_page(
    report: Report,
    place: HistoryPlace,
    history: InstructionHistory,
    *,
    base_context: Mapping[str, object] | None = None,
) -> str:
    """The page as HTML."""
    template = page_environment().get_template("history.html")
    page = _page_of(report, place, history)
    return template.render(page=page, **(base_context or {}))


def _page_of(report: Report, place: HistoryPlace, history: InstructionHistory) -> HistoryPage:
    behind = passes_behind(place.module)
    stages = tuple(_stage_view(place, stage, behind) for stage in reversed(history.stages))
    query = {
        "module": place.module.id,
        "text": place.text,
        "computation": place.computation,
        "instruction": place.instruction,
    }
    return HistoryPage(
        title=legible(f"Where {place.instruction} comes from"),
        heading=legible(place.instruction),
        lead=legible(_lead(report, place, history, behind)),
        views=view_links(place.report, "graph"),
        graph_href=f"{place.report}/graph?{urlencode(query, errors='replace')}",
        stages=stages,
        ending=_ENDINGS[history.ending],
        keys=_KEYS,
    )


def _lead(
    report: Report,
    place: HistoryPlace,
    history: InstructionHistory,
    behind: Sequence[ChangedBy],
) -> str:
    what = f"{history.opcode} in {place.computation}, {module_labels(report)[place.module.id]}"
    label = numbered_pass(place.module.dumps[place.text])
    # Some texts are called `after optimizations` or `before optimizations` already.
    when = label if label.startswith(("after ", "before ")) else f"after {label}"
    return f"{what}, {when}.{_origin(place, history, behind)}"


def _origin(place: HistoryPlace, history: InstructionHistory, behind: Sequence[ChangedBy]) -> str:
    """Who made it, as far as that is known: a text that was not dumped may hide another pass."""
    first = history.stages[-1] if history.stages else None
    if first is None or first.kind not in ("made", "first_seen"):
        return ""
    by, text = behind[first.dump], numbered_pass(place.module.dumps[first.dump])
    if first.kind == "first_seen":
        return (
            f" First seen under this name after {text}; one like it is gone there, and whether"
            " it is the same is not known."
        )
    if by.name is None or not by.alone:
        why = "texts before it are missing" if by.name else "which pass made it is not known"
        return f" First seen in the text {text}; {why}."
    copied = "".join(
        f", {stage.kind} by {_work_name(place.module, stage.dump, behind)}"
        for stage in reversed(history.stages)
        if stage.kind in ("copied", "replaced")
    )
    turned = "".join(
        f", {stage.turned} since {_work_name(place.module, stage.dump, behind)}"
        for stage in reversed(history.stages)
        if stage.turned
    )
    made = f"Made by {_work_name(place.module, first.dump, behind)}"
    return f" {made}{_alike(first)}{copied}{turned}."


def _alike(made: Stage) -> str:
    if not made.alike:
        return ""
    *others, last = made.alike[:_MAX_ALIKE]
    more = f" or {len(made.alike) - _MAX_ALIKE:,} more" if len(made.alike) > _MAX_ALIKE else ""
    names = f"{', '.join(others)}{' or ' if not more else ', '}{last}{more}"
    return f", maybe as a copy of {names}"


def _work_name(module: Module, dump: int, behind: Sequence[ChangedBy]) -> str:
    """The pass whose work a text shows: at the start of a pipeline that of the pass around it."""
    stated, by = module.dumps[dump], behind[dump]
    if by.name == stated.after:
        return numbered_pass(stated)
    where = f"seen at the start of {stated.pipeline or 'a pipeline'}"
    name = f"{by.name}, {where}" if by.name else where
    return f"{pass_number(stated)} {name}".strip()


def _stage_view(place: HistoryPlace, stage: Stage, behind: Sequence[ChangedBy]) -> StageView:
    query = {
        "module": place.module.id,
        "a": stage.dump - 1,
        "b": stage.dump,
        "side": "b",
        "computation": stage.computation,
        "instruction": stage.after,
    }
    is_same = stage.before in ("", stage.after)
    return StageView(
        name=legible(_work_name(place.module, stage.dump, behind)),
        href=f"{place.report}/diff?{urlencode(query, errors='replace')}",
        word=(f"made {stage.turned}, " if stage.turned else "") + _WORDS[stage.kind],
        how=f"({stage.how})" if stage.kind in ("copied", "replaced") and stage.how else "",
        before="" if is_same else legible(stage.before),
        what=legible(", ".join(stage.what)),
        after=legible(stage.after),
        opcode=legible(stage.opcode),
        computation=legible(stage.computation),
        is_made=stage.kind == "made",
    )
