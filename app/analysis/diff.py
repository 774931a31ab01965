"""What differs between two module texts: computations first, then their instructions.

`diff_modules` is given two parsed modules and says what is unchanged, changed in what, renamed,
moved in the schedule, added and removed. Computations that are one object are equal; a `Differ`
remembers each pair of distinct computations, so that a history is compared pass by pass at the
cost of what changed. Diffing swaps cleanly: what one direction adds, the other removes.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from app.analysis.call_matching import EQUAL_TEXT, ComputationMatching, match_computations
from app.analysis.fingerprints import UNCOUNTED_KEYS, FingerprintTable, immediate
from app.analysis.matching import Matching, MatchingCache
from app.analysis.relocated import with_relocations
from app.analysis.rewrites import name_clones, same_changes, with_copies
from app.analysis.rising_run import rising_run
from app.model.facts import ComputationDiff, InstructionChange, ModuleDiff
from hlo_parser import Computation, FrameTables, Instruction, Module, Shape, SourceLocation

_FRAME_ID = re.compile(r"stack_frame_id=\d++\s*+")
_SPACE = re.compile(r"S\(\d++\)")

# An instruction of a module: the names of its computation and its own.
Place = tuple[str, str]

# Attributes with a name of their own in `InstructionChange.what`; the others are `attributes`.
_OWN_NAMES = frozenset({"backend_config", "frontend_attributes", "sharding"})


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
        self._pairs: dict[tuple[Matching, _Comparison], _PairDiff] = {}
        self._modules: dict[tuple[_Computations, _Computations], ComputationMatching] = {}

    def diff(self, before: Module, after: Module) -> ModuleDiff:
        """What is different in `after`."""
        matching = self._module_matching(before, after)
        comparison = _Comparison(
            scheduled=before.header.is_scheduled and after.header.is_scheduled,
            frames=None if before.frames is after.frames else (before.frames, after.frames),
        )
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
                lambda here, there: self._matchings.of(before, after, here, there),
            )
            self._modules[key] = found
        return found

    def _compare(self, matching: Matching, comparison: "_Comparison") -> "_PairDiff":
        key = (matching, comparison)
        found = self._pairs.get(key)
        if found is None:
            found = self._pairs[key] = _compare(matching, comparison)
        return found


@dataclass(frozen=True, slots=True)
class _Comparison:
    """What a comparison depends on beside the two computations.

    `frames` are the two frame tables where they are not one: frame numbers mean other lines then.
    """

    scheduled: bool
    frames: tuple[FrameTables | None, FrameTables | None] | None

    def is_same_metadata(self, before: Instruction, after: Instruction) -> bool:
        """Whether two metadata values say the same, frame numbers taken as the lines they mean."""
        here = before.attributes.get("metadata", "")
        there = after.attributes.get("metadata", "")
        if here == there:
            return True
        if self.frames is None or _FRAME_ID.sub("", here) != _FRAME_ID.sub("", there):
            return False
        return self._place(0, before) == self._place(1, after)

    def _place(self, side: Literal[0, 1], instruction: Instruction) -> SourceLocation | None:
        tables = None if self.frames is None else self.frames[side]
        metadata = instruction.metadata
        frame = None if metadata is None else metadata.stack_frame_id
        return None if tables is None or frame is None else tables.location(frame)


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


def _compare(matching: Matching, comparison: _Comparison) -> _PairDiff:
    before, after = matching.before.instructions, matching.after.instructions
    changed: list[InstructionChange] = []
    renamed: list[tuple[str, str]] = []
    calls: list[tuple[Instruction, Instruction]] = []
    unchanged = 0
    for i, j in matching.partner.items():
        here, there = before[i], after[j]
        if here.callees or there.callees:
            calls.append((here, there))
        if matching.names_agree and (here is there or here.text == there.text):
            unchanged += 1
            continue
        what = tuple(_differences(matching, i, j, comparison))
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


def _differences(matching: Matching, i: int, j: int, comparison: _Comparison) -> Iterator[str]:
    """The names of what differs between two matched instructions, their own names aside."""
    here, there = matching.before.instructions[i], matching.after.instructions[j]
    if here.opcode != there.opcode:
        yield "opcode"
    elif immediate(here) != immediate(there):
        yield "literal" if here.opcode == "constant" else "parameter_number"
    if here.shape.text != there.shape.text:
        yield from _shape_differences(here.shape, there.shape)
    if not _has_same_operands(matching, i, j):
        yield "operands"
    yield from _attribute_differences(here.attributes, there.attributes)
    if (i == matching.before.root) != (j == matching.after.root):
        yield "root"
    if not _has_same_control(matching, here, there):
        yield "control_predecessors"
    if not comparison.is_same_metadata(here, there):
        yield "metadata"


def _shape_differences(before: Shape, after: Shape) -> Iterator[str]:
    if before.without_layout != after.without_layout:
        yield "shape"
        return
    if _memory_spaces(before) != _memory_spaces(after):
        yield "memory_space"
    if _SPACE.sub("", before.text) != _SPACE.sub("", after.text):
        yield "layout"


def _memory_spaces(shape: Shape) -> list[str]:
    return _SPACE.findall(shape.text)


def _has_same_operands(matching: Matching, i: int, j: int) -> bool:
    here, there = matching.before.instructions[i], matching.after.instructions[j]
    if len(here.operands) != len(there.operands) or here.operand_paths != there.operand_paths:
        return False
    operands = zip(
        matching.before.operands(i),
        matching.after.operands(j),
        here.operands,
        there.operands,
        strict=True,
    )
    # A name that the text does not define (-1) is compared as it stands.
    return all(
        matching.partner.get(left) == right if left >= 0 <= right else name == other
        for left, right, name, other in operands
    )


def _has_same_control(matching: Matching, before: Instruction, after: Instruction) -> bool:
    """Whether both wait for the same; order in the list means nothing."""
    if before.control_predecessors == after.control_predecessors:
        return True
    return _partners(matching, before.control_predecessors) == frozenset(after.control_predecessors)


def _partners(matching: Matching, names: Sequence[str]) -> frozenset[str]:
    found: set[str] = set()
    for name in names:
        i = matching.before.index.get(name)
        j = None if i is None else matching.partner.get(i)
        found.add(name if j is None else matching.after.instructions[j].name)
    return frozenset(found)


def _attribute_differences(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    if before is after:
        return
    keys = {*before, *after} - UNCOUNTED_KEYS
    differing = {key for key in keys if before.get(key) != after.get(key)}
    if differing - _OWN_NAMES:
        yield "attributes"
    yield from sorted(differing & _OWN_NAMES)


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
