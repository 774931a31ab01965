"""What differs between two module texts: computations first, then their instructions.

`diff_modules` is given two parsed modules and says what is unchanged, changed in what, renamed,
moved in the schedule, added and removed. Computations that are one object are equal; a `Differ`
remembers each pair of distinct computations, so that a history is compared pass by pass at the
cost of what changed. Diffing swaps cleanly: what one direction adds, the other removes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from app.analysis.call_matching import (
    EQUAL_TEXT,
    ComputationMatching,
    match_computations,
    sure_counterpart,
)
from app.analysis.differing_parts import Comparison, differences
from app.analysis.fingerprints import FingerprintTable
from app.analysis.matching import Matching, MatchingCache
from app.analysis.relocated import with_relocations
from app.analysis.rewrites import name_clones, same_changes, with_copies
from app.analysis.rising_run import rising_run
from app.model.facts import ComputationDiff, InstructionChange, ModuleDiff
from hlo_parser import Computation, Instruction, Module

# An instruction of a module: the names of its computation and its own.
Place = tuple[str, str]


def diff_modules(before: Module, after: Module) -> ModuleDiff:
    """Compare two texts; see `Differ` for many texts that share computations."""
    return Differ().diff(before, after)


_Computations = tuple[Computation, ...]


class Differ:
    """Compares modules and remembers what it has compared.

    Use one for all texts of one dump (or of the two dumps compared) and drop it afterwards: it
    keeps what it has seen.
    """

    def __init__(self) -> None:
        self._table = FingerprintTable()
        self._matchings = MatchingCache(self._table)
        self._pairs: dict[tuple[Matching, Comparison], _PairDiff] = {}
        self._modules: dict[tuple[_Computations, _Computations], ComputationMatching] = {}

    def diff(self, before: Module, after: Module) -> ModuleDiff:
        """What is different in `after`."""
        matching = self._module_matching(before, after)
        comparison = Comparison.of(before, after)
        found: list[ComputationDiff] = []
        matched: dict[str, Matching] = {}
        unchanged = 0
        # A name given twice finds one computation; the other has no counterpart.
        for there in dict.fromkeys(after.computations):
            here = before.get(matching.back.get(there.name, ""))
            if here is None or after.get(there.name) is not there:
                found.append(_one_sided(there, is_added=True))
                continue
            how = matching.how[here.name]
            if how == EQUAL_TEXT and not matching.has_moved_callees(here):
                unchanged += 1
                continue
            instructions = self._matchings.of(before, after, here, there)
            diff = _with_callees(
                self._compare(instructions, comparison),
                lambda here, there: (
                    matching.partner.get(here) == there
                    or self._are_equal_leaves(before.get(here), after.get(there))
                ),
            )
            if _is_empty(diff):
                unchanged += 1
            else:
                found.append(replace(diff, how=how))
                matched[here.name] = instructions
        found += [
            _one_sided(here, is_added=False)
            for here in dict.fromkeys(before.computations)
            if here.name not in matching.partner or before.get(here.name) is not here
        ]
        renamed = tuple((here, there) for here, there in matching.partner.items() if here != there)
        modules = (before, after)
        found = with_relocations(
            found,
            lambda diff: matched.get(diff.before or "") if diff.after else None,
            modules,
            self._table,
        )
        found = [
            with_copies(diff, matched[diff.before], modules, self._table)
            if diff.before in matched and diff.after
            else diff
            for diff in found
        ]
        found = name_clones(found, modules, self._table)
        return ModuleDiff(
            computations=tuple(found),
            unchanged=unchanged,
            renamed=renamed,
            alike=same_changes(found, modules, self._table),
        )

    def of_one(
        self, before: Module, after: Module, computation: str, instruction: str
    ) -> ComputationDiff | None:
        """What `diff` says of one instruction of `after` and of nothing else; None where unsure.

        It is sure, at a small part of the cost, where the instruction has a counterpart in a
        computation whose own counterpart needs no search, and what it calls is equal.
        """
        there = after.get(computation)
        if there is None:
            return None
        here = sure_counterpart(before, after, there, self._table, self._matches(before, after))
        if here is None:
            return None
        matching = self._matchings.of(before, after, here, there)
        j = matching.after.index.get(instruction, -1)
        i = matching.back.get(j)
        if i is None:
            return None
        old, new = here.instructions[i], there.instructions[j]
        if len(old.callees) != len(new.callees) or not all(
            one.role == other.role
            and self._are_equal_leaves(before.get(one.name), after.get(other.name))
            for one, other in zip(old.callees, new.callees, strict=True)
        ):
            return None
        what = _what_differs(matching, i, j, Comparison.of(before, after))
        return ComputationDiff(
            before=here.name,
            after=there.name,
            how="",
            changed=(InstructionChange(old.name, new.name, what, matching.how[i]),) if what else (),
            renamed=((old.name, new.name),) if not what and old.name != new.name else (),
        )

    def _are_equal_leaves(self, here: Computation | None, there: Computation | None) -> bool:
        """Whether two computations are equal and call nothing: which is called does not matter."""
        return (
            here is not None
            and there is not None
            and self._table.content(here, "whole") == self._table.content(there, "whole")
            and not any(instruction.callees for instruction in here.instructions)
        )

    def computation_before(
        self, before: Module, after: Module, computation: Computation
    ) -> Computation | None:
        """The counterpart in `before` of a computation of `after`, None for an added one."""
        name = self._module_matching(before, after).back.get(computation.name)
        return None if name is None else before.get(name)

    def instruction_before(
        self, before: Module, after: Module, computation: Computation, instruction: Instruction
    ) -> Instruction | None:
        """The counterpart of an instruction of `after` in the counterpart of its computation."""
        other = self.computation_before(before, after, computation)
        if other is None:
            return None
        matching = self._matchings.of(before, after, other, computation)
        position = matching.back.get(matching.after.index.get(instruction.name, -1))
        return None if position is None else other.instructions[position]

    def counterparts(self, before: Module, after: Module) -> dict[Place, Place]:
        """Every matched instruction of `before` and its counterpart, as (computation, name)."""
        found: dict[Place, Place] = {}
        for name, other in self._module_matching(before, after).partner.items():
            here, there = before.get(name), after.get(other)
            if here is None or there is None:
                continue
            matching = self._matchings.of(before, after, here, there)
            for i, j in matching.partner.items():
                found[name, here.instructions[i].name] = (other, there.instructions[j].name)
        return found

    def _module_matching(self, before: Module, after: Module) -> ComputationMatching:
        key = (before.computations, after.computations)
        found = self._modules.get(key)
        if found is None:
            found = match_computations(
                before,
                after,
                self._table,
                self._matches(before, after),
            )
            self._modules[key] = found
        return found

    def _matches(
        self, before: Module, after: Module
    ) -> Callable[[Computation, Computation], Matching]:
        return lambda here, there: self._matchings.of(before, after, here, there)

    def _compare(self, matching: Matching, comparison: "Comparison") -> "_PairDiff":
        key = (matching, comparison)
        found = self._pairs.get(key)
        if found is None:
            found = self._pairs[key] = _compare(matching, comparison)
        return found


@dataclass(frozen=True, slots=True)
class _PairDiff:
    """One pair of computations compared, without regard to what their callees became.

    `calls` are the matched instructions that call something.
    """

    diff: ComputationDiff
    calls: tuple[tuple[Instruction, Instruction], ...]


def _is_empty(diff: ComputationDiff) -> bool:
    return not (diff.added or diff.removed or diff.changed or diff.renamed or diff.moved)


def _one_sided(computation: Computation, *, is_added: bool) -> ComputationDiff:
    names = tuple(instruction.name for instruction in computation.instructions)
    return ComputationDiff(
        before=None if is_added else computation.name,
        after=computation.name if is_added else None,
        how="no counterpart",
        added=names if is_added else (),
        removed=() if is_added else names,
    )


def _compare(matching: Matching, comparison: Comparison) -> _PairDiff:
    before, after = matching.before.instructions, matching.after.instructions
    changed: list[InstructionChange] = []
    renamed: list[tuple[str, str]] = []
    calls: list[tuple[Instruction, Instruction]] = []
    unchanged = 0
    for i, j in matching.partner.items():
        here, there = before[i], after[j]
        if here.callees or there.callees:
            calls.append((here, there))
        what = _what_differs(matching, i, j, comparison)
        if what:
            changed.append(InstructionChange(here.name, there.name, what, matching.how[i]))
        elif here.name != there.name:
            renamed.append((here.name, there.name))
        else:
            unchanged += 1
    diff = ComputationDiff(
        before=matching.before.computation.name,
        after=matching.after.computation.name,
        how="",
        added=tuple(there.name for j, there in enumerate(after) if j not in matching.back),
        removed=tuple(here.name for i, here in enumerate(before) if i not in matching.partner),
        changed=tuple(changed),
        renamed=tuple(renamed),
        moved=_moved(matching) if comparison.scheduled else (),
        unchanged=unchanged,
    )
    return _PairDiff(diff, tuple(calls))


def _what_differs(matching: Matching, i: int, j: int, comparison: Comparison) -> tuple[str, ...]:
    here, there = matching.before.instructions[i], matching.after.instructions[j]
    if matching.names_agree and (here is there or here.text == there.text):
        return ()
    return tuple(differences(matching, i, j, comparison))


def _with_callees(pair: _PairDiff, is_same: Callable[[str, str], bool]) -> ComputationDiff:
    """Adds the calls whose callees are not each other's counterparts in this module."""
    other = {
        here.name: there.name
        for here, there in pair.calls
        if len(here.callees) != len(there.callees)
        or not all(
            one.role == counterpart.role and is_same(one.name, counterpart.name)
            for one, counterpart in zip(here.callees, there.callees, strict=True)
        )
    }
    if not other:
        return pair.diff
    diff = pair.diff
    known = {change.before for change in diff.changed}
    renamed = tuple(names for names in diff.renamed if names[0] not in other)
    changed = [
        replace(change, what=(*change.what, "callees")) if change.before in other else change
        for change in diff.changed
    ]
    new = [
        InstructionChange(here, there, ("callees",), "calls another computation")
        for here, there in other.items()
        if here not in known
    ]
    return replace(
        diff,
        changed=(*changed, *new),
        renamed=renamed,
        unchanged=diff.unchanged - (len(new) - (len(diff.renamed) - len(renamed))),
    )


def _moved(matching: Matching) -> tuple[str, ...]:
    """Names (after) of the fewest instructions whose move explains the new order.

    What stays is a longest increasing run of new positions, read in the old order.
    """
    order = list(matching.partner.values())
    stays = rising_run(order)
    moved = sorted(position for position in order if position not in stays)
    return tuple(matching.after.instructions[position].name for position in moved)
