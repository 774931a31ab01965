"""Which loop of one text is which loop of the next.

Loops whose body and place are the same text are the same loop. The rest are compared by what their
bodies do, what they carry and where the program states them, first among the loops inside the same
enclosing loop, then across the module; a name decides only between candidates that are alike
anyway. Texts with many passes between them (a dump of the first and the last text only) have
little in common but JAX's names, so those weigh more there. A loop of the later text without a
partner is new, and `origins` says of which loop it is a copy, if of any. Inputs are the loops of
two texts and their contents; nothing is changed.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from app.analysis.loop_bodies import Content, Key, containment, kind_of, likeness
from app.analysis.loops import PlacedLoop
from app.model.report import Source
from hlo_parser import Shape

_ALIKE = 0.5
"""Least likeness (0 to 1) of two loops that are called the same or copies."""

_ALIKE_FAR = 0.4
"""The same between texts with many passes between them."""

_MAX_PAIRS = 5_000
"""Beyond this many pairs only loops that carry the same or have one name are compared."""

_MAX_ALIKE = 20
"""With so many pairs, how many loops that carry the same are compared with one."""

_SAME_NAME = 0.15
_SAME_COMPUTATION = 0.05
_UP_TO_SIZES = 0.9
_OTHER_PLACE = 0.4
_SAME_PLACE = 0.15


@dataclass(frozen=True, slots=True)
class Candidate:
    """A loop with what it is compared by.

    `carried` are the carried elements by shape; the fields ending in `_kinds` are the same counts
    up to sizes. `is_outer` says that the body runs loops of its own.
    """

    placed: PlacedLoop
    content: Content
    source: Source | None
    op_name: str | None
    work_kinds: Counter[tuple[str, str]]
    carried: Counter[str]
    carried_kinds: Counter[str]
    is_outer: bool


class CandidateMaker:
    """Makes candidates; what they carry and what their bodies do up to sizes is counted once.

    Of both there are few kinds in the texts of a dump, and equal ones are one object.
    """

    def __init__(self) -> None:
        self._carried: dict[Shape, tuple[Counter[str], Counter[str]]] = {}
        # Contents are kept beside the counts: an id is given again when its object is gone.
        self._work: dict[int, tuple[Content, Counter[tuple[str, str]], bool]] = {}

    def of(
        self, placed: PlacedLoop, content: Content, source: Source | None, op_name: str | None
    ) -> Candidate:
        """The loop with its counts."""
        shape = placed.loop.instruction.shape
        carried = self._carried.get(shape)
        if carried is None:
            carried = self._carried[shape] = (
                Counter([element.without_layout for element in shape.elements]),
                Counter(map(kind_of, shape.elements)),
            )
        work = self._work.get(id(content))
        if work is None:
            is_outer = any(operation.opcode == "while" for operation in content.operations)
            work = self._work[id(content)] = content, content.up_to_sizes(), is_outer
        return Candidate(placed, content, source, op_name, work[1], *carried, work[2])


class _Measure(NamedTuple):
    """How likeness is measured, and the least of it that counts."""

    compare: Callable[[Candidate, Candidate], float]
    least: float


@dataclass(frozen=True, slots=True)
class Matching:
    """Positions in the later text's loops, mapped to positions in the earlier one's."""

    partners: dict[int, int] = field(default_factory=dict[int, int])
    origins: dict[int, int] = field(default_factory=dict[int, int])


def match_identical(before: Sequence[PlacedLoop], after: Sequence[PlacedLoop]) -> dict[int, int]:
    """Pairs that need no comparison: same place, same name and the same text of the body."""
    places = {(p.loop.computation.name, p.loop.name): i for i, p in enumerate(before)}
    partners: dict[int, int] = {}
    for index, placed in enumerate(after):
        other = places.get((placed.loop.computation.name, placed.loop.name))
        if (
            other is not None
            and before[other].loop.body is placed.loop.body
            and before[other].loop.condition is placed.loop.condition
        ):
            partners[index] = other
    return partners


def match_loops(
    before: Sequence[Candidate],
    after: Sequence[Candidate],
    settled: dict[int, int],
    *,
    far: bool = False,
) -> Matching:
    """Partners and origins of the later text's loops; `settled` pairs stand as they are.

    `far` says that other passes ran between the two texts.
    """
    measure = _Measure(compare_far, _ALIKE_FAR) if far else _Measure(compare, _ALIKE)
    partners = dict(settled)
    taken = set(partners.values())
    held_in: dict[int | None, list[int]] = {}
    for index, candidate in enumerate(before):
        if index not in taken:
            held_in.setdefault(candidate.placed.parent, []).append(index)
    children: dict[int | None, list[int]] = {}
    for index, candidate in enumerate(after):
        if index not in partners:
            children.setdefault(candidate.placed.parent, []).append(index)
    # Outermost first, so that a parent has its partner before its children are looked at.
    for parent in (None, *range(len(after))):
        if parent not in children or (parent is not None and parent not in partners):
            continue
        inside = held_in.get(None if parent is None else partners[parent], ())
        _pair(before, after, inside, children[parent], partners, measure)
    taken = set(partners.values())
    left = [index for index in range(len(before)) if index not in taken]
    unpaired = [index for index in range(len(after)) if index not in partners]
    _pair(before, after, left, unpaired, partners, measure)
    return Matching(partners, _find_origins(before, after, partners, measure))


def compare(one: Candidate, other: Candidate) -> float:
    """How alike two loops are by body, carried tuple and stated place, 0 to 1.

    Looked at twice, exactly and up to sizes, since the partitioner changes the size of nearly
    everything at once.
    """
    work, other_work = one.content, other.content
    exact = _weigh(
        one,
        other,
        (
            containment(work.operations, other_work.operations) * 2
            + likeness(work.operations, other_work.operations)
        )
        / 3,
        likeness(one.carried, other.carried),
    )
    partitioned = _weigh(
        one,
        other,
        likeness(one.work_kinds, other.work_kinds),
        likeness(one.carried_kinds, other.carried_kinds),
    )
    return _clamped(max(exact, _UP_TO_SIZES * partitioned) + _place_says(one, other))


def compare_far(one: Candidate, other: Candidate) -> float:
    """The same for texts with many passes between them, 0 to 1.

    By then work was fused, added and taken away; what one text has of the other's counts more
    than what either has alone.
    """
    work = _shared(one.work_kinds, other.work_kinds)
    carry = likeness(one.carried_kinds, other.carried_kinds)
    score = 0.3 * work + 0.3 * carry + 0.4 * _shared(one.content.marks, other.content.marks)
    if one.is_outer != other.is_outer:
        score -= _OTHER_PLACE
    directions = _direction(one), _direction(other)
    if None not in directions:
        score += _SAME_PLACE if directions[0] == directions[1] else -_SAME_PLACE
    return _clamped(max(compare(one, other), score + _place_says(one, other)))


def _shared(one: Counter[Key], other: Counter[Key]) -> float:
    return (containment(one, other) + likeness(one, other)) / 2


def _direction(candidate: Candidate) -> str | None:
    """The side of differentiation in JAX's name: `jvp()/while`, `transpose(jvp())/while`."""
    name = candidate.op_name or ""
    return next((side for side in ("transpose(", "jvp(") if side in name), None)


