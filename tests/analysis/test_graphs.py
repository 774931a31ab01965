from app.analysis.graphs import Edge, Node, module_graph
from hlo_parser import parse_module

TEXT = """HloModule m

%body (p: (s32[], f32[4])) -> (s32[], f32[4]) {
  %p = (s32[], f32[4]{0}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %x = f32[4]{0} get-tuple-element(%p), index=1
  %y = f32[4]{0} negate(%x)
  ROOT %r = (s32[], f32[4]{0}) tuple(%i, %y)
}

%cond (q: (s32[], f32[4])) -> pred[] {
  %q = (s32[], f32[4]{0}) parameter(0)
  ROOT %c = pred[] constant(false)
}

%left (l: f32[4]) -> f32[4] {
  %l = f32[4]{0} parameter(0)
  ROOT %ln = f32[4]{0} negate(%l)
}

%right (m: f32[4]) -> f32[4] {
  ROOT %m = f32[4]{0} parameter(0)
}

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

ENTRY %main (x0: f32[4], k: pred[]) -> f32[] {
  %x0 = f32[4]{0} parameter(0)
  %k = pred[] parameter(1)
  %zero = s32[] constant(0)
  %init = (s32[], f32[4]{0}) tuple(%zero, %x0)
  %w = (s32[], f32[4]{0}) while(%init), condition=%cond, body=%body
  %out = f32[4]{0} get-tuple-element(%w), index=1
  %e = f32[4]{0} exponential(%x0), control-predecessors={%out, %gone}
  %cd = f32[4]{0} conditional(%k, %out, %e), true_computation=%left, false_computation=%right
  %f = f32[] constant(0)
  ROOT %red = f32[] reduce(%cd, %f), dimensions={0}, to_apply=%add
}
"""

GRAPH = module_graph(parse_module(TEXT))


def main(name: str) -> Node:
    return Node("main", name)


def test_edges_within_a_computation() -> None:
    edges = GRAPH.edges
    assert Edge(main("init"), main("w"), "operand", 0) in edges
    assert Edge(main("out"), main("e"), "control", 0) in edges
    assert not any(edge.source.instruction == "gone" for edge in edges)


def test_values_flow_into_callees_and_back() -> None:
    calls = {edge for edge in GRAPH.edges if edge.kind == "calls"}
    assert calls == {
        Edge(main("init"), Node("body", "p"), "calls", 0),
        Edge(main("init"), Node("cond", "q"), "calls", 0),
        Edge(Node("body", "r"), main("w"), "calls", 0),
        Edge(Node("cond", "c"), main("w"), "calls", 0),
        # Operand 1 goes to the first branch, operand 2 to the second.
        Edge(main("out"), Node("left", "l"), "calls", 1),
        Edge(main("e"), Node("right", "m"), "calls", 2),
        Edge(Node("left", "ln"), main("cd"), "calls", 0),
        Edge(Node("right", "m"), main("cd"), "calls", 0),
        # A reduction's computation is applied to elements: no operand arrives whole.
        Edge(Node("add", "s"), main("red"), "calls", 0),
    }


def test_ancestors_and_descendants_cross_computations() -> None:
    assert Node("body", "y") in GRAPH.ancestors(main("out"))
    assert main("zero") in GRAPH.ancestors(Node("body", "y"))
    assert main("red") in GRAPH.descendants(Node("body", "i"))
    assert main("e") not in GRAPH.ancestors(main("out"))
    assert main("out") not in GRAPH.ancestors(main("out"))
    assert GRAPH.ancestors(main("nowhere")) == frozenset()


def test_neighbourhood_is_near_first_and_capped() -> None:
    near = GRAPH.neighbourhood(main("w"), radius=1, cap=100)
    assert near[0] == main("w")
    assert set(near[1:]) == {main("init"), main("out"), Node("body", "r"), Node("cond", "c")}
    assert GRAPH.neighbourhood(main("w"), radius=5, cap=3) == near[:3]
    assert GRAPH.neighbourhood(main("w"), radius=0, cap=9) == (main("w"),)
    assert GRAPH.neighbourhood(main("nowhere"), radius=5, cap=3) == ()


def test_topological_order_puts_needs_first() -> None:
    order = GRAPH.topological_order()
    assert len(order) == len(set(order)) == len(GRAPH)
    place = {node: index for index, node in enumerate(order)}
    assert all(place[edge.source] < place[edge.target] for edge in GRAPH.edges)
    assert GRAPH.on_cycles() == frozenset()


def test_one_computation_alone() -> None:
    body = GRAPH.of_computation("body")
    assert {node.instruction for node in body.nodes} == {"p", "i", "x", "y", "r"}
    assert all(edge.kind == "operand" for edge in body.edges)
    assert len(GRAPH.of_computation("nowhere")) == 0


def test_shortest_way() -> None:
    way = GRAPH.path(main("x0"), main("out"), cap=10)
    assert way == (main("x0"), main("init"), main("w"), main("out"))
    assert GRAPH.path(main("x0"), main("out"), cap=2) == ()
    assert GRAPH.path(main("out"), main("x0"), cap=10) == ()


def test_cycles_are_answered_and_named() -> None:
    text = """HloModule m

ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %a = f32[4]{0} add(%x, %b)
  %b = f32[4]{0} negate(%a)
  %self = f32[4]{0} negate(%self)
  %user = f32[4]{0} negate(%b)
  ROOT %free = f32[4]{0} negate(%x)
}
"""
    graph = module_graph(parse_module(text))
    assert graph.on_cycles() == {main("a"), main("b"), main("self")}
    order = [node.instruction for node in graph.topological_order()]
    assert order == ["x", "free", "a", "b", "self", "user"]
    assert main("a") in graph.ancestors(main("a"))


def test_twenty_thousand_in_a_row() -> None:
    lines = "\n".join(f"  %n{i} = f32[4]{{0}} negate(%n{i - 1})" for i in range(1, 20_000))
    text = f"HloModule m\n\nENTRY %main {{\n  %n0 = f32[4]{{0}} parameter(0)\n{lines}\n}}\n"
    graph = module_graph(parse_module(text))
    assert len(graph.descendants(main("n0"))) == 19_999
    assert graph.topological_order()[-1] == main("n19999")
