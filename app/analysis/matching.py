"""Which instruction of one computation is which of another.

Given two computations, gives a one-to-one matching of positions with the reason for each pair.
Names decide where the two computations use names alike (neighbouring passes do). Then, from the
full signature (metadata and the content of what is called among it) to less and less of it: what
is unique by the exact graph of its operands or users, and what the matched neighbours of both
sides agree on. What changed in itself and around it is paired by all evidence taken together,
names and metadata being part of it; groups of equals are dealt out one pair at a time, each heard
by its neighbours before the next, and exchanged where their users say so. It does the same
whichever computation comes first.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from app.analysis.exchanges import exchange
from app.analysis.fingerprints import FingerprintTable, Indexed
from app.analysis.matcher import Callees, Matcher
from hlo_parser import Computation, Module


@dataclass(frozen=True, slots=True, eq=False)
class Matching:
    """Pairs of positions, in the order of the first computation, with the reason for each.

    `back` is the inverse of `partner`. `names_agree` says that the two computations use names
    alike, so that equal text means the same instruction.
    """

    before: Indexed
    after: Indexed
    partner: Mapping[int, int]
    back: Mapping[int, int]
    how: Mapping[int, str]
    names_agree: bool


class MatchingCache:
    """Matches computations of modules and remembers what it has matched.

    A matching depends on the modules only through the content of the computations called that it
    asked for, so it is used again where these are the same.
    """

    def __init__(self, table: FingerprintTable) -> None:
        self._table = table
        self._known: defaultdict[
            tuple[Computation, Computation], list[tuple[Matching, _Asked, _Asked]]
        ] = defaultdict(list)
        # For one pair of modules most are asked for several times, and need no second look.
        self._of_pair: dict[tuple[Module, Module, Computation, Computation], Matching] = {}

    def of(self, before: Module, after: Module, here: Computation, there: Computation) -> Matching:
        """The matching of a computation of `before` with one of `after`."""
        key = before, after, here, there
        found = self._of_pair.get(key)
        if found is None:
            found = self._of_pair[key] = self._find(*key)
        return found

    def _find(
        self, before: Module, after: Module, here: Computation, there: Computation
    ) -> Matching:
        known = self._known[here, there]
        for matching, left, right in known:
            if all(self._content(before, name) == number for name, number in left.items()) and all(
                self._content(after, name) == number for name, number in right.items()
            ):
                return matching
        asked: tuple[_Asked, _Asked] = ({}, {})
        callees = (self._asking(before, asked[0]), self._asking(after, asked[1]))
        matching = match_instructions(here, there, self._table, callees)
        known.append((matching, *asked))
        return matching

    def _content(self, module: Module, name: str) -> int:
        computation = module.get(name)
        return -1 if computation is None else self._table.content(computation, "whole")

    def _asking(self, module: Module, asked: "_Asked") -> Callees:
        def content(name: str) -> int:
            found = asked.get(name)
            if found is None:
                found = asked[name] = self._content(module, name)
            return found

        return content


_Asked = dict[str, int]
"""The content of called computations by name."""


def match_instructions(
    before: Computation,
    after: Computation,
    table: FingerprintTable,
    callees: tuple[Callees, Callees],
) -> Matching:
    """Match two computations; `callees` number what either calls."""
    matcher = Matcher(table.indexed(before), table.indexed(after), table, callees)
    if matcher.names_agree:
        matcher.match_names(same_opcode=True)
    matcher.match_graphs()
    matcher.match_equals(("whole", "exact"), only_as_many=True)
    matcher.match_alike(ties=False)
    matcher.match_equals(("whole", "exact", "layout-free"), only_as_many=False)
    matcher.match_names(same_opcode=False)
    matcher.match_alike(ties=True)
    matcher.match_values()
    exchange(matcher)
    return Matching(
        before=matcher.before,
        after=matcher.after,
        partner={i: matcher.partner[i] for i in sorted(matcher.partner)},
        back=matcher.back,
        how=matcher.how,
        names_agree=matcher.names_agree,
    )
