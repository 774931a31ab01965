"""The cut that makes a module's dimensions small, each size alike wherever it stands. Pure.

A size that is the product of two others stays one. Scalars of that value go along: they are the
trip counts of loops over such a dimension. What a shape no longer fits, XLA refuses.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from app.replay.draft import Draft, Line
from app.replay.kinds import Kind, Place

_DIMENSIONS = re.compile(r"\[([\d,]++)\]")
_NUMBER = re.compile(r"\d++")
_RANGED = ("slice",)
_SIZED = ("dynamic_slice_sizes", "slice_sizes")
# A multiple of the usual numbers of devices, so that a sharded dimension still divides.
_SMALL = 16
_LEAST_TRIPS = 2


def _sizes_of(draft: Draft) -> set[int]:
    """All sizes of dimensions, but for those of literals, which would have to shrink along."""
    found: dict[bool, set[int]] = {True: set(), False: set()}
    for block in draft.blocks:
        for line in block.lines:
            sizes = {int(n) for each in _DIMENSIONS.findall(line.shape) for n in each.split(",")}
            found[line.opcode == "constant"].update(sizes)
    return found[False] - found[True]


def _large(draft: Draft) -> tuple[Place, ...]:
    found = sorted(_sizes_of(draft), reverse=True)
    return tuple(("", str(size)) for size in found if size > _SMALL)


def _small(draft: Draft) -> tuple[Place, ...]:
    found = sorted(_sizes_of(draft), reverse=True)
    return tuple(("", str(size)) for size in found if _LEAST_TRIPS < size <= _SMALL)


def _shrunk(draft: Draft, places: frozenset[Place]) -> Draft:
    chosen = {int(number) for _, number in places}
    smaller = _mapping(_sizes_of(draft), chosen)
    names = {str(old): str(new) for old, new in smaller.items() if old != new}
    blocks = {
        block.name: replace(block, lines=tuple(_resized(line, names) for line in block.lines))
        for block in draft.blocks
    }
    return draft.with_blocks(blocks)


def _mapping(sizes: set[int], chosen: set[int]) -> dict[int, int]:
    """What each size becomes."""
    made: dict[int, int] = {}
    for size in sorted(sizes):
        factors = ((a, size // a) for a in sorted(made, reverse=True) if size % a == 0)
        of_two = ((a, b) for a, b in factors if a > _SMALL and a > b > 1 and b in made)
        first, second = next(of_two, (0, 0))
        if size not in chosen:
            made[size] = size
        elif first:
            made[size] = min(size, made[first] * made[second])
        else:
            made[size] = _SMALL if size > _SMALL else _LEAST_TRIPS
    return made


def _resized(line: Line, names: Mapping[str, str]) -> Line:
    def other(found: re.Match[str]) -> str:
        return _NUMBER.sub(lambda n: names.get(n[0], n[0]), found[0])

    attributes = tuple(
        (key, _NUMBER.sub(other, value) if key in (*_RANGED, *_SIZED) else value)
        for key, value in line.attributes
    )
    arguments = line.arguments
    if line.opcode == "constant":
        arguments = names.get(arguments, arguments)
    shape = _DIMENSIONS.sub(other, line.shape)
    return replace(line, shape=shape, attributes=attributes, arguments=arguments)


SIZES: tuple[Kind, ...] = (
    Kind("large dimensions", _large, _shrunk, is_by_name=False),
    Kind("small dimensions and trips", _small, _shrunk, is_by_name=False),
)
