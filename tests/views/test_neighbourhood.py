"""The graph around an instruction: distances, edges, limits."""

import time

import msgspec
import pytest

from app.errors import NotFound
from app.views.neighbourhood import MAX_NODES, Direction, neighbourhood
from hlo_parser import parse_module
from views.modules import SMALL, chain, star


@pytest.mark.parametrize(
    ("centre", "radius", "direction", "expected"),
    [
        ("dot.1", 0, "both", {"dot.1": 0}),
        ("dot.1", -1, "both", {"dot.1": 0}),
        ("dot.1", 1, "both", {"dot.1": 0, "x": -1, "w": -1, "send": 1, "late": 1}),
        ("dot.1", 2, "operands", {"dot.1": 0, "x": -1, "w": -1}),
        ("dot.1", 2, "users", {"dot.1": 0, "send": 1, "late": 1, "both": 2}),
        # The siblings of an operand's other users stay out.
        ("send", 2, "both", {"send": 0, "dot.1": -1, "zero": -1, "x": -2, "w": -2, "both": 1,
                             "reduce.2": 2}),
        ("zero", 1, "both", {"zero": 0, "reduce.2": 1, "send": 1}),
    ],
)  # fmt: skip
def test_distances(
    centre: str, radius: int, direction: Direction, expected: dict[str, int]
) -> None:
    answer = neighbourhood(SMALL, "main", centre, radius=radius, direction=direction)
    assert {node.name: node.distance for node in answer.nodes} == expected
    assert answer.cut is None


def test_edges_and_what_is_hidden() -> None:
    answer = neighbourhood(SMALL, "main", "send", radius=1)
    edges = {(edge.source, edge.target, edge.kind, edge.index) for edge in answer.edges}
    assert edges == {
        ("dot.1", "send", "operand", 0),
        ("zero", "send", "control", None),
        ("send", "both", "operand", 0),
    }
    hidden = {node.name: (node.hidden_operands, node.hidden_users) for node in answer.nodes}
    assert hidden == {"send": (0, 0), "dot.1": (2, 1), "zero": (0, 1), "both": (1, 1)}


def test_node() -> None:
    nodes = {node.name: node for node in neighbourhood(SMALL, "main", "both", radius=3).nodes}
    assert nodes["reduce.2"].calls == ("sum",)
    assert nodes["reduce.2"].is_root
    assert nodes["dot.1"].source == "/job/layers.py:7"
    assert nodes["dot.1"].shape == "f32[8,8]"
    assert nodes["dot.1"].line == SMALL.first_line(SMALL.entry) + 3


def test_unknown() -> None:
    for computation, instruction in (("main", "other"), ("other", "dot.1")):
        with pytest.raises(NotFound):
            neighbourhood(SMALL, computation, instruction)


def test_broken_graphs_end() -> None:
    module = parse_module(
        "HloModule m\n\nENTRY %main () -> f32[] {\n  %a = f32[] negate(%b)\n"
        "  %b = f32[] negate(%a)\n  ROOT %c = f32[] add(%a, %gone)\n}\n"
    )
    answer = neighbourhood(module, "main", "a", radius=10)
    assert {node.name for node in answer.nodes} == {"a", "b", "c"}


@pytest.mark.parametrize(("centre", "radius"), [("hub", 1), ("hub", 5), ("u.0", 3)])
def test_very_many_users(centre: str, radius: int) -> None:
    module = star(50_000)
    before = time.perf_counter()
    answer = neighbourhood(module, "main", centre, radius=radius)
    assert time.perf_counter() - before < 10
    assert len(answer.nodes) <= MAX_NODES
    hub = next(node for node in answer.nodes if node.name == "hub")
    shown = sum(edge.source == "hub" for edge in answer.edges)
    assert hub.hidden_users + shown == 50_000
    if centre == "hub":
        assert answer.cut is not None
        assert answer.cut.code == "view_too_large"
        assert (answer.cut.shown, answer.cut.at_least) == (MAX_NODES, True)
        assert answer.cut.total >= 50_001
    assert len(msgspec.json.encode(answer)) < 500_000


def test_long_chain() -> None:
    module = chain(50_000)
    answer = neighbourhood(module, "main", "i.25000", radius=10**9)
    assert len(answer.nodes) == MAX_NODES
    assert min(node.distance for node in answer.nodes) == -MAX_NODES // 2


def test_a_whole_computation_is_drawn_where_it_fits() -> None:
    answer = neighbourhood(SMALL, "main", "")
    assert {node.name for node in answer.nodes} == {item.name for item in SMALL.entry.instructions}
    assert answer.cut is None


def test_of_a_large_computation_what_is_near_its_landmarks_is_drawn() -> None:
    answer = neighbourhood(chain(1_000), "main", "", limit=50)
    assert [node.name for node in answer.nodes] == [f"i.{n}" for n in range(999, 949, -1)]
    assert answer.cut is not None
    assert answer.cut.total == 1_000


def test_neighbours_of_what_is_opened_come_on_top() -> None:
    answer = neighbourhood(SMALL, "main", "x", radius=1, opened=("dot.1", "nothing", "late"))
    assert {node.name for node in answer.nodes} == {"x", "dot.1", "w", "send", "late", "both"}
