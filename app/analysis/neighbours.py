"""What the matched neighbours of two unmatched instructions say about them.

A matched operand speaks for its users, a matched user for its operands. `Neighbours` is given the
matching as it grows and answers which unmatched positions are each other's best, in rounds: a
round looks at the matching as it stands, so the answer does not depend on any order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from app.analysis.fingerprints import Indexed, metadata_key

_Signature = Callable[[int], int]

# Of what is used by more than this many alike, none is told from the others by it.
_MOST_ALIKE = 16

# An operand of a user with another number of operands may have been shifted.
_SHIFTED = 0.5
_SAME_METADATA = 0.25


class Neighbours:
    """Asked round by round while the two computations are matched."""

    def __init__(
        self,
        before: Indexed,
        after: Indexed,
        partner: Mapping[int, int],
        back: Mapping[int, int],
    ) -> None:
        self._sides = (before, after)
        self._partners = (partner, back)
        self._alike: dict[tuple[int, int, _Signature], dict[tuple[int, int], list[int]]] = {}

    def beside(self, pairs: Iterable[tuple[int, int]]) -> tuple[set[int], set[int]]:
        """The unmatched neighbours of new pairs, on either side."""
        found: tuple[set[int], set[int]] = (set(), set())
        for pair in pairs:
            for side, position in enumerate(pair):
                indexed, partner = self._sides[side], self._partners[side]
                found[side].update(
                    o for o in indexed.operands(position) if o >= 0 and o not in partner
                )
                found[side].update(u for u, _ in indexed.users(position) if u not in partner)
        return found

    def agreed(
        self, left: set[int], right: set[int], signatures: tuple[_Signature, _Signature]
    ) -> list[tuple[int, int]]:
        """Pairs with one end in `left` or `right` of which each is the other's one best."""
        best: tuple[dict[int, int | None], dict[int, int | None]] = ({}, {})

        def best_of(side: int, position: int) -> int | None:
            if position not in best[side]:
                best[side][position] = self._best(side, position, signatures)
            return best[side][position]

        found: set[tuple[int, int]] = set()
        for i in left:
            j = best_of(0, i)
            if j is not None and best_of(1, j) == i:
                found.add((i, j))
        for j in right:
            i = best_of(1, j)
            if i is not None and best_of(0, i) == j:
                found.add((i, j))
        return sorted(found)

    def _best(
        self, side: int, position: int, signatures: tuple[_Signature, _Signature]
    ) -> int | None:
        """The candidate on the other side with most votes, None for none and for a tie."""
        votes: dict[int, float] = {}
        for candidate, weight in self._votes(side, position, signatures):
            votes[candidate] = votes.get(candidate, 0.0) + weight
        if not votes:
            return None
        if len(votes) > 1:
            own = metadata_key(self._sides[side].instructions[position])
            others = self._sides[1 - side].instructions
            for candidate in votes:
                if metadata_key(others[candidate]) == own:
                    votes[candidate] += _SAME_METADATA
        most = max(votes.values())
        first = [candidate for candidate, count in votes.items() if count == most]
        return first[0] if len(first) == 1 else None

    def _users_alike(
        self, side: int, position: int, signature: _Signature
    ) -> Mapping[tuple[int, int], Sequence[int]]:
        """The users of an instruction by operand number and signature."""
        key = (side, position, signature)
        found = self._alike.get(key)
        if found is None:
            found = self._alike[key] = {}
            for user, number in self._sides[side].users(position):
                found.setdefault((number, signature(user)), []).append(user)
        return found

    def _votes(
        self, side: int, position: int, signatures: tuple[_Signature, _Signature]
    ) -> Iterator[tuple[int, float]]:
        here, there = self._sides[side], self._sides[1 - side]
        partner, taken = self._partners[side], self._partners[1 - side]
        own = signatures[side](position)
        other = signatures[1 - side]
        for number, (operand, _) in enumerate(here.sources(position)):
            counterpart = partner.get(operand)
            if counterpart is None:
                continue
            alike = self._users_alike(1 - side, counterpart, other).get((number, own), ())
            if len(alike) <= _MOST_ALIKE:
                yield from ((user, 1.0) for user in alike if user not in taken)
        for user, number in here.users(position):
            counterpart = partner.get(user)
            if counterpart is None:
                continue
            operands = there.operands(counterpart)
            if len(operands) == len(here.operands(user)):
                operand = operands[number]
                if operand >= 0 and operand not in taken and other(operand) == own:
                    yield operand, 1.0
            else:
                alike = [o for o in operands if o >= 0 and o not in taken and other(o) == own]
                if len(alike) <= _MOST_ALIKE:
                    yield from ((o, _SHIFTED) for o in alike)