def _place_says(one: Candidate, other: Candidate) -> float:
    if one.source is None or other.source is None:
        return 0.0
    same = (one.source.file, one.source.line) == (other.source.file, other.source.line)
    return _SAME_PLACE if same else -_OTHER_PLACE


def _clamped(score: float) -> float:
    return max(0.0, min(1.0, score))


def _weigh(one: Candidate, other: Candidate, work: float, carry: float) -> float:
    """Body before carried tuple; JAX names count where both texts still have them."""
    if not one.content.marks or not other.content.marks:
        return 0.6 * work + 0.4 * carry
    return 0.5 * work + 0.3 * carry + 0.2 * likeness(one.content.marks, other.content.marks)


def _pair(
    before: Sequence[Candidate],
    after: Sequence[Candidate],
    earlier: Sequence[int],
    later: Sequence[int],
    partners: dict[int, int],
    measure: _Measure,
) -> None:
    """Pairs the likest first; among equals in text order."""
    taken = set(partners.values())
    scored = sorted(
        (-_score(before[i], after[j], measure), i, j)
        for i, j in _pairs_to_compare(before, after, earlier, later)
    )
    for score, i, j in scored:
        if -score >= measure.least and i not in taken and j not in partners:
            partners[j] = i
            taken.add(i)


def _pairs_to_compare(
    before: Sequence[Candidate],
    after: Sequence[Candidate],
    earlier: Sequence[int],
    later: Sequence[int],
) -> list[tuple[int, int]]:
    if len(earlier) * len(later) <= _MAX_PAIRS:
        return [(i, j) for i in earlier for j in later]
    alike: dict[object, list[int]] = {}
    for i in earlier:
        for key in _keys(before[i]):
            alike.setdefault(key, []).append(i)
    return sorted(
        {(i, j) for j in later for key in _keys(after[j]) for i in alike.get(key, ())[:_MAX_ALIKE]}
    )


def _keys(one: Candidate) -> tuple[object, ...]:
    return one.placed.loop.name, frozenset(one.carried_kinds.items())


def _score(one: Candidate, other: Candidate, measure: _Measure) -> float:
    score = measure.compare(one, other)
    if one.placed.loop.name == other.placed.loop.name:
        score += _SAME_NAME
    if one.placed.loop.computation.name == other.placed.loop.computation.name:
        score += _SAME_COMPUTATION
    return score


def _find_origins(
    before: Sequence[Candidate],
    after: Sequence[Candidate],
    partners: dict[int, int],
    measure: _Measure,
) -> dict[int, int]:
    """For each loop without a partner the earlier loop it is a copy of.

    It is compared with that loop as it was and as it is now: a copy may be taken before or after
    the pass changed it. XLA names a clone after its original, which decides between equals.
    """
    new = [j for j in range(len(after)) if j not in partners]
    if len(new) * (len(before) + len(partners)) > _MAX_PAIRS:
        return {}
    origins: dict[int, int] = {}
    for j in new:
        best: dict[int, float] = {}
        versions = [(i, one) for i, one in enumerate(before)]
        versions += [(i, after[k]) for k, i in partners.items()]
        for i, one in versions:
            score = measure.compare(one, after[j])
            names = f"{after[j].placed.loop.name}.", f"{one.placed.loop.name}."
            named_after = names[0].startswith(names[1])
            best[i] = max(best.get(i, 0.0), score + _SAME_NAME * named_after)
        chosen = max(best, key=lambda i: (best[i], -i), default=None)
        if chosen is not None and best[chosen] >= measure.least:
            origins[j] = chosen
    return origins
