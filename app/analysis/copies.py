"""Which added instructions are copies of others: a peeled iteration, a body repeated, a clone.

Given a matched pair of computations, gives for instructions of the first one their copies in the
second, beside the counterpart that each may have. A copy does the same as its origin, and its
operands and users are counterparts or copies of the origin's. A few instructions that resemble
others are no copy: most of what was added must be, and real work among it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.analysis.fingerprints import FingerprintTable, Indexed, metadata_key

# What moves or names values proves nothing: such instructions resemble each other anywhere.
IDLE = frozenset(
    "bitcast broadcast constant convert copy copy-done copy-start get-tuple-element iota parameter "
    "reshape transpose tuple".split()
)
_LEAST_WORK = 2
_LEAST_SHARE = 0.5
_ROUNDS = 12
_MOST_ALIKE = 32

Callees = Callable[[str], int]
"""A number for a called computation; equal for equal content."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where copies may come from: a computation of the first text.

    `known` says which positions of the second computation are which of this one already.
    `callees` number called computations by content, on either side.
    """

    indexed: Indexed
    known: Mapping[int, int]
    callees: tuple[Callees, Callees]


def find_copies(
    origin: Origin, after: Indexed, added: Sequence[int], table: FingerprintTable
) -> dict[int, int]:
    """For the added positions that are copies the position of the origin; empty for too few."""
    search = _Search(origin, after, table)
    candidates = [j for j in added if search.has_like(j)]
    if len(candidates) < _LEAST_SHARE * len(added):
        return {}
    if sum(after.instructions[j].opcode not in IDLE for j in candidates) < _LEAST_WORK:
        return {}
    found = search.run(candidates)
    work = sum(after.instructions[j].opcode not in IDLE for j in found)
    is_enough = work >= _LEAST_WORK and len(found) >= _LEAST_SHARE * len(added)
    return found if is_enough else {}


class _Search:
    def __init__(self, origin: Origin, after: Indexed, table: FingerprintTable) -> None:
        self._here = origin.indexed
        self._there = after
        self._origin = dict(origin.known)
        left, right = origin.callees
        self._like = (
            table.signatures(self._here, "layout-free", left),
            table.signatures(after, "layout-free", right),
        )
        self._whole = (
            table.signatures(self._here, "whole", left),
            table.signatures(after, "whole", right),
        )
        self._alike: defaultdict[int, list[int]] = defaultdict(list)
        for i in range(len(self._here.instructions)):
            self._alike[self._like[0](i)].append(i)

    def has_like(self, j: int) -> bool:
        """Whether anything in the origin does what `j` does."""
        return self._like[1](j) in self._alike

    def run(self, candidates: Sequence[int]) -> dict[int, int]:
        """Origins found round by round, each round hearing what the one before found."""
        found: dict[int, int] = {}
        for _ in range(_ROUNDS):
            new = {j: i for j in candidates if j not in found and (i := self._best(j)) is not None}
            if not new:
                break
            found |= new
            self._origin |= new
        return found

    def _best(self, j: int) -> int | None:
        votes: defaultdict[int, float] = defaultdict(float)
        for i in self._neighbours(j):
            votes[i] += 2.0
        alike = self._alike[self._like[1](j)]
        if not votes and len(alike) <= _MOST_ALIKE:
            # Nothing around it is known: only one that is equal in itself and alone will do.
            same = [i for i in alike if self._whole[0](i) == self._whole[1](j)]
            return same[0] if len(same) == 1 else None
        key = metadata_key(self._there.instructions[j])
        for i in votes:
            votes[i] += metadata_key(self._here.instructions[i]) == key
            votes[i] += self._whole[0](i) == self._whole[1](j)
        most = max(votes.values(), default=0.0)
        best = [i for i, count in votes.items() if count == most]
        return best[0] if len(best) == 1 else None

    def _neighbours(self, j: int) -> Iterator[int]:
        """Origins that an operand or a user of `j` speaks for."""
        own = self._like[1](j)
        for number, (operand, _) in enumerate(self._there.sources(j)):
            origin = self._origin.get(operand)
            users = () if origin is None else self._here.users(origin)
            if len(users) <= _MOST_ALIKE:
                yield from (u for u, at in users if at == number and self._like[0](u) == own)
        for user, number in self._there.users(j):
            origin = self._origin.get(user)
            operands = () if origin is None else self._here.operands(origin)
            if number < len(operands):
                operand = operands[number]
                if operand >= 0 and self._like[0](operand) == own:
                    yield operand
