"""A neighbourhood as a drawing: boxes with a place, a kind and what a pass did to them.

Adds to `neighbourhood.py` the layout and the words that colours stand for; draws nothing itself.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Literal

from app.analysis.opcodes import COLLECTIVES, async_role, base_opcode
from app.errors import NotFound
from app.model.facts import ModuleDiff
from app.model.report import Struct
from app.views.layered import layered
from app.views.neighbourhood import Edge, Neighbourhood, Node
from hlo_parser import Module

NodeKind = Literal[
    "collective", "loop", "call", "fusion", "heavy", "parameter", "constant", "plumbing", "other"
]
NodeState = Literal["", "added", "changed", "moved", "renamed"]

MIN_WIDTH = 84.0
MAX_WIDTH = 240.0
CHARACTER_WIDTH = 7.0
SHOWN_CHARACTERS = int((MAX_WIDTH - 18) / CHARACTER_WIDTH)

_KINDS: Mapping[str, NodeKind] = {
    "while": "loop",
    "call": "call",
    "conditional": "call",
    "fusion": "fusion",
    "dot": "heavy",
    "ragged-dot": "heavy",
    "scaled-dot": "heavy",
    "convolution": "heavy",
    "custom-call": "heavy",
    "sort": "heavy",
    "parameter": "parameter",
    "constant": "constant",
    "iota": "constant",
    "tuple": "plumbing",
    "get-tuple-element": "plumbing",
    "bitcast": "plumbing",
    "copy": "plumbing",
    "optimization-barrier": "plumbing",
}


class GraphNode(Struct, frozen=True, kw_only=True):
    """A box at its upper left corner, in pixels; `label` is the name as far as it fits."""

    node: Node
    label: str
    kind: NodeKind
    state: NodeState = ""
    x: float
    y: float
    width: float


class GraphEdge(Struct, frozen=True, kw_only=True):
    """A line from the lower side of a box to the upper one of another."""

    edge: Edge
    points: tuple[tuple[float, float], ...]


class GraphView(Struct, frozen=True, kw_only=True):
    """Boxes in the order of the neighbourhood, lines, and the size of it all."""

    around: Neighbourhood
    width: float
    height: float
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]


def graph_view(around: Neighbourhood, states: Mapping[str, NodeState]) -> GraphView:
    """The drawing of a neighbourhood; `states` are by instruction name (`states_of`)."""
    labels = [_fitting(node.name) for node in around.nodes]
    at = {node.name: position for position, node in enumerate(around.nodes)}
    widths = [
        min(MAX_WIDTH, max(MIN_WIDTH, 18 + CHARACTER_WIDTH * max(len(label), len(node.opcode))))
        for label, node in zip(labels, around.nodes, strict=True)
    ]
    drawing = layered(widths, [(at[edge.source], at[edge.target]) for edge in around.edges])
    return GraphView(
        around=around,
        width=drawing.width,
        height=drawing.height,
        nodes=tuple(
            GraphNode(
                node=node,
                label=label,
                kind=kind_of(node.opcode),
                state=states.get(node.name, ""),
                x=box.x,
                y=box.y,
                width=box.width,
            )
            for node, label, box in zip(around.nodes, labels, drawing.boxes, strict=True)
        ),
        edges=tuple(
            GraphEdge(edge=edge, points=line)
            for edge, line in zip(around.edges, drawing.lines, strict=True)
        ),
    )


def kind_of(opcode: str) -> NodeKind:
    """What an instruction of this opcode is drawn as; both ends of an asynchronous pair alike."""
    if async_role(opcode) is not None:
        base = opcode.removesuffix("-done").removesuffix("-start").removesuffix("-update")
        return "collective" if base in COLLECTIVES else "plumbing" if base == "copy" else "call"
    if base_opcode(opcode) in COLLECTIVES:
        return "collective"
    return _KINDS.get(opcode, "other")


def states_of(diff: ModuleDiff, computation: str) -> dict[str, NodeState]:
    """What the pass did to instructions of `computation` (after); what is equal is not named."""
    states: dict[str, NodeState] = {}
    for found in diff.computations:
        if found.after != computation:
            continue
        _mark(states, (after for _, after in found.renamed), "renamed")
        _mark(states, found.moved, "moved")
        _mark(states, (change.after for change in found.changed), "changed")
        _mark(states, found.added, "added")
    return states


def named_place(
    module: Module, computation: str, instruction: str, *, line: int = 0, is_loop: bool = False
) -> tuple[str, str]:
    """Computation and instruction ("" for none) that a question in part means.

    `line` is a 1-based line of the text. With `is_loop` the instruction is a while, in whichever
    computation, and its body is meant. An instruction that the computation does not hold is
    dropped, for it may hold it in another text.

    Raises:
        NotFound: the text has no such loop.
    """
    if is_loop:
        return _body_of(module, instruction), ""
    found = module.computation_at(line) if line else None
    if found is not None:
        offset = line - module.first_line(found)
        at = [found.line_offset(i) for i in range(len(found.instructions))]
        here = bisect_right(at, offset) - 1
        return found.name, found.instructions[here].name if here >= 0 else ""
    computation = computation or module.entry.name
    found = module.get(computation)
    holds = found is not None and found.get(instruction) is not None
    return computation, instruction if holds else ""


def _body_of(module: Module, loop: str) -> str:
    for computation in module.computations:
        item = computation.get(loop)
        for role, called in module.callees(item) if item and item.opcode == "while" else ():
            if role == "body":
                return called.name
    raise NotFound(f"this text holds no loop {loop!r}", place=module.name)


def _mark(states: dict[str, NodeState], names: Iterable[str], state: NodeState) -> None:
    states.update(dict.fromkeys(names, state))


def _fitting(name: str) -> str:
    if len(name) <= SHOWN_CHARACTERS:
        return name
    return f"{name[: SHOWN_CHARACTERS // 2]}…{name[1 - SHOWN_CHARACTERS // 2 :]}"
