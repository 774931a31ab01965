"""Layouts: nothing overlaps, lines go down, cycles and crowds end."""

import random
import time
from itertools import pairwise

import pytest

from app.views.layered import BOX_HEIGHT, GAP, Drawing, layered


def rows_of(drawing: Drawing) -> dict[float, list[tuple[float, float]]]:
    rows: dict[float, list[tuple[float, float]]] = {}
    for box in drawing.boxes:
        rows.setdefault(box.y, []).append((box.x, box.x + box.width))
    return {y: sorted(row) for y, row in rows.items()}


def test_nothing() -> None:
    assert layered([], []) == Drawing(0.0, 0.0, (), ())


def test_a_diamond_is_symmetric() -> None:
    drawing = layered([80.0] * 4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    top, left, right, bottom = drawing.boxes
    assert top.y < left.y == right.y < bottom.y
    assert top.x == bottom.x == pytest.approx((left.x + right.x) / 2)
    assert right.x - left.x == pytest.approx(80.0 + GAP)


def test_a_parameter_stands_just_above_its_use() -> None:
    drawing = layered([50.0] * 4, [(0, 1), (1, 2), (3, 2)])
    assert drawing.boxes[3].y == drawing.boxes[1].y


def test_a_long_edge_goes_round_the_boxes_between() -> None:
    drawing = layered([100.0] * 3, [(0, 1), (1, 2), (0, 2)])
    between = drawing.boxes[1]
    bend = drawing.lines[2][1]
    assert len(drawing.lines[2]) == 4
    assert not between.x <= bend[0] <= between.x + between.width


def test_cycles_are_drawn() -> None:
    drawing = layered([50.0] * 3, [(0, 1), (1, 2), (2, 0), (1, 1)])
    assert [box.y for box in drawing.boxes] == sorted({box.y for box in drawing.boxes})
    start, *_, end = drawing.lines[2]
    assert start[1] > end[1]


@pytest.mark.parametrize("seed", range(20))
def test_boxes_never_overlap_and_lines_join_their_boxes(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randrange(2, 60)
    edges = [
        (a, chance.randrange(a + 1, count))
        for a in range(count - 1)
        for _ in range(chance.randrange(3))
    ]
    drawing = layered([chance.uniform(40, 200) for _ in range(count)], edges)
    for row in rows_of(drawing).values():
        for (_, end), (start, _) in pairwise(row):
            assert start - end >= GAP - 0.2
    for (a, b), line in zip(edges, drawing.lines, strict=True):
        upper, lower = drawing.boxes[a], drawing.boxes[b]
        assert line[0] == pytest.approx((upper.x + upper.width / 2, upper.y + BOX_HEIGHT), abs=0.2)
        assert line[-1] == pytest.approx((lower.x + lower.width / 2, lower.y), abs=0.2)
    assert all(0 <= box.x and box.x + box.width <= drawing.width for box in drawing.boxes)


def test_a_full_graph_takes_no_time() -> None:
    chance = random.Random(1)
    edges = [(a, min(399, a + chance.randrange(1, 200))) for a in range(399) for _ in range(5)]
    began = time.perf_counter()
    drawing = layered([120.0] * 400, edges)
    assert len(drawing.boxes) == 400
    assert time.perf_counter() - began < 5


def test_a_chain_of_many_layers_takes_no_time() -> None:
    edges = [(a, a + 1) for a in range(399)] + [(0, a) for a in range(2, 400)]
    began = time.perf_counter()
    assert len(layered([120.0] * 400, edges).boxes) == 400
    assert time.perf_counter() - began < 5
