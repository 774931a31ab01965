"""What the tiles of shardings say about the mesh behind them.

`{devices=[2,1,4]<=[8]}` cuts the devices, in the order of their numbers, after every fourth;
`{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}` does the same with the parts swapped. Where
all cuts of a text fit into one another there is one mesh that they all come from, as far as its
axes can be told apart. Given texts of shardings and a number of devices, pure arithmetic.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import prod

from hlo_parser.possessive import compile_pattern

_TILES = compile_pattern(
    r"devices=\[([\d,\s]++)\]\s*+(?:<=\s*+\[([\d,\s]++)\](?:\s*+T\(([\d,\s]++)\))?+|([\d,\s]++))"
)
_MOST_DIMENSIONS = 32
_MOST_LISTED = 1 << 12


def mesh_of_tiles(shardings: Iterable[str], devices: int) -> tuple[int, ...] | None:
    """Sizes of the axes, the slowest first, of the coarsest mesh that all tiles are cut from.

    None where no sharding has tiles, where two of them cut differently, or where one counts its
    devices in an order that no mesh of plain numbers has.
    """
    cuts = {1, devices}
    is_tiled = False
    for sharding in shardings:
        for found in _TILES.finditer(sharding):
            steps = _steps(found, devices)
            if steps is None:
                return None
            is_tiled = True
            for size, stride in steps:
                cuts |= {stride, stride * size}
    points = sorted(cuts, reverse=True)
    if not is_tiled or any(big % small for big, small in pairwise(points)):
        return None
    return tuple(big // small for big, small in pairwise(points))


def _steps(found: re.Match[str], devices: int) -> list[tuple[int, int]] | None:
    """Size and stride of each part of a mesh that the tiles keep apart; None for none or another.

    The stride is the distance between the numbers of two devices that are neighbours in it.
    """
    tiles, reshape, order, listed = (_numbers(group) for group in found.groups())
    if prod(tiles) != devices or len(tiles) > _MOST_DIMENSIONS:
        return None
    if not reshape:
        return _steps_of_list(tiles, listed)
    strides = [prod(reshape[position + 1 :]) for position in range(len(reshape))]
    turned = order or list(range(len(reshape)))
    if prod(reshape) != devices or sorted(turned) != list(range(len(reshape))):
        return None
    return _cut(tiles, [(reshape[dimension], strides[dimension]) for dimension in turned])


def _cut(tiles: list[int], parts: list[tuple[int, int]]) -> list[tuple[int, int]] | None:
    """The parts cut where tiles end inside one; None where a tile ends within a step of a part."""
    pending = [part for part in parts if part[0] > 1]
    steps: list[tuple[int, int]] = []
    for tile in reversed([tile for tile in tiles if tile > 1]):
        while tile > 1:
            size, stride = pending.pop()
            taken = min(size, tile)
            if max(size, tile) % taken:
                return None
            steps.append((taken, stride))
            tile //= taken
            if size > taken:
                pending.append((size // taken, stride * taken))
    return steps


def _steps_of_list(tiles: list[int], listed: list[int]) -> list[tuple[int, int]] | None:
    if len(listed) != prod(tiles) or len(listed) > _MOST_LISTED:
        return None
    spans = [prod(tiles[position + 1 :]) for position in range(len(tiles))]
    steps = [
        (size, listed[span] - listed[0])
        for size, span in zip(tiles, spans, strict=True)
        if size > 1
    ]
    return steps if listed == list(_walk(steps)) else None


def _walk(steps: list[tuple[int, int]]) -> Iterator[int]:
    numbers = [0]
    for size, stride in steps:
        numbers = [number + at * stride for number in numbers for at in range(size)]
    yield from numbers


def _numbers(text: str | None) -> list[int]:
    return [int(word) for word in re.findall(r"\d{1,9}", text or "")]
