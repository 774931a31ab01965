"""Equal edits of two texts, and computations with the same edits, gathered to be seen once each.

Takes the two modules and what `diff_modules` says of them; `edits.py` says which edits are equal.
Shows nothing: the list of changes and the two panes do that, each in its way.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from app.model.facts import ComputationDiff, ModuleDiff
from app.views.edits import Edit, edits_of, relocations_of
from hlo_parser import Computation, Module


@dataclass(slots=True)
class EditGroup:
    """Equal edits of one computation, in the order of the texts; never empty."""

    edits: list[Edit]

    @property
    def times(self) -> int:
        """How often the edit was made."""
        return len(self.edits)


@dataclass(slots=True)
class ChangeGroup:
    """Computations with the same edits: `diff` is the first, `same_in` are the others.

    Computations that were added or removed as a whole count as the same where their opcodes and
    shapes are; `groups` then hold what moved in or out alone.
    """

    diff: ComputationDiff
    groups: tuple[EditGroup, ...]
    same_in: list[ComputationDiff] = field(default_factory=list[ComputationDiff])


def grouped_changes(before: Module, after: Module, diff: ModuleDiff) -> list[ChangeGroup]:
    """All computations that differ, equal ones gathered, in the order of the diff."""
    return gathered(before, after, diff, edits_by_pair(before, after, diff))


def edits_by_pair(
    before: Module, after: Module, diff: ModuleDiff
) -> tuple[tuple[EditGroup, ...], ...]:
    """The edits of all computations that differ, in the order of the diff."""
    return tuple(
        edit_groups(item, *computations_of(item, before, after)) for item in diff.computations
    )


def gathered(
    before: Module, after: Module, diff: ModuleDiff, edits: Sequence[tuple[EditGroup, ...]]
) -> list[ChangeGroup]:
    """`grouped_changes` of `edits` that are known: those of `edits_by_pair`."""
    found: dict[Hashable, ChangeGroup] = {}
    for number, (item, groups) in enumerate(zip(diff.computations, edits, strict=True)):
        here, there = computations_of(item, before, after)
        key: Hashable = tuple((group.edits[0].key, group.times) for group in groups)
        if here is None or there is None:
            key = (here is None, _content(here or there), key)
        key = key or number
        known = found.setdefault(key, ChangeGroup(item, groups))
        if known.diff is not item:
            known.same_in.append(item)
    return list(found.values())


def edit_groups(
    diff: ComputationDiff, here: Computation | None, there: Computation | None
) -> tuple[EditGroup, ...]:
    """The edits of one pair of computations, equal ones together, by their first place."""
    if here is not None and there is not None:
        edits = edits_of(diff, here, there)
    else:
        edits = relocations_of(diff, here, there)
    groups: dict[Hashable, EditGroup] = {}
    for edit in edits:
        groups.setdefault(edit.key, EditGroup([])).edits.append(edit)
    return tuple(groups.values())


def computations_of(
    diff: ComputationDiff, before: Module, after: Module
) -> tuple[Computation | None, Computation | None]:
    """The two computations that a diff is about; None where one has no counterpart."""
    return before.get(diff.before or ""), after.get(diff.after or "")


def _content(computation: Computation | None) -> Hashable:
    instructions = () if computation is None else computation.instructions
    return tuple((item.opcode, item.shape.without_layout) for item in instructions)
