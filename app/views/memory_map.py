"""A treemap: sizes as rectangles that fill a box, as near to squares as they go.

Pure geometry, after Bruls, Huizing and van Wijk, "Squarified Treemaps" (2000): rows are laid along
the shorter side of what is left, and a row takes one more as long as its worst shape gets better.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Tile(NamedTuple):
    """A rectangle by its upper left corner, in the units of the box."""

    x: float
    y: float
    width: float
    height: float


def squarified(sizes: Sequence[float], width: float, height: float) -> tuple[Tile, ...]:
    """One tile for each of `sizes`, which are positive and fall; areas are in proportion.

    Takes time in proportion to their number.
    """
    total = sum(sizes)
    scale = width * height / total if total else 0.0
    areas = [size * scale for size in sizes]
    tiles: list[Tile] = []
    left = Tile(0.0, 0.0, width, height)
    first = 0
    while first < len(areas):
        side = min(left.width, left.height)
        end = first + 1
        row = areas[first]
        worst = _worst(areas[first], areas[first], row, side)
        while end < len(areas):
            longer = row + areas[end]
            next_worst = _worst(areas[first], areas[end], longer, side)
            if next_worst > worst:
                break
            worst, row, end = next_worst, longer, end + 1
        placed, left = _laid(areas[first:end], row, left)
        tiles += placed
        first = end
    return tuple(tiles)


def _worst(largest: float, smallest: float, row: float, side: float) -> float:
    """How long the longest shape of a row along `side` is for its width."""
    if not row or not smallest or not side:
        return float("inf")
    return max(side * side * largest / (row * row), row * row / (side * side * smallest))


def _laid(areas: Sequence[float], row: float, box: Tile) -> tuple[list[Tile], Tile]:
    """The tiles of a row along the shorter side of `box`, and what it leaves of the box."""
    tiles: list[Tile] = []
    if box.width >= box.height:
        depth = row / box.height if box.height else 0.0
        y = box.y
        for area in areas:
            length = area / depth if depth else 0.0
            tiles.append(Tile(box.x, y, depth, length))
            y += length
        return tiles, Tile(box.x + depth, box.y, max(0.0, box.width - depth), box.height)
    depth = row / box.width if box.width else 0.0
    x = box.x
    for area in areas:
        length = area / depth if depth else 0.0
        tiles.append(Tile(x, box.y, length, depth))
        x += length
    return tiles, Tile(box.x, box.y + depth, box.width, max(0.0, box.height - depth))
