"""The instructions around one instruction, or the main ones of a computation, as a graph.

Stays inside one computation; what an instruction calls is named, not entered.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Literal

from app.analysis.opcodes import collective_opcode
from app.analysis.sources import how_told
from app.errors import NotFound
from app.model.report import Struct
from app.model.source import SourceHow
from app.views.cut import Cut, cut_text, shown_name
from hlo_parser import Computation, Instruction, Module

MAX_NODES = 400
MAX_EDGES = 2_000
MAX_TEXT_CHARACTERS = 300

EdgeKind = Literal["operand", "control"]
Direction = Literal["operands", "users", "both"]


class Node(Struct, frozen=True, kw_only=True):
    """One instruction, `distance` steps from the one asked for; negative among its operands.

    `hidden_operands` and `hidden_users` count neighbours that this answer does not hold.
    """

    name: str
    opcode: str
    shape: str
    distance: int
    line: int
    is_root: bool = False
    op_name: str | None = None
    source: str | None = None
    source_how: SourceHow | None = None
    calls: tuple[str, ...] = ()
    hidden_operands: int = 0
    hidden_users: int = 0


class Edge(Struct, frozen=True, kw_only=True):
    """A value (or, for `control`, an order) that goes from one node to another.

    `index` is the position among the user's operands, None for `control`.
    """

    source: str
    target: str
    kind: EdgeKind = "operand"
    index: int | None = None


class Neighbourhood(Struct, frozen=True, kw_only=True):
    """Nodes by distance, nearest first, and all edges between them as far as the limits go."""

    computation: str
    centre: str
    radius: int
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    cut: Cut | None = None


def neighbourhood(
    module: Module,
    computation: str,
    instruction: str,
    *,
    radius: int = 2,
    direction: Direction = "both",
    limit: int = MAX_NODES,
    opened: Iterable[str] = (),
) -> Neighbourhood:
    """What `instruction` is computed from and what is computed from it, `radius` steps far.

    Without an instruction it is the whole computation, or as much as there is room for around its
    root, its loops and its collectives. The direct neighbours of each of `opened`, in turn, come
    on top; one that is not there by then is passed over.

    Raises:
        NotFound: the module has no such computation, or that no such instruction.
    """
    found = module.get(computation)
    centre = None if found is None else found.get(instruction)
    if found is None or (instruction and centre is None):
        what = f"instruction {instruction!r}" if found else f"computation {computation!r}"
        raise NotFound(f"there is no {what}", place=f"{module.name}, {computation}")
    links = _Links(found)
    limit = min(limit, MAX_NODES)
    if centre is None:
        distances, left_out = _landscape(links, limit)
    else:
        distances, left_out = _spread(links, centre, radius, direction, limit)
    left_out += _open(links, distances, opened, limit)
    edges = tuple(_edges(links, distances))
    cut = None
    if left_out or len(edges) > MAX_EDGES:
        cut = Cut(
            shown=len(distances),
            total=len(distances) + left_out,
            at_least=True,
            next_step="Take a smaller radius or one direction, or go on from a node at the edge.",
        )
    return Neighbourhood(
        computation=computation,
        centre=instruction,
        radius=radius,
        nodes=tuple(
            _node(module, links, links.by_name[name], distance, distances)
            for name, distance in distances.items()
        ),
        edges=edges[:MAX_EDGES],
        cut=cut,
    )


class _Links:
    """The neighbours of each instruction of a computation, operands and control edges alike."""

    def __init__(self, computation: Computation) -> None:
        self.computation = computation
        self.by_name = {item.name: item for item in computation.instructions}
        self._control_users: dict[str, list[str]] = {}
        for item in computation.instructions:
            for name in item.control_predecessors:
                self._control_users.setdefault(name, []).append(item.name)

    def before(self, item: Instruction) -> Iterator[str]:
        """Names of what must come first; one that is not defined is left out."""
        for name in dict.fromkeys((*item.operands, *item.control_predecessors)):
            if name in self.by_name:
                yield name

    def after(self, item: Instruction) -> Iterator[str]:
        """Names of what must come later."""
        users = self.computation.users.get(item.name, ())
        names = [user.name for user in users]
        yield from dict.fromkeys((*names, *self._control_users.get(item.name, ())))


def _spread(
    links: _Links, centre: Instruction, radius: int, direction: Direction, limit: int
) -> tuple[dict[str, int], int]:
    """Signed distances by name, nearest first, and how many neighbours found no room.

    Operands are followed to operands and users to users: the two cones of the centre, without
    the siblings that would soon be the whole computation.
    """
    distances = {centre.name: 0}
    left_out: set[str] = set()
    queue = deque([centre.name])
    while queue:
        name = queue.popleft()
        distance = distances[name]
        if abs(distance) >= radius:
            continue
        item = links.by_name[name]
        steps: list[tuple[int, Iterator[str]]] = []
        if distance <= 0 and direction != "users":
            steps.append((-1, links.before(item)))
        if distance >= 0 and direction != "operands":
            steps.append((1, links.after(item)))
        for step, names in steps:
            for other in names:
                if other in distances:
                    continue
                if len(distances) >= limit:
                    left_out.add(other)
                    continue
                distances[other] = distance + step
                queue.append(other)
    return distances, len(left_out)


def _landscape(links: _Links, limit: int) -> tuple[dict[str, int], int]:
    """The whole computation where it fits, else what is nearest to its landmarks; all at 0."""
    computation = links.computation
    if len(computation.instructions) <= limit:
        return dict.fromkeys(links.by_name, 0), 0
    landmarks = [computation.root.name] if computation.root else []
    landmarks += [
        item.name
        for item in computation.instructions
        if item.opcode == "while" or collective_opcode(item)
    ]
    found = dict.fromkeys(landmarks[:limit], 0)
    queue = deque(found)
    while queue and len(found) < limit:
        item = links.by_name[queue.popleft()]
        for other in (*links.before(item), *links.after(item)):
            if other not in found and len(found) < limit:
                found[other] = 0
                queue.append(other)
    return found, len(links.by_name) - len(found)


def _open(links: _Links, distances: dict[str, int], opened: Iterable[str], limit: int) -> int:
    """Add the direct neighbours of `opened`; gives how many found no room."""
    left_out: set[str] = set()
    for name in opened:
        if name not in distances:
            continue
        item = links.by_name[name]
        for step, names in ((-1, links.before(item)), (1, links.after(item))):
            for other in names:
                if len(distances) < limit:
                    distances.setdefault(other, distances[name] + step)
                elif other not in distances:
                    left_out.add(other)
    return len(left_out)


def _edges(links: _Links, nodes: dict[str, int]) -> Iterator[Edge]:
    for name in nodes:
        item = links.by_name[name]
        for index, operand in enumerate(item.operands):
            if operand in nodes:
                yield Edge(source=shown_name(operand), target=shown_name(name), index=index)
        for before in item.control_predecessors:
            if before in nodes:
                yield Edge(source=shown_name(before), target=shown_name(name), kind="control")


def _node(
    module: Module, links: _Links, item: Instruction, distance: int, nodes: dict[str, int]
) -> Node:
    location = module.source_of(item)
    metadata = item.metadata
    op_name = None if metadata is None else metadata.op_name
    return Node(
        name=shown_name(item.name),
        opcode=item.opcode,
        shape=_short(item.shape.without_layout),
        distance=distance,
        line=module.line_of(links.computation, item),
        is_root=item.is_root,
        op_name=_short(op_name) if op_name else None,
        source=None if location is None else _short(f"{location.file}:{location.line}"),
        source_how=how_told(module, item),
        calls=tuple(shown_name(called.name) for _, called in module.callees(item)[:20]),
        hidden_operands=sum(name not in nodes for name in links.before(item)),
        hidden_users=sum(name not in nodes for name in links.after(item)),
    )


def _short(text: str) -> str:
    return cut_text(text, MAX_TEXT_CHARACTERS)
