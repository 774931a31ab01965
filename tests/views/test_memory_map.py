"""Treemaps: areas, shapes and order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.views.memory_map import Tile, squarified

SIZES = st.lists(st.integers(1, 10**12), max_size=60).map(lambda n: sorted(n, reverse=True))


def test_tiles_are_those_of_the_paper() -> None:
    tiles = squarified([6, 6, 4, 3, 2, 2, 1], 6, 4)
    assert tiles[0] == pytest.approx(Tile(0, 0, 3, 2))
    assert tiles[1] == pytest.approx(Tile(0, 2, 3, 2))
    assert tiles[2] == pytest.approx(Tile(3, 0, 12 / 7, 7 / 3))
    assert tiles[3] == pytest.approx(Tile(3 + 12 / 7, 0, 9 / 7, 7 / 3))


def test_nothing_and_one() -> None:
    assert squarified([], 6, 4) == ()
    assert squarified([5], 6, 4) == (Tile(0, 0, 6, 4),)


@given(SIZES, st.integers(1, 2000), st.integers(1, 2000))
def test_tiles_fill_the_box_and_lie_apart(sizes: list[int], width: int, height: int) -> None:
    tiles = squarified(sizes, width, height)
    assert len(tiles) == len(sizes)
    scale = width * height / sum(sizes) if sizes else 0
    slack = 1e-6 * max(width, height)
    for size, tile in zip(sizes, tiles, strict=True):
        assert tile.width * tile.height == pytest.approx(size * scale, rel=1e-4, abs=1e-6)
        assert tile.x >= -slack
        assert tile.x + tile.width <= width + slack
        assert tile.y >= -slack
        assert tile.y + tile.height <= height + slack
    for number, one in enumerate(tiles):
        for other in tiles[number + 1 :]:
            across = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
            down = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
            assert across <= slack or down <= slack


def test_shapes_are_near_to_squares() -> None:
    tiles = squarified([100 - n for n in range(40)], 800, 500)
    assert max(max(t.width / t.height, t.height / t.width) for t in tiles) < 3
