"""What the templates of a report page are given: every text, number and mark ready to be shown.

Types only. A template picks no words, sorts nothing and computes nothing: it places these fields.
Attributes named `href` are addresses inside the page (`#compare/0/5/6`) unless said otherwise, and
"" where there is nothing to go to.
"""

from dataclasses import dataclass

from app.report.brief_views import MemoryBrief, ProgramBrief
from app.report.drawing import CurveView, LanesView, LegendView
from app.report.event_diffs import EventDiffView
from app.report.experiments import ReplayView
from app.report.keys import KeyView
from app.report.rows import Rows
from app.report.verdict import Verdict
from app.report.views import ViewLink
from app.report.wording import EventGroup


@dataclass(frozen=True, slots=True)
class SourceLineView:
    """A line of the user's program; `here` marks the one that is meant."""

    number: int
    text: str
    here: bool


@dataclass(frozen=True, slots=True)
class CulpritView:
    """One thing a finding names: where it stands in the module and in the program."""

    role: str
    name: str
    where: str
    place: str
    path: str
    origin: str
    stated: bool
    op_name: str
    frames: tuple[str, ...]
    snippet: tuple[SourceLineView, ...]
    snippet_file: str
    line_href: str = ""
    graph_href: str = ""
    history_href: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceLine:
    """What one place of a file says; `number` is "" where the file as a whole says it."""

    number: str
    text: str
    href: str


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """What one file says; `folder` is the part of its path before `name`."""

    folder: str
    name: str
    lines: tuple[EvidenceLine, ...]


@dataclass(frozen=True, slots=True)
class WorkaroundView:
    """Something to try; `tried` says whether it was, or ""."""

    text: str
    flags: tuple[str, ...]
    releases: str
    tried: str


@dataclass(frozen=True, slots=True)
class RuledOutView:
    """A hypothesis and what speaks against it."""

    hypothesis: str
    why: str
    evidence: tuple[EvidenceView, ...]


@dataclass(frozen=True, slots=True)
class UpstreamView:
    """A public thread; `url` is an outside address, "" where none is known or allowed."""

    ref: str
    url: str
    detail: str


@dataclass(frozen=True, slots=True)
class FindingView:
    """One finding, its parts in reading order; what is `more` is folded."""

    anchor: str
    rule: str
    class_name: str
    severity: str
    severity_word: str
    confidence: str
    confidence_word: str
    title: str
    paragraphs: tuple[str, ...]
    culprits: Rows[CulpritView]
    evidence: tuple[EvidenceView, ...]
    more_evidence: tuple[EvidenceView, ...]
    more_evidence_label: str
    evidence_note: str
    ruled_out: tuple[RuledOutView, ...]
    unknown: tuple[str, ...]
    workarounds: tuple[WorkaroundView, ...]
    flags: tuple[str, ...]
    upstream: tuple[UpstreamView, ...]
    leading: bool


@dataclass(frozen=True, slots=True)
class EventView:
    """What a pass did to loops; `group` picks the mark, `word` says it, `loops` are their names."""

    word: str
    group: EventGroup
    detail: str
    loops: str


@dataclass(frozen=True, slots=True)
class PassRow:
    """One text of a module; `change` is the difference in instructions to the text before.

    `events_note` says how many events are not among `events`.
    """

    number: str
    name: str
    pipeline: str
    instructions: str
    change: str
    computations: str
    changed: str
    collectives: str
    events: tuple[EventView, ...]
    events_note: str
    href: str
    text_href: str


@dataclass(frozen=True, slots=True)
class TimelineView:
    """One module over its passes; `figure` is the position of its figure in the page's data.

    `href` is the page of all its curves.
    """

    anchor: str
    module: str
    summary: str
    figure: int
    curve: CurveView
    legend: tuple[LegendView, ...]
    notable: Rows[PassRow]
    notable_label: str
    every: Rows[PassRow]
    every_label: str
    href: str


@dataclass(frozen=True, slots=True)
class LoopEventView:
    """One event of a loop's history."""

    number: str
    pass_name: str
    word: str
    group: EventGroup
    detail: str
    href: str


