"""The page of a graph: one computation, or the surroundings of one instruction, in one text.

Takes what `app.views.graph_view` laid out and gives HTML that needs no script: boxes are links,
lines are paths, and the same instructions stand in a table below. Reads no bundle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.model.report import Module, Report
from app.report.history import history_href
from app.report.html import page_environment
from app.report.keys import KeyView
from app.report.verdict import module_labels
from app.report.views import ViewLink, address_of, view_links
from app.report.wording import counted, legible, numbered_pass
from app.views.graph_view import GraphEdge, GraphNode, GraphView, NodeKind, NodeState
from app.views.layered import BOX_HEIGHT
from app.views.neighbourhood import Node
from app.views.search import Hit, SearchResult

MAX_OPENED = 50
_MAX_HITS = 60
_MAX_COMPUTATIONS = 400

KIND_WORDS: dict[NodeKind, str] = {
    "collective": "collective",
    "loop": "loop",
    "call": "call, branch, async",
    "fusion": "fusion",
    "heavy": "dot, convolution, library call, sort",
    "parameter": "parameter",
    "constant": "constant",
    "plumbing": "tuple, copy, bitcast",
    "other": "other",
}
STATE_WORDS: dict[NodeState, str] = {
    "added": "added",
    "changed": "changed",
    "moved": "moved",
    "renamed": "renamed",
}

_KEYS = (
    KeyView("+ -", "larger, smaller; 0 shows all of it"),
    KeyView("↑ ↓ ← →", "on the frame: move; on a box: to operands, users, neighbours"),
    KeyView("Enter", "draw what is around the box"),
    KeyView("e", "show more neighbours of the box"),
    KeyView("/", "find by name, opcode, op_name or file:line"),
    KeyView("[ ]", "previous or next text of the module"),
    KeyView("?", "this help"),
)


@dataclass(frozen=True, slots=True)
class GraphPlace:
    """What is drawn, as the address says it; `instruction` is "" for the whole computation."""

    report: str
    module: Module
    text: int
    against: int | None
    computation: str
    instruction: str
    radius: int
    opened: tuple[str, ...] = ()

    def href(self, **changes: object) -> str:
        """The address of this place with some parts changed."""
        parts: dict[str, object] = {
            "module": self.module.id,
            "text": self.text,
            "computation": self.computation,
            "instruction": self.instruction,
            "radius": self.radius,
            "against": "" if self.against is None else self.against,
            "open": self.opened,
            **changes,
        }
        return address_of(f"{self.report}/graph", parts)


@dataclass(frozen=True, slots=True)
class OptionView:
    """One choice of a form."""

    value: str
    label: str
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class BoxView:
    """An instruction of the drawing and of the table; `more` counts neighbours that are hidden."""

    x: float
    y: float
    width: float
    middle: float
    name_y: float
    opcode_y: float
    right: float
    label: str
    name: str
    opcode: str
    shape: str
    kind: str
    state: str
    title: str
    href: str
    here: bool
    more: str
    more_href: str
    place: str
    op_name: str
    text_href: str
    calls: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class LineView:
    """A line from box `start` to box `end`, by their positions."""

    path: str
    start: int
    end: int
    order_only: bool


@dataclass(frozen=True, slots=True)
class HitView:
    """An instruction that was looked for."""

    name: str
    detail: str
    href: str


@dataclass(frozen=True, slots=True)
class GraphPage:
    """Everything the template shows."""

    title: str
    heading: str
    lead: str
    views: tuple[ViewLink, ...]
    action: str
    module: str
    computation: str
    instruction: str
    radius: int
    find: str
    texts: tuple[OptionView, ...]
    against: tuple[OptionView, ...]
    computations: tuple[str, ...]
    whole_href: str
    history_href: str
    earlier_href: str
    later_href: str
    hits: tuple[HitView, ...]
    hits_note: str
    kinds: tuple[tuple[str, str], ...]
    states: tuple[tuple[str, str], ...]
    width: float
    height: float
    box_height: float
    boxes: tuple[BoxView, ...]
    lines: tuple[LineView, ...]
    notes: tuple[str, ...]
    keys: tuple[KeyView, ...]


def graph_page(
    report: Report,
    place: GraphPlace,
    view: GraphView,
    *,
    computations: Sequence[str],
    found: SearchResult | None = None,
    notes: tuple[str, ...] = (),
    base_context: Mapping[str, object] | None = None,
) -> str:
    """The page as HTML; `found` are hits of a search in the same text."""
    page = _page_of(report, place, view, computations, found, notes)
    template = page_environment().get_template("graph.html")
    return template.render(page=page, **(base_context or {}))


def _page_of(
    report: Report,
    place: GraphPlace,
    view: GraphView,
    computations: Sequence[str],
    found: SearchResult | None,
    notes: tuple[str, ...],
) -> GraphPage:
    what = place.instruction or place.computation
    dumps = place.module.dumps
    labels = [legible(numbered_pass(dump)) for dump in dumps]
    position = next((i for i, item in enumerate(report.modules) if item.id == place.module.id), 0)
    cut = view.around.cut
    told = (f"Not all is drawn: {cut.shown:,} instructions. {cut.next_step}",) if cut else ()
    at = {node.node.name: i for i, node in enumerate(view.nodes)}
    kinds = {node.kind for node in view.nodes}
    states = {node.state for node in view.nodes if node.state}
    return GraphPage(
        title=legible(f"Graph of {what}"),
        heading=legible(what),
        lead=legible(
            f"{labels[place.text]}, {module_labels(report)[place.module.id]}"
            + (f", in {place.computation}" if place.instruction else "")
            + f": {counted(len(view.nodes), 'instruction')}"
        ),
        views=view_links(place.report, "graph"),
        action=f"{place.report}/graph",
        module=place.module.id,
        computation=place.computation,
        instruction=place.instruction,
        radius=place.radius,
        find=legible(found.query) if found else "",
        texts=tuple(OptionView(str(i), label, i == place.text) for i, label in enumerate(labels)),
        against=(
            OptionView("", "nothing", place.against is None),
            *(OptionView(str(i), label, i == place.against) for i, label in enumerate(labels)),
        ),
        computations=tuple(computations[:_MAX_COMPUTATIONS]),
        whole_href=place.href(instruction="", open=()) if place.instruction else "",
        history_href=_history_href(place),
        earlier_href=_step(place, -1),
        later_href=_step(place, 1),
        hits=_hits(place, found),
        hits_note=_hits_note(found),
        kinds=tuple((kind, word) for kind, word in KIND_WORDS.items() if kind in kinds),
        states=tuple((state, word) for state, word in STATE_WORDS.items() if state in states),
        width=view.width,
        height=view.height,
        box_height=BOX_HEIGHT,
        boxes=tuple(_box(place, node, position) for node in view.nodes),
        lines=tuple(_line(edge, at) for edge in view.edges),
        notes=(*told, *notes),
        keys=_KEYS,
    )


def _history_href(place: GraphPlace) -> str:
    if not place.instruction:
        return ""
    return history_href(
        place.report, place.module.id, place.text, place.computation, place.instruction
    )


def _step(place: GraphPlace, step: int) -> str:
    text = place.text + step
    if not 0 <= text < len(place.module.dumps):
        return ""
    against = "" if place.against is None else max(0, text - 1)
    return place.href(text=text, against=against)


def _box(place: GraphPlace, drawn: GraphNode, module: int) -> BoxView:
    node = drawn.node
    hidden = node.hidden_operands + node.hidden_users
    line = _line_told(node)
    parts = (f"{node.name} = {node.shape} {node.opcode}", node.op_name, line, drawn.state)
    can_open = hidden and len(place.opened) < MAX_OPENED
    return BoxView(
        x=drawn.x,
        y=drawn.y,
        width=drawn.width,
        middle=drawn.x + drawn.width / 2,
        name_y=drawn.y + 18,
        opcode_y=drawn.y + 34,
        right=drawn.x + drawn.width,
        label=legible(drawn.label),
        name=legible(node.name),
        opcode=legible(node.opcode),
        shape=legible(node.shape),
        kind=drawn.kind,
        state=drawn.state,
        title=legible("; ".join(part for part in parts if part)),
        href=place.href(instruction=node.name, open=()),
        here=node.name == place.instruction,
        more=f"+{hidden:,}" if can_open else "",
        more_href=place.href(open=(*place.opened, node.name)) if can_open else "",
        place=legible(line),
        op_name=legible(node.op_name or ""),
        text_href=f"{place.report}#text/{module}/{place.text}/{node.line}",
        calls=tuple(
            (legible(name), place.href(computation=name, instruction="", open=()))
            for name in node.calls
        ),
    )


def _line_told(found: Node | Hit) -> str:
    """The line, and that the instruction does not state it where it does not."""
    inferred = " (inferred)" if found.source_how == "renumbered" else ""
    return f"{found.source}{inferred}" if found.source else ""


def _line(drawn: GraphEdge, at: Mapping[str, int]) -> LineView:
    (x, y), *rest = drawn.points
    path = [f"M{x:g} {y:g}"]
    for next_x, next_y in rest:
        half = (y + next_y) / 2
        path.append(f"C{x:g} {half:g} {next_x:g} {half:g} {next_x:g} {next_y:g}")
        x, y = next_x, next_y
    edge = drawn.edge
    return LineView(" ".join(path), at[edge.source], at[edge.target], edge.kind == "control")


def _hits(place: GraphPlace, found: SearchResult | None) -> tuple[HitView, ...]:
    return tuple(
        HitView(
            name=legible(hit.instruction),
            detail=legible(
                " · ".join(part for part in (hit.opcode, hit.computation, _line_told(hit)) if part)
            ),
            href=place.href(computation=hit.computation, instruction=hit.instruction, open=()),
        )
        for hit in (found.hits if found else ())[:_MAX_HITS]
    )


def _hits_note(found: SearchResult | None) -> str:
    if found is None:
        return ""
    shown = min(found.total, _MAX_HITS)
    return f"{counted(found.total, 'instruction')} found" + (
        f", {shown} shown." if shown < found.total else "."
    )
