"""Which unmatched instructions are most like each other, all evidence taken together.

For what has changed in itself and around it: no graph is equal and the nearest neighbours are new.
Given the matching so far, gives pairs of positions that are each other's one best. Evidence are
the matched instructions reached through unmatched ones, in either direction, the signatures met on
the way, metadata and called computations; what few have weighs more, and no single piece decides.
Pairs are looked for only among those that share something rare, so the cost stays near-linear.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.analysis.fingerprints import Indexed, metadata_key, name_stem, operation_of
from hlo_parser import Instruction

Features = Mapping[Hashable, float]

# How far and how wide the way through unmatched instructions is followed.
_REACH = 6
_WIDTH = 24
_DECAY = 0.6

# Pairs are looked for among those that share something that at most this many have.
_RARE = 12

# Where nothing is rare, as inside a region that stands once a layer, what so many have will do.
_FEW = 64

# What is new or gone tells little of what stayed.
_ONE_SIDED = 0.125

_SAME_SIGNATURE = 0.125

# The least part of their evidence that a pair shares.
_LEAST = 0.25


@dataclass(frozen=True, slots=True)
class Side:
    """One computation as it is matched so far.

    `settled` numbers what is matched, alike on both sides; `signature` is an exact one, `callees`
    numbers called computations by content.
    """

    indexed: Indexed
    settled: Mapping[int, int]
    signature: Callable[[int], int]
    callees: Callable[[str], int]


def most_alike(
    before: Side,
    after: Side,
    left: Sequence[int],
    right: Sequence[int],
    *,
    with_ties: bool = False,
) -> list[tuple[int, int]]:
    """Pairs of free positions of which each is the other's one best.

    With ties, of those that are as good as each other the first in the text are taken.
    """
    here = _kept(before, left, _operations(after, right))
    there = _kept(after, right, _operations(before, left))

    def bonus(i: int, j: int) -> float | None:
        if before.signature(i) == after.signature(j):
            return _SAME_SIGNATURE
        one, other = before.indexed.instructions[i], after.indexed.instructions[j]
        return 0.0 if operation_of(one) == operation_of(other) else None

    return mutual_best(here, there, bonus, with_ties=with_ties)


def mutual_best(
    here: Mapping[int, Features],
    there: Mapping[int, Features],
    bonus: Callable[[int, int], float | None],
    *,
    with_ties: bool = False,
) -> list[tuple[int, int]]:
    """Pairs of keys of which each is the other's one best by shared features.

    `bonus` is what speaks for a pair besides, None for one that cannot be.
    """
    if not here or not there:
        return []
    holders: tuple[defaultdict[Hashable, list[int]], ...] = (defaultdict(list), defaultdict(list))
    for side, of in enumerate((here, there)):
        for key, features in of.items():
            for feature in features:
                holders[side][feature].append(key)
    worth = _worth(*holders)
    totals = [
        {key: sum(w * worth[f] for f, w in features.items()) for key, features in of.items()}
        for of in (here, there)
    ]
    best: tuple[_Bests, _Bests] = ({}, {})
    for i, features in here.items():
        for j in _candidates(features, holders):
            more = bonus(i, j)
            if more is None:
                continue
            shared = _shared(features, there[j], worth)
            whole = totals[0][i] + totals[1][j] - shared
            alike = more + (shared / whole if whole else 0.0)
            if alike >= _LEAST:
                _keep_best(best[0], i, j, alike)
                _keep_best(best[1], j, i, alike)
    return _pairs_with_ties(*best) if with_ties else _pairs(*best)


def _candidates(
    features: Features, holders: tuple[Mapping[Hashable, Sequence[int]], ...]
) -> set[int]:
    """Who shares something rare; where nothing is, who shares the rarest thing that few have."""
    found: set[int] = set()
    rarest, least = (), _FEW + 1
    for feature in features:
        others = holders[1].get(feature)
        if others:
            count = len(holders[0][feature]) + len(others)
            if count <= _RARE:
                found.update(others)
            elif count < least:
                rarest, least = others, count
    return found or set(rarest)


def _pairs(left: "_Bests", right: "_Bests") -> list[tuple[int, int]]:
    return [
        (i, one.positions[0])
        for i, one in left.items()
        if len(one.positions) == 1 and right[one.positions[0]].positions == [i]
    ]


def _pairs_with_ties(left: "_Bests", right: "_Bests") -> list[tuple[int, int]]:
    mutual = [(i, j) for i, one in left.items() for j in one.positions if i in right[j].positions]
    mutual.sort(key=lambda pair: (-left[pair[0]].alike, sum(pair), min(pair)))
    taken: tuple[set[int], set[int]] = (set(), set())
    found: list[tuple[int, int]] = []
    for i, j in mutual:
        if i not in taken[0] and j not in taken[1]:
            taken[0].add(i)
            taken[1].add(j)
            found.append((i, j))
    return found


def _worth(
    here: Mapping[Hashable, Sequence[int]], there: Mapping[Hashable, Sequence[int]]
) -> dict[Hashable, float]:
    """What a feature counts: the more have it the less, and little where it is new or gone."""
    worth: dict[Hashable, float] = {}
    for of, other in ((here, there), (there, here)):
        for feature, holders in of.items():
            others = other.get(feature, ())
            worth[feature] = 1.0 / (len(holders) + len(others)) if others else _ONE_SIDED
    return worth


@dataclass(slots=True)
class _Best:
    alike: float
    positions: list[int]


_Bests = dict[int, _Best]


def _keep_best(best: _Bests, position: int, other: int, alike: float) -> None:
    known = best.get(position)
    if known is None or alike > known.alike + 1e-9:
        best[position] = _Best(alike, [other])
    elif alike > known.alike - 1e-9:
        known.positions.append(other)


def _shared(one: Features, other: Features, worth: Mapping[Hashable, float]) -> float:
    if len(other) < len(one):
        one, other = other, one
    return sum(
        min(weight, there) * worth[feature]
        for feature, weight in one.items()
        if (there := other.get(feature)) is not None
    )


def _operations(side: Side, positions: Sequence[int]) -> set[str]:
    return {operation_of(side.indexed.instructions[position]) for position in positions}


def _kept(side: Side, positions: Sequence[int], operations: set[str]) -> dict[int, Features]:
    """The evidence of those that have a possible counterpart."""
    return {
        position: _features(side, position)
        for position in positions
        if operation_of(side.indexed.instructions[position]) in operations
    }


def _features(side: Side, position: int) -> Features:
    instruction = side.indexed.instructions[position]
    found: dict[Hashable, float] = {}
    for feature, weight in _own(side, instruction):
        found[feature] = weight
    found["exact", side.signature(position)] = 1.0
    if position == side.indexed.root:
        found["root"] = 1.0
    _walk(side, position, _operands, "up", found)
    _walk(side, position, _users, "down", found)
    return found


def _own(side: Side, instruction: Instruction) -> Iterator[tuple[Hashable, float]]:
    yield ("operation", operation_of(instruction)), 1.0
    if instruction.parameter_number is not None:
        yield ("number", instruction.parameter_number), 2.0
    yield ("shape", instruction.shape.without_layout), 1.0
    yield ("metadata", metadata_key(instruction)), 1.0
    metadata = instruction.metadata
    if metadata is not None and metadata.op_name:
        yield ("op_name", metadata.op_name), 0.5
    yield ("stem", name_stem(instruction.name).removesuffix("-start")), 1.0
    yield ("waits", bool(instruction.control_predecessors)), 0.5
    for callee in instruction.callees:
        yield (callee.role, side.callees(callee.name)), 1.0
        yield (callee.role, name_stem(callee.name)), 0.5


def _operands(indexed: Indexed, position: int) -> Iterator[tuple[int, int]]:
    return ((o, number) for number, o in enumerate(indexed.operands(position)) if o >= 0)


def _users(indexed: Indexed, position: int) -> Sequence[tuple[int, int]]:
    users = indexed.users(position)
    return users if len(users) <= _WIDTH else ()


def _walk(
    side: Side,
    start: int,
    step: Callable[[Indexed, int], Iterator[tuple[int, int]] | Sequence[tuple[int, int]]],
    direction: str,
    found: dict[Hashable, float],
) -> None:
    """Adds what is met on the way through unmatched instructions, less the farther it is."""
    seen = {start}
    weight = 1.0
    level = [start]
    for distance in range(_REACH):
        following: list[int] = []
        for position in level:
            for other, number in step(side.indexed, position):
                number = number if not distance else -1
                pair = side.settled.get(other)
                if pair is not None:
                    _add(found, (direction, pair), weight)
                    if not distance:
                        _add(found, (direction, pair, number), weight / 2)
                        seen.add(other)
                        following.append(other)
                elif other not in seen:
                    _add(found, (direction, "free", side.signature(other)), weight / 2)
                    seen.add(other)
                    following.append(other)
            if len(seen) > _WIDTH:
                return
        if not following:
            return
        level = following
        weight *= _DECAY


def _add(found: dict[Hashable, float], feature: Hashable, weight: float) -> None:
    if found.get(feature, 0.0) < weight:
        found[feature] = weight