@dataclass(frozen=True, slots=True)
class LoopView:
    """One loop and what the passes did to it.

    `module` is "" where all loops are of one; `href` is its own page, "" where there is no server.
    """

    anchor: str
    name: str
    module: str
    href: str
    depth: int
    place: str
    trips: str
    facts: tuple[tuple[str, str], ...]
    op_name: str
    story: str
    events: Rows[LoopEventView]
    graph_href: str


@dataclass(frozen=True, slots=True)
class CollectiveView:
    """One collective of a module's last text; `overlap` says what runs while it is under way.

    `axes` are those of the mesh; `runs` and `total` tell how often it runs in one run of the
    module, and what a device sends in all.
    """

    name: str
    name_note: str
    size: str
    groups: str
    loop: str
    place: str
    overlap: str
    overlap_kind: str
    axes: str
    runs: str
    total: str


@dataclass(frozen=True, slots=True)
class CollectiveSum:
    """All collectives of one opcode: their number, and what they send in words, or ""."""

    number: str
    size: str


@dataclass(frozen=True, slots=True)
class ModuleView:
    """One compiled module and the texts it left."""

    name: str
    id: str
    state: str
    texts: str
    size: str


@dataclass(frozen=True, slots=True)
class FoldedModules:
    """Modules that a reader rarely wants, a line each, below one heading."""

    anchor: str
    label: str
    modules: Rows[ModuleView]


@dataclass(frozen=True, slots=True)
class SkippedView:
    """A member that was left out, and why."""

    name: str
    code: str
    reason: str
    size: str


@dataclass(frozen=True, slots=True)
class UnparsedView:
    """Text that was not understood."""

    place: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class CoverageView:
    """How much was read and understood, `told` in a line; `complete` is "" if not all of it."""

    told: str
    facts: tuple[tuple[str, str], ...]
    complete: str
    remarks: tuple[str, ...]
    skipped: Rows[SkippedView]
    unparsed: Rows[UnparsedView]


@dataclass(frozen=True, slots=True)
class EnvironmentView:
    """Where the program was compiled, `told` in a line; `flags` are pairs of name and value."""

    told: str
    facts: tuple[tuple[str, str], ...]
    flags: Rows[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class CompareView:
    """Whether the page can show texts of passes and compare two, and if not, why.

    `panes_href` is the page of two texts side by side, to be asked for a module and two texts.
    """

    available: bool
    why_not: str
    panes_href: str = ""


@dataclass(frozen=True, slots=True)
class PartView:
    """A part of the page in its table of contents; `count` is "" where nothing is counted."""

    anchor: str
    word: str
    count: str


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report page.

    `data` is what scripts read; `json_href` and `markdown_href` are addresses on the server, ""
    in a page that stands alone. `card_title` and `card_text` are for link previews: counts and
    names of rules, never a word of the dump.
    """

    title: str
    card_title: str
    card_text: str
    input_name: str
    made_by: str
    parts: tuple[PartView, ...]
    views: tuple[ViewLink, ...]
    verdict: Verdict
    facts: tuple[tuple[str, str], ...]
    first_step: str
    ruled_out: tuple[str, ...]
    small_print: tuple[tuple[str, str], ...]
    verdict_word: str
    confidence_word: str
    findings: Rows[FindingView]
    timelines: tuple[TimelineView, ...]
    timelines_note: str
    lanes: tuple[LanesView, ...]
    loops: Rows[LoopView]
    collectives: Rows[CollectiveView]
    collectives_href: str
    collective_sums: tuple[CollectiveSum, ...]
    memory: tuple[MemoryBrief, ...]
    programs: tuple[ProgramBrief, ...]
    memory_note: str
    programs_note: str
    compare: CompareView
    event_diffs: tuple[EventDiffView, ...]
    replay: ReplayView | None
    modules: Rows[ModuleView]
    modules_told: str
    folded_modules: tuple[FoldedModules, ...]
    coverage: CoverageView
    environment: EnvironmentView
    json_href: str
    markdown_href: str
    offline_href: str
    keys: tuple[KeyView, ...]
    data: dict[str, object]
