"""Which loop of one text is which loop of the next.

Loops whose body and place are the same text are the same loop. The rest are compared by what their
bodies do, what they carry and where the program states them, first among the loops inside the same
enclosing loop, then across the module; a name decides only between candidates that are alike
anyway. A loop of the later text without a partner is new, and `origins` says of which loop it is
a copy, if of any. Inputs are the loops of two texts and their contents; nothing is changed.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from app.analysis.loop_bodies import Content, containment, kind_of, likeness
from app.analysis.loops import PlacedLoop
from app.model.report import Source

_ALIKE = 0.5
"""Least likeness (0 to 1) of two loops that are called the same or copies."""

_MAX_PAIRS = 20_000
"""Beyond this many pairs only loops of one name are compared."""

_SAME_NAME = 0.15
_SAME_COMPUTATION = 0.05
_UP_TO_SIZES = 0.9
_OTHER_PLACE = 0.4
_SAME_PLACE = 0.15


@dataclass(frozen=True, slots=True)
class Candidate:
    """A loop with what it is compared by."""

    placed: PlacedLoop
    content: Content
    source: Source | None

    def carried(self, *, up_to_sizes: bool) -> Counter[str]:
        """The carried elements by shape, exact or as element type and rank."""
        elements = self.placed.loop.instruction.shape.elements
        return Counter(kind_of(s) if up_to_sizes else s.without_layout for s in elements)


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
    before: Sequence[Candidate], after: Sequence[Candidate], settled: dict[int, int]
) -> Matching:
    """Partners and origins of the later text's loops; `settled` pairs stand as they are."""
    partners = dict(settled)
    free = set(range(len(before))) - set(partners.values())
    children: dict[int | None, list[int]] = {}
    for index, candidate in enumerate(after):
        if index not in partners:
            children.setdefault(candidate.placed.parent, []).append(index)
    # Outermost first, so that a parent has its partner before its children are looked at.
    for parent in (None, *range(len(after))):
        if parent is not None and parent not in partners:
            continue
        outer = None if parent is None else partners[parent]
        inside = [i for i in free if before[i].placed.parent == outer]
        _pair(before, after, inside, children.get(parent, ()), partners)
        free.difference_update(partners.values())
    _pair(
        before, after, sorted(free), [i for i in range(len(after)) if i not in partners], partners
    )
    return Matching(partners, _find_origins(before, after, partners))


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
        likeness(one.carried(up_to_sizes=False), other.carried(up_to_sizes=False)),
    )
    partitioned = _weigh(
        one,
        other,
        likeness(work.up_to_sizes(), other_work.up_to_sizes()),
        likeness(one.carried(up_to_sizes=True), other.carried(up_to_sizes=True)),
    )
    score = max(exact, _UP_TO_SIZES * partitioned)
    if one.source is not None and other.source is not None:
        same = (one.source.file, one.source.line) == (other.source.file, other.source.line)
        score += _SAME_PLACE if same else -_OTHER_PLACE
    return max(0.0, min(1.0, score))


def _weigh(one: Candidate, other: Candidate, work: float, carry: float) -> float:
    """Body before carried tuple; JAX names count where both texts still have them."""
    if not one.content.marks or not other.content.marks:
        return 0.6 * work + 0.4 * carry
    return 0.5 * work + 0.3 * carry + 0.2 * likeness(one.content.marks, other.content.marks)


def _pair(
    before: Sequence[Candidate],
    after: Sequence[Candidate],
    earlier: Iterable[int],
    later: Iterable[int],
    partners: dict[int, int],
) -> None:
    """Pairs the likest first; among equals in text order."""
    taken = set(partners.values())
    scored = sorted(
        (-_score(before[i], after[j]), i, j)
        for i, j in _pairs_to_compare(before, after, list(earlier), list(later))
    )
    for score, i, j in scored:
        if -score >= _ALIKE and i not in taken and j not in partners:
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
    by_name: dict[str, list[int]] = {}
    for i in earlier:
        by_name.setdefault(before[i].placed.loop.name, []).append(i)
    return [(i, j) for j in later for i in by_name.get(after[j].placed.loop.name, ())[:1]]


def _score(one: Candidate, other: Candidate) -> float:
    score = compare(one, other)
    if one.placed.loop.name == other.placed.loop.name:
        score += _SAME_NAME
    if one.placed.loop.computation.name == other.placed.loop.computation.name:
        score += _SAME_COMPUTATION
    return score


def _find_origins(
    before: Sequence[Candidate], after: Sequence[Candidate], partners: dict[int, int]
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
            score = compare(one, after[j])
            names = f"{after[j].placed.loop.name}.", f"{one.placed.loop.name}."
            named_after = names[0].startswith(names[1])
            best[i] = max(best.get(i, 0.0), score + _SAME_NAME * named_after)
        chosen = max(best, key=lambda i: (best[i], -i), default=None)
        if chosen is not None and best[chosen] >= _ALIKE:
            origins[j] = chosen
    return origins
