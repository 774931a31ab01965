"""The steps by which the instructions of two computations are matched.

`Matcher` holds the pairs found so far and offers one method a step; `matching.py` says in which
order they go. What is paired stands for both instructions in all graphs looked at later.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Literal

from app.analysis.fingerprints import (
    FingerprintTable,
    Indexed,
    Strictness,
    immediate,
    metadata_key,
)
from app.analysis.likeness import Side, most_alike
from app.analysis.neighbours import Neighbours
from hlo_parser import Instruction

# Positions of one computation to what they are compared by.
_Keys = Mapping[int, Hashable]
_Numbers = Mapping[int, int]

Callees = Callable[[str], int]
"""A number for a called computation; equal for equal content."""

_LEVELS: Mapping[Strictness, str] = {
    "whole": "",
    "exact": ", other metadata or callee",
    "layout-free": ", other layout or attributes",
    "operation": ", other shape",
}

# How many free instructions are looked at, in all rounds together, for what is most alike: so many
# times those that are free at first, and some more. Neighbours in our dumps took 17 rounds at most;
# of a long chain in which everything changed each round would find its ends alone.
_LOOKS = 24
_MORE_LOOKS = 10_000


def names_agree(before: Indexed, after: Indexed) -> bool:
    """Whether equal names mean the same instruction: at least half do the same to the same names.

    A module that was renumbered shares many names by accident, but then they take other operands.
    """
    common = 0
    alike = 0
    for name, position in before.index.items():
        other = after.index.get(name)
        if other is None:
            continue
        common += 1
        here, there = before.instructions[position], after.instructions[other]
        alike += here is there or _do_the_same(here, there)
    return alike * 2 >= common


def _do_the_same(here: Instruction, there: Instruction) -> bool:
    if here.opcode != there.opcode or here.operands != there.operands:
        return False
    if here.operands:
        return True
    # Constants and parameters prove little: many share a name and nothing else.
    return (
        immediate(here) == immediate(there)
        and here.shape.without_layout == there.shape.without_layout
    )


class Matcher:
    """The state of one matching; a pair's number stands for both instructions in fingerprints."""

    def __init__(
        self,
        before: Indexed,
        after: Indexed,
        table: FingerprintTable,
        callees: tuple[Callees, Callees],
    ) -> None:
        self.before = before
        self.after = after
        self.partner: dict[int, int] = {}
        self.back: dict[int, int] = {}
        self.how: dict[int, str] = {}
        self.names_agree = names_agree(before, after)
        self._table = table
        self._callees = callees
        self._settled: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self._free_at = 0
        self._possible_at = -1
        self._possible: tuple[list[int], list[int]] = ([], [])
        self._free_positions = (
            list(range(len(before.instructions))),
            list(range(len(after.instructions))),
        )
        self._neighbours: Neighbours | None = None
        self._looks_left: int | None = None
        self._known_signatures: dict[tuple[int, Strictness], Callable[[int], int]] = {}

    def _pair(self, i: int, j: int, how: str) -> None:
        self.partner[i] = j
        self.back[j] = i
        self.how[i] = how
        # Below zero, where no graph is numbered; -1 stands for an unknown operand.
        self._settled[0][i] = self._settled[1][j] = -1 - len(self.partner)

    def are_equal(self, i: int, j: int) -> bool:
        """Whether two instructions are equal in themselves, operands aside."""
        return self._signatures(0, "whole")(i) == self._signatures(1, "whole")(j)

    def exchange(self, i: int, other: int) -> None:
        """Let two matched instructions exchange their counterparts."""
        partner, back, settled = self.partner, self.back, self._settled
        partner[i], partner[other] = partner[other], partner[i]
        for position in (i, other):
            back[partner[position]] = position
            settled[1][partner[position]] = settled[0][position]

    def _free(self) -> tuple[list[int], list[int]]:
        left, right = self._settled
        if self._free_at != len(self.partner):
            here, there = self._free_positions
            self._free_positions = (
                [i for i in here if i not in left],
                [j for j in there if j not in right],
            )
            self._free_at = len(self.partner)
        return self._free_positions

    def match_names(self, *, same_opcode: bool) -> None:
        """Pair what has one name; with `same_opcode` only where it is the same operation still."""
        left, right = self._settled
        for name, i in self.before.index.items():
            j = self.after.index.get(name)
            if j is None or i in left or j in right:
                continue
            here, there = self.before.instructions[i], self.after.instructions[j]
            if here is there or not same_opcode or here.opcode == there.opcode:
                self._pair(i, j, "same name")

    def match_graphs(self) -> None:
        """Pair what is unique by operands or users, and spread from there; strictest first."""
        for strictness, remark in _LEVELS.items():
            # What graphs of one kind paired tells the same graphs nothing new: what is unique
            # stays so, and what is alike stays alike. They are looked at again for others' pairs.
            seen_by_operands = seen_by_users = -1
            while self._have_common(strictness):
                known = len(self.partner)
                if seen_by_operands < known:
                    self._match_unique(*self._operand_graphs(strictness), f"same operands{remark}")
                    seen_by_operands = len(self.partner)
                if seen_by_users < len(self.partner):
                    self._match_unique(*self._user_graphs(strictness), f"same users{remark}")
                    seen_by_users = len(self.partner)
                self._spread(strictness, f"same neighbours{remark}")
                if len(self.partner) == known:
                    break

    def match_equals(self, levels: Sequence[Strictness], *, only_as_many: bool) -> None:
        """Pair within groups of equals that nothing tells apart."""
        for strictness in levels:
            if not self._have_common(strictness):
                continue
            for group, others in self._equals(strictness):
                if len(group) == len(others) or not only_as_many:
                    self._match_group(group, others, strictness)

    def match_alike(self, *, ties: bool) -> None:
        """Pair what is most alike, all evidence together, each round heard by the neighbours."""
        with_ties = False
        while self._have_common("operation"):
            left, right = self._free()
            if not self._may_look_at(len(left) + len(right)):
                return
            sides = self._side(0), self._side(1)
            pairs = most_alike(*sides, left, right, with_ties=with_ties)
            for i, j in pairs:
                self._pair(i, j, "most alike")
            if pairs:
                self.match_graphs()
            elif with_ties or not ties:
                return
            with_ties = not pairs

    def _may_look_at(self, count: int) -> bool:
        if self._looks_left is None:
            self._looks_left = _LOOKS * count + _MORE_LOOKS
        self._looks_left -= count
        return self._looks_left >= 0

    def _side(self, side: Literal[0, 1]) -> Side:
        return Side(
            indexed=(self.before, self.after)[side],
            settled=self._settled[side],
            signature=self._signatures(side, "exact"),
            callees=self._callees[side],
        )

    def _have_common(self, strictness: Strictness) -> bool:
        """Whether anything free on one side could be something free on the other."""
        if self._possible_at != len(self.partner):
            left, right = self._free()
            self._possible = self._common(left, right, "operation")
            self._possible_at = len(self.partner)
        left, right = self._possible
        return bool(left) and bool(self._common(left, right, strictness)[0])

    def _common(
        self, left: list[int], right: list[int], strictness: Strictness
    ) -> tuple[list[int], list[int]]:
        """Those that have one of the same signature on the other side."""
        if not left or not right:
            return [], []
        one, other = self._signatures(0, strictness), self._signatures(1, strictness)
        common = set(map(one, left)).intersection(map(other, right))
        if not common:
            return [], []
        return [i for i in left if one(i) in common], [j for j in right if other(j) in common]

    def match_values(self) -> None:
        """Pair what computes the same of the same: whichever is which, nothing came or went."""
        if not self._have_common("exact"):
            return
        left, right = self._operand_graphs("exact")
        for group, others in _common_groups(left, right):
            for i, j in self._in_order(group, others):
                self._pair(i, j, "same operands, in order")

    def _spread(self, strictness: Strictness, how: str) -> None:
        """Pair what the matched neighbours agree on, until they have no more to say."""
        left, right = self._common(*self._free(), strictness)
        self._spread_from(set(left), set(right), strictness, how)

    def _spread_from(
        self, left: set[int], right: set[int], strictness: Strictness, how: str
    ) -> None:
        neighbours = self._neighbours
        if neighbours is None:
            neighbours = self._neighbours = Neighbours(
                self.before, self.after, self.partner, self.back
            )
        signatures = (self._signatures(0, strictness), self._signatures(1, strictness))
        while left and right:
            pairs = neighbours.agreed(left, right, signatures)
            for i, j in pairs:
                self._pair(i, j, how)
            left, right = neighbours.beside(pairs)

    def _signatures(self, side: int, strictness: Strictness) -> Callable[[int], int]:
        found = self._known_signatures.get((side, strictness))
        if found is None:
            indexed = (self.before, self.after)[side]
            found = self._table.signatures(indexed, strictness, self._callees[side])
            self._known_signatures[side, strictness] = found
        return found

    def _operand_graphs(self, strictness: Strictness) -> tuple[_Numbers, _Numbers]:
        left, right = self._free()
        if not left or not right:
            return {}, {}
        look = self._table.operand_graphs
        return (
            look(self.before, left, self._settled[0], self._signatures(0, strictness)),
            look(self.after, right, self._settled[1], self._signatures(1, strictness)),
        )

    def _user_graphs(self, strictness: Strictness) -> tuple[_Numbers, _Numbers]:
        left, right = self._free()
        if not left or not right:
            return {}, {}
        look = self._table.user_graphs
        return (
            look(self.before, left, self._settled[0], self._signatures(0, strictness)),
            look(self.after, right, self._settled[1], self._signatures(1, strictness)),
        )

    def _equals(self, strictness: Strictness) -> list[tuple[list[int], list[int]]]:
        """Groups of free positions of one colour, refined by operands and users in turn."""
        left, right = self._free()
        if not left or not right:
            return []
        colours: list[Callable[[int], int]] = [
            self._signatures(0, strictness),
            self._signatures(1, strictness),
        ]
        free = (left, right)
        sides = (self.before, self.after)
        numbers: list[_Numbers] = [{}, {}]
        count = 0
        while True:
            for side in (0, 1):
                for look in (self._table.operand_graphs, self._table.user_graphs):
                    found = look(sides[side], free[side], self._settled[side], colours[side])
                    numbers[side] = found
                    colours[side] = found.__getitem__
            refined = len(set(numbers[0].values()) | set(numbers[1].values()))
            if refined == count:
                break
            count = refined
        return _common_groups(*numbers)

    def _match_group(self, group: list[int], others: list[int], strictness: Strictness) -> None:
        remark = _LEVELS[strictness]
        for i, j in self._in_order(group, others):
            if i in self.partner or j in self.back:
                continue
            self._pair(i, j, f"same operands and users{remark}")
            neighbours = self._neighbours
            if neighbours is not None:
                left, right = neighbours.beside([(i, j)])
                self._spread_from(left, right, strictness, f"same neighbours{remark}")

    def _in_order(self, group: list[int], others: list[int]) -> list[tuple[int, int]]:
        """Pairs of two groups of equals: by name, by metadata, then in the order of the text."""
        pairs: list[tuple[int, int]] = []
        if len(group) > 1 or len(others) > 1:
            group = sorted(group, key=lambda i: _element(self.before.instructions[i]))
            others = sorted(others, key=lambda j: _element(self.after.instructions[j]))
        keys: tuple[Callable[[Instruction], Hashable], ...] = (_name_of, metadata_key, _nothing)
        if len(group) == 1 == len(others):
            keys = (_nothing,)
        for key in keys:
            there: defaultdict[Hashable, list[int]] = defaultdict(list)
            for j in reversed(others):
                there[key(self.after.instructions[j])].append(j)
            taken: set[int] = set()
            rest: list[int] = []
            for i in group:
                same = there.get(key(self.before.instructions[i]))
                if same:
                    pairs.append((i, same[-1]))
                    taken.add(same.pop())
                else:
                    rest.append(i)
            group, others = rest, [j for j in others if j not in taken]
        return pairs

    def _match_unique(self, left: _Keys, right: _Keys, how: str) -> None:
        for group, others in _common_groups(left, right):
            if len(group) == 1 == len(others):
                self._pair(group[0], others[0], how)


def _common_groups(left: _Keys, right: _Keys) -> list[tuple[list[int], list[int]]]:
    """Positions of one key on both sides, ascending; in an order that favours no side."""
    common = set(left.values()).intersection(right.values())
    if not common:
        return []
    there = _grouped(right, common)
    found = [(group, there[key]) for key, group in _grouped(left, common).items()]
    found.sort(key=lambda pair: (pair[0][0] + pair[1][0], min(pair[0][0], pair[1][0])))
    return found


def _grouped(keys: _Keys, chosen: set[Hashable]) -> dict[Hashable, list[int]]:
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    for position in sorted([position for position, key in keys.items() if key in chosen]):
        groups[keys[position]].append(position)
    return groups


def _name_of(instruction: Instruction) -> Hashable:
    return instruction.name


def _element(instruction: Instruction) -> int:
    """The number of the tuple's element, which orders those of one tuple whatever the text."""
    index = instruction.tuple_index
    return -1 if index is None else index


def _nothing(_: Instruction) -> Hashable:
    return None
