"""Which computation of one module is which of another.

Equal computations under one name first; then equal content under other names; then what matched
callers call in the same role; then names; then, for those that nobody calls, what they have in
common; then name stems with equal signatures. Instructions of changed pairs are matched on the
way, since their calls say what belongs together. Choices are mutual, so that the
matching is the same whichever module comes first.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from app.analysis.fingerprints import FingerprintTable, Strictness, metadata_key, name_stem
from app.analysis.likeness import mutual_best
from app.analysis.matching import Matching
from hlo_parser import Computation, Instruction, Module

MatchInstructions = Callable[[Computation, Computation], Matching]

EQUAL_TEXT = "equal text"

# Two computations of one name are taken for the same only if they share this part of their
# opcodes; names of deleted computations are sometimes given out again.
_LEAST_LIKENESS = 0.25


@dataclass(frozen=True, slots=True)
class ComputationMatching:
    """`partner` maps names before to names after, in the text order before; `how` says why.

    `back` is the inverse of `partner`.
    """

    partner: Mapping[str, str]
    back: Mapping[str, str]
    how: Mapping[str, str]
    moved_names: frozenset[str]

    def has_moved_callees(self, computation: Computation) -> bool:
        """Whether it calls a name that means another computation in the second module."""
        return bool(self.moved_names) and any(
            callee.name in self.moved_names
            for instruction in computation.instructions
            for callee in instruction.callees
        )


def match_computations(
    before: Module, after: Module, table: FingerprintTable, match: MatchInstructions
) -> ComputationMatching:
    """Match the computations of two modules."""
    matcher = _Matcher(before, after, table, match)
    matcher.match_equal()
    matcher.match_entry()
    if matcher.names_agree:
        matcher.match_names()
    matcher.match_content(("whole", "exact"), only_unique=True)
    matcher.follow_calls()
    matcher.match_content(("whole", "exact"), only_unique=False)
    matcher.match_names()
    matcher.match_alike()
    matcher.match_content(("layout-free",), only_unique=False)
    matcher.match_stems()
    matcher.follow_calls()
    return matcher.result()


def sure_counterpart(
    before: Module,
    after: Module,
    there: Computation,
    table: FingerprintTable,
    match: MatchInstructions,
) -> Computation | None:
    """The counterpart that `match_computations` gives `there` first of all; None where it searches.

    It matches no instruction for that.
    """
    here = before.get(there.name)
    if there is after.entry:
        named = after.get(before.entry.name)
        return before.entry if here in (None, before.entry) and named in (None, there) else None
    if here is None or here is before.entry or after.get(there.name) is not there:
        return None
    matcher = _Matcher(before, after, table, match)
    return here if matcher.names_agree and matcher.is_alike(there.name) else None


class _Matcher:
    def __init__(
        self, before: Module, after: Module, table: FingerprintTable, match: MatchInstructions
    ) -> None:
        self._before = _by_name(before)
        self._after = _by_name(after)
        self._entries = (before.entry.name, after.entry.name)
        self._table = table
        self._match = match
        self._partner: dict[str, str] = {}
        self._back: dict[str, str] = {}
        self._how: dict[str, str] = {}
        self._unfollowed: list[str] = []
        self.names_agree = self._do_names_agree()

    def _do_names_agree(self) -> bool:
        """Whether one name mostly means one computation, as in neighbouring passes.

        Numbered names are equal by accident between two compilations; then the instructions
        inside have other names.
        """
        common = [name for name in self._before if name in self._after]
        return sum(self._share_names(name) for name in common) * 2 >= len(common)

    def _share_names(self, name: str) -> bool:
        here, there = self._before[name], self._after[name]
        if here is there:
            return True
        left, right = self._table.indexed(here).index, self._table.indexed(there).index
        return len(left.keys() & right.keys()) * 2 >= min(len(left), len(right))

    def result(self) -> ComputationMatching:
        partner = {name: self._partner[name] for name in self._before if name in self._partner}
        moved = frozenset(
            name for name in self._before if name in self._after and partner.get(name) != name
        )
        return ComputationMatching(partner, self._back, self._how, moved)

    def _pair(self, here: str, there: str, how: str) -> None:
        self._partner[here] = there
        self._back[there] = here
        self._how[here] = how
        self._unfollowed.append(here)

    def _free(self) -> tuple[list[Computation], list[Computation]]:
        return (
            [c for name, c in self._before.items() if name not in self._partner],
            [c for name, c in self._after.items() if name not in self._back],
        )

    def match_equal(self) -> None:
        for name, here in self._before.items():
            there = self._after.get(name)
            if there is not None and _is_same_text(here, there):
                self._pair(name, name, EQUAL_TEXT)

    def match_entry(self) -> None:
        here, there = self._entries
        if here not in self._partner and there not in self._back:
            self._pair(here, there, "entry")

    def is_alike(self, name: str) -> bool:
        """Whether the two of one name may be the same, by their opcodes."""
        return self._likeness(name, name) >= _LEAST_LIKENESS

    def match_names(self) -> None:
        for name in self._before:
            if (
                name in self._after
                and name not in self._partner
                and name not in self._back
                and self.is_alike(name)
            ):
                self._pair(name, name, "same name")

    def match_content(self, levels: Sequence[Strictness], *, only_unique: bool) -> None:
        """Pair computations that differ in names, callees and order only, and what levels omit."""
        for strictness in levels:
            self._match_groups(
                partial(self._table.content, strictness=strictness),
                "equal content",
                only_unique=only_unique,
            )

    def match_alike(self) -> None:
        """Pair by what the computations have in common, round by round; for those nobody calls."""
        pairs = self._alike()
        while pairs:
            for here, there in pairs:
                self._pair(here, there, "alike in content")
            self.follow_calls()
            pairs = self._alike()

    def _alike(self) -> list[tuple[str, str]]:
        left, right = self._free()
        if not left or not right:
            return []

        def bonus(i: int, j: int) -> float | None:
            is_like = self._likeness(left[i].name, right[j].name) >= _LEAST_LIKENESS
            return 0.0 if is_like else None

        pairs = mutual_best(
            {n: self._features(c) for n, c in enumerate(left)},
            {n: self._features(c) for n, c in enumerate(right)},
            bonus,
        )
        return [(left[i].name, right[j].name) for i, j in pairs]

    def _features(self, computation: Computation) -> dict[Hashable, float]:
        """The graphs of its instructions, their metadata, and its signature."""
        features: dict[Hashable, float] = {}
        for strictness in ("exact", "layout-free"):
            for graph, count in Counter(self._table.graphs(computation, strictness)).items():
                features[graph] = float(count)
        for instruction in computation.instructions:
            features["metadata", metadata_key(instruction)] = 1.0
        features["result", computation.root.shape.without_layout] = 1.0
        for parameter in computation.parameters:
            features[parameter.parameter_number, parameter.shape.without_layout] = 1.0
        return features

    def match_stems(self) -> None:
        self._match_groups(_stem_and_signature, "similar name, same signature", only_unique=True)

    def _match_groups(
        self, key: Callable[[Computation], Hashable], how: str, *, only_unique: bool
    ) -> None:
        left, right = self._free()
        if not left or not right:
            return
        there = _grouped(right, key)
        for group_key, group in _grouped(left, key).items():
            others = there.get(group_key, [])
            if only_unique and not len(group) == 1 == len(others):
                continue
            names = {c.name for c in others}
            named = [c.name for c in group if c.name in names]
            taken = set(named)
            rest = zip(
                (c.name for c in group if c.name not in taken),
                (c.name for c in others if c.name not in taken),
                strict=False,
            )
            for here, other in (*zip(named, named, strict=True), *rest):
                self._pair(here, other, how)

    def follow_calls(self) -> None:
        """Pair what matched callers call in the same role, round by round until nothing is new.

        Where callers disagree, the most frequent pairing wins if it is so from both sides.
        """
        while self._unfollowed:
            votes: Counter[tuple[str, str]] = Counter()
            reasons: dict[tuple[str, str], str] = {}
            pairs, self._unfollowed = self._unfollowed, []
            left, right = self._free()
            if not left or not right:
                return
            if not {c.name for c in left} & {c.name for c in right}:
                # Equal texts call equal names: they can only speak for a name free on both sides.
                pairs = [name for name in pairs if self._how[name] != EQUAL_TEXT]
            for name in pairs:
                for vote, reason in self._votes(name):
                    votes[vote] += 1
                    reasons.setdefault(vote, reason)
            for here, there in self._mutual(votes):
                self._pair(here, there, reasons[here, there])

    def _votes(self, name: str) -> Iterator[tuple[tuple[str, str], str]]:
        here, there = self._before[name], self._after[self._partner[name]]
        for caller, other in self._matched_calls(here, there):
            for callee, counterpart in zip(caller.callees, other.callees, strict=False):
                if (
                    callee.role == counterpart.role
                    and callee.name in self._before
                    and callee.name not in self._partner
                    and counterpart.name in self._after
                    and counterpart.name not in self._back
                ):
                    reason = f"{callee.role} of {other.name}"
                    yield (callee.name, counterpart.name), reason

    def _matched_calls(
        self, here: Computation, there: Computation
    ) -> Iterable[tuple[Instruction, Instruction]]:
        if self._how[here.name] == EQUAL_TEXT:
            return zip(here.instructions, there.instructions, strict=True)
        matching = self._match(here, there)
        return (
            (here.instructions[i], there.instructions[j])
            for i, j in matching.partner.items()
            if here.instructions[i].callees
        )

    def _mutual(self, votes: Mapping[tuple[str, str], int]) -> list[tuple[str, str]]:
        forward: dict[str, tuple[int, bool, int, str]] = {}
        backward: dict[str, tuple[int, bool, int, str]] = {}
        order_before = {name: n for n, name in enumerate(self._before)}
        order_after = {name: n for n, name in enumerate(self._after)}
        for (here, there), count in votes.items():
            is_same = here == there
            best = (count, is_same, -order_after[there], there)
            forward[here] = max(forward.get(here, best), best)
            best = (count, is_same, -order_before[here], here)
            backward[there] = max(backward.get(there, best), best)
        return [(here, best[3]) for here, best in forward.items() if backward[best[3]][3] == here]

    def _likeness(self, here: str, there: str) -> float:
        """The part of their opcodes that two computations share, 0 to 1."""
        left = self._table.opcodes(self._before[here])
        right = self._table.opcodes(self._after[there])
        return (left & right).total() / max(left.total(), right.total())


def _by_name(module: Module) -> dict[str, Computation]:
    """The computations that their names find; of several with one name that is one."""
    return {c.name: c for c in module.computations if module.get(c.name) is c}


def _is_same_text(here: Computation, there: Computation) -> bool:
    if here is there:
        return True
    return len(here.instructions) == len(there.instructions) and all(
        i is j or i.text == j.text
        for i, j in zip(here.instructions, there.instructions, strict=True)
    )


def _grouped(
    computations: Iterable[Computation], key: Callable[[Computation], Hashable]
) -> dict[Hashable, list[Computation]]:
    groups: defaultdict[Hashable, list[Computation]] = defaultdict(list)
    for computation in computations:
        groups[key(computation)].append(computation)
    return groups


def _stem_and_signature(computation: Computation) -> Hashable:
    return (
        name_stem(computation.name),
        computation.root.shape.without_layout,
        tuple(parameter.shape.without_layout for parameter in computation.parameters),
    )
