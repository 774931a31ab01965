"""Which instruction of one computation is which of another.

Given two computations, gives a one-to-one matching of positions with the reason for each pair.
Names decide where the two computations use names alike (neighbouring passes do); else exact
graphs of operands and of users, then the same with less and less of the signature, then metadata
and name stems as votes. Ties are settled by name, then by order of text. Every step groups by a
key and costs one pass over what is not matched yet, so the whole is near-linear; it does the same
whichever computation comes first.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from app.analysis.fingerprints import (
    FingerprintTable,
    Indexed,
    Strictness,
    Users,
    immediate,
    name_stem,
    operation_of,
)
from hlo_parser import Computation, Instruction

# Positions of one computation to what they are compared by.
_Keys = Mapping[int, Hashable]
_Numbers = Mapping[int, int]

_LEVELS: tuple[tuple[Strictness, str], ...] = (
    ("exact", ""),
    ("layout-free", ", other layout or attributes"),
    ("operation", ", other shape"),
)


@dataclass(frozen=True, slots=True)
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


def match_instructions(
    before: Computation, after: Computation, table: FingerprintTable
) -> Matching:
    """Match two computations."""
    matcher = _Matcher(table.indexed(before), table.indexed(after), table)
    if matcher.names_agree:
        matcher.match_names(same_opcode=True)
    matcher.match_graphs()
    matcher.match_names(same_opcode=False)
    if matcher.match_votes():
        matcher.match_graphs()
    matcher.match_values()
    return Matching(
        before=matcher.before,
        after=matcher.after,
        partner={i: matcher.partner[i] for i in sorted(matcher.partner)},
        back={j: i for i, j in matcher.partner.items()},
        how=matcher.how,
        names_agree=matcher.names_agree,
    )


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


class _Matcher:
    """The state of one matching; a pair's number stands for both instructions in fingerprints."""

    def __init__(self, before: Indexed, after: Indexed, table: FingerprintTable) -> None:
        self.before = before
        self.after = after
        self.partner: dict[int, int] = {}
        self.how: dict[int, str] = {}
        self.names_agree = names_agree(before, after)
        self._table = table
        self._settled: tuple[dict[int, int], dict[int, int]] = ({}, {})

    def _pair(self, i: int, j: int, how: str) -> None:
        self.partner[i] = j
        self.how[i] = how
        number = self._table.number(("pair", len(self.partner)))
        self._settled[0][i] = self._settled[1][j] = number

    def _free(self) -> tuple[list[int], list[int]]:
        left, right = self._settled
        return (
            [i for i in range(len(self.before.instructions)) if i not in left],
            [j for j in range(len(self.after.instructions)) if j not in right],
        )

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
        """Pair by the graphs of operands and users, the exact ones first."""
        left, right = self._free()
        if not left or not right:
            return
        users = (self.before.users_of(left), self.after.users_of(right))
        for strictness, remark in _LEVELS:
            self._match_unique(*self._operand_graphs(strictness), f"same operands{remark}")
            self._match_unique(*self._user_graphs(strictness, users), f"same users{remark}")
            self._match_groups(
                *self._whole_graphs(strictness, users), f"same operands and users{remark}"
            )

    def match_values(self) -> None:
        """Pair what computes the same of the same: whichever is which, nothing came or went."""
        self._match_groups(*self._operand_graphs("exact"), "same operands, in order")

    def _operand_graphs(self, strictness: Strictness) -> tuple[_Numbers, _Numbers]:
        left, right = self._free()
        if not left or not right:
            return {}, {}
        look = self._table.operand_graphs
        return (
            look(self.before, left, self._settled[0], strictness),
            look(self.after, right, self._settled[1], strictness),
        )

    def _user_graphs(
        self, strictness: Strictness, users: tuple[Users, Users]
    ) -> tuple[_Numbers, _Numbers]:
        left, right = self._free()
        if not left or not right:
            return {}, {}
        look = self._table.user_graphs
        return (
            look(self.before, left, self._settled[0], strictness, users[0]),
            look(self.after, right, self._settled[1], strictness, users[1]),
        )

    def _whole_graphs(
        self, strictness: Strictness, users: tuple[Users, Users]
    ) -> tuple[_Keys, _Keys]:
        up, down = self._operand_graphs(strictness), self._user_graphs(strictness, users)
        return (
            {position: (number, down[0][position]) for position, number in up[0].items()},
            {position: (number, down[1][position]) for position, number in up[1].items()},
        )

    def match_votes(self) -> bool:
        """Pair by the operation's JAX name and by stems of names, where just one fits."""
        known = len(self.partner)
        for key, how in (
            (_metadata_vote, "same op_name"),
            (_callee_vote, "calls of similar name"),
            (_stem_vote, "similar name"),
        ):
            left, right = self._free()
            self._match_unique(
                {i: vote for i in left if (vote := key(self.before.instructions[i])) is not None},
                {j: vote for j in right if (vote := key(self.after.instructions[j])) is not None},
                how,
            )
        return len(self.partner) > known

    def _match_unique(self, left: _Keys, right: _Keys, how: str) -> None:
        there = _grouped(right)
        for key, group in _grouped(left).items():
            others = there.get(key, [])
            if len(group) == 1 == len(others):
                self._pair(group[0], others[0], how)

    def _match_groups(self, left: _Keys, right: _Keys, how: str) -> None:
        """Pair within groups of equals: first by name, then in the order of the text."""
        there = _grouped(right)
        for key, group in _grouped(left).items():
            others = there.get(key)
            if others is None:
                continue
            by_name = {self.after.instructions[j].name: j for j in others}
            named = {
                i: j
                for i in group
                if (j := by_name.get(self.before.instructions[i].name)) is not None
            }
            taken = set(named.values())
            rest = zip(
                (i for i in group if i not in named),
                (j for j in others if j not in taken),
                strict=False,
            )
            for i, j in (*named.items(), *rest):
                self._pair(i, j, how)


def _grouped(keys: _Keys) -> dict[Hashable, list[int]]:
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    for position in sorted(keys):
        groups[keys[position]].append(position)
    return groups


def _metadata_vote(instruction: Instruction) -> Hashable | None:
    metadata = instruction.metadata
    if metadata is None or not metadata.op_name:
        return None
    return metadata.op_name, operation_of(instruction), instruction.shape.without_layout


def _callee_vote(instruction: Instruction) -> Hashable | None:
    callees = tuple((callee.role, name_stem(callee.name)) for callee in instruction.callees)
    return (operation_of(instruction), callees) if callees else None


def _stem_vote(instruction: Instruction) -> Hashable | None:
    stem = name_stem(instruction.name).removesuffix("-start")
    return stem, operation_of(instruction)
