"""A module as a graph: what feeds, orders and calls what, over all computations.

Nodes are instructions. An edge goes from what is needed to what needs it: `operand` from operand
to user, `control` from predecessor to successor, `calls` across computations as values flow: from
the callee's root to the calling instruction, and from an operand of a call, fusion, while,
conditional or asynchronous start to the callee's parameter that receives it. The back edge of a
while is left out, so the graph of a module that compiles has no cycle; texts that do contain
cycles are answered all the same. Only this module knows networkx.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

import networkx as nx

from hlo_parser import Computation, Instruction, Module

EdgeKind = Literal["operand", "control", "calls"]


class Node(NamedTuple):
    """An instruction of a module, by names."""

    computation: str
    instruction: str


class Edge(NamedTuple):
    """`number` is the operand number of the edge's target, 0 for control edges and results."""

    source: Node
    target: Node
    kind: EdgeKind
    number: int


class ModuleGraph:
    """The graph of one module; asked by node, answers in tuples."""

    def __init__(self, graph: "nx.MultiDiGraph[Node]") -> None:
        self._graph = graph

    def __contains__(self, node: Node) -> bool:
        return node in self._graph

    def __len__(self) -> int:
        return len(self._graph)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes in text order."""
        return tuple(self._graph)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """All edges, by source in text order."""
        return tuple(
            Edge(source, target, data["kind"], data["number"])
            for source, target, data in self._graph.edges(data=True)
        )

    def ancestors(self, node: Node) -> frozenset[Node]:
        """Everything that `node` needs, directly or not; empty for an unknown node.

        `node` is among them only where the text has a cycle through it.
        """
        return self._reach(node, self._graph.predecessors)

    def descendants(self, node: Node) -> frozenset[Node]:
        """Everything that needs `node`, directly or not; empty for an unknown node."""
        return self._reach(node, self._graph.successors)

    def _reach(self, start: Node, step: Callable[[Node], Iterable[Node]]) -> frozenset[Node]:
        found: set[Node] = set()
        pending = [start] if start in self else []
        while pending:
            new = [node for node in step(pending.pop()) if node not in found]
            found.update(new)
            pending += new
        return frozenset(found)

    def neighbourhood(self, node: Node, *, radius: int, cap: int) -> tuple[Node, ...]:
        """The nodes at most `radius` edges away in any direction, nearest first, at most `cap`.

        `node` itself comes first. A constant with ten thousand users fills the cap, not memory.
        """
        if node not in self or cap < 1:
            return ()
        found = {node: 0}
        pending = deque([node])
        while pending:
            here = pending.popleft()
            if found[here] == radius:
                continue
            for other in self._beside(here):
                if other not in found:
                    found[other] = found[here] + 1
                    pending.append(other)
                    if len(found) == cap:
                        return tuple(found)
        return tuple(found)

    def _beside(self, node: Node) -> Iterator[Node]:
        yield from self._graph.predecessors(node)
        yield from self._graph.successors(node)

    def topological_order(self) -> tuple[Node, ...]:
        """Every node after all that it needs, otherwise in text order.

        Nodes on cycles, and what needs them, stand at the end in text order: see `on_cycles`.
        """
        missing = {node: self._graph.in_degree(node) for node in self._graph}
        ready = deque(node for node, count in missing.items() if not count)
        order: list[Node] = []
        while ready:
            node = ready.popleft()
            order.append(node)
            for target in self._graph.successors(node):
                missing[target] -= self._graph.number_of_edges(node, target)
                if not missing[target]:
                    ready.append(target)
        if len(order) < len(missing):
            done = set(order)
            order += [node for node in missing if node not in done]
        return tuple(order)

    def on_cycles(self) -> frozenset[Node]:
        """Nodes that need themselves; empty for every module that XLA compiles."""
        components: Iterator[set[Node]] = nx.strongly_connected_components(self._graph)
        return frozenset(
            node
            for component in components
            for node in component
            if len(component) > 1 or self._graph.has_edge(node, node)
        )

    def of_computation(self, name: str) -> "ModuleGraph":
        """The nodes of one computation and the edges among them."""
        inside = [node for node in self._graph if node.computation == name]
        return ModuleGraph(self._graph.subgraph(inside).copy())

    def path(self, source: Node, target: Node, *, cap: int) -> tuple[Node, ...]:
        """One shortest way from `source` to `target`, () if there is none within `cap` edges."""
        if source not in self or target not in self:
            return ()
        try:
            path: list[Node] = nx.bidirectional_shortest_path(self._graph, source, target)
        except nx.NetworkXNoPath:
            return ()
        return tuple(path) if len(path) <= cap + 1 else ()


def module_graph(module: Module) -> ModuleGraph:
    """Build the graph; names that the text uses but does not define have no node."""
    graph: nx.MultiDiGraph[Node] = nx.MultiDiGraph()
    for computation in module.computations:
        for instruction in computation.instructions:
            graph.add_node(Node(computation.name, instruction.name))
    for computation in module.computations:
        for instruction in computation.instructions:
            for edge in _edges_into(module, computation, instruction):
                graph.add_edge(edge.source, edge.target, kind=edge.kind, number=edge.number)
    return ModuleGraph(graph)


def _edges_into(
    module: Module, computation: Computation, instruction: Instruction
) -> Iterator[Edge]:
    """The operand, control and result edges of one instruction, and those to what it calls."""
    here = Node(computation.name, instruction.name)
    for number, name in enumerate(instruction.operands):
        if computation.get(name) is not None:
            yield Edge(Node(computation.name, name), here, "operand", number)
    for name in instruction.control_predecessors:
        if computation.get(name) is not None:
            yield Edge(Node(computation.name, name), here, "control", 0)
    callees = module.callees(instruction)
    for branch, (role, callee) in enumerate(callees):
        yield Edge(Node(callee.name, callee.root.name), here, "calls", 0)
        for number, parameter in _received(instruction, role, branch, callee):
            name = instruction.operands[number]
            if computation.get(name) is not None:
                target = Node(callee.name, parameter.name)
                yield Edge(Node(computation.name, name), target, "calls", number)


# Opcodes, without the ending of their asynchronous form, whose operands arrive whole in the callee.
_HANDS_ON = frozenset({"async", "call", "conditional", "fusion", "while"})
_BRANCH_ROLES = frozenset({"branch_computations", "true_computation", "false_computation"})


def _received(
    instruction: Instruction, role: str, branch: int, callee: Computation
) -> Iterator[tuple[int, Instruction]]:
    """Which operand number arrives at which parameter of the callee.

    Computations applied per element (those of reduce, sort, all-reduce) receive no operand whole.
    """
    if instruction.opcode.removesuffix("-start") not in _HANDS_ON:
        return
    count = len(instruction.operands)
    if role not in _BRANCH_ROLES:
        yield from enumerate(callee.parameters[:count])
    elif branch + 1 < count and callee.parameters:
        # Operand 0 chooses, operand k + 1 goes to branch k.
        yield branch + 1, callee.parameters[0]
