"""What differs between two passes, as rows a person reads: equal edits folded, all of it counted.

Takes the two modules and what `diff_modules` says of them; compares no texts on its own but those
of one matched pair. Computations that are equal are counted and not shown.
"""

from collections.abc import Sequence
from typing import Literal

from app.model.facts import ComputationDiff, ModuleDiff
from app.model.report import Struct
from app.views.cut import Cut, shown_name, shown_text
from app.views.edit_groups import ChangeGroup, EditGroup, computations_of, grouped_changes
from app.views.edits import EditKind
from hlo_parser import Computation, Instruction, Module

MAX_COMPUTATIONS = 500
MAX_ROWS = 2_000
MAX_TEXT_CHARACTERS = 800
CONTEXT_CHARACTERS = 100
MAX_PLACES = 20
MAX_RENAMES = 200

ChangeKind = Literal["changed", "added", "removed"]
_KINDS: tuple[ChangeKind, ...] = ("changed", "added", "removed")


class DiffSide(Struct, frozen=True, kw_only=True):
    """An instruction as it stands in one of the texts, on its 1-based line.

    `mark` is the part of `text` that differs, from and to (exclusive), of a changed pair. Of a
    long text the part around it is shown: `skipped` characters stand before, `left_out` after.
    """

    name: str
    line: int
    text: str
    skipped: int = 0
    left_out: int = 0
    mark: tuple[int, int] | None = None


class DiffPlace(Struct, frozen=True, kw_only=True):
    """Another place of the same edit."""

    before: str | None = None
    before_line: int | None = None
    after: str | None = None
    after_line: int | None = None


class DiffRow(Struct, frozen=True, kw_only=True):
    """One edit, made `times` in its computation; the first place is shown, `also` names others.

    `edits.py` says which edits count as equal. `what` names the parts that differ, `how` says why
    the two were taken for one instruction, `where` what a copy is a copy of, or which computation
    an instruction moved into or out of (empty for a move in the schedule).
    """

    kind: EditKind
    opcode: str
    before: DiffSide | None = None
    after: DiffSide | None = None
    what: tuple[str, ...] = ()
    how: str = ""
    where: str = ""
    times: int = 1
    also: tuple[DiffPlace, ...] = ()


class ComputationChange(Struct, frozen=True, kw_only=True):
    """One computation that differs, with exact counts of its instructions.

    `rows` are in the order of the texts, `renames` the first of the instructions that differ in
    nothing but their names. One that was added or removed as a whole has rows for what moved in
    or out alone: its text says the rest. `added` counts the copies too, which `copied` counts
    alone. `same_in` names further computations that got the same edits, or were added or removed
    with the same opcodes and shapes; they stand nowhere else, but in the totals.
    """

    kind: ChangeKind
    before: str | None
    after: str | None
    how: str
    before_line: int | None = None
    after_line: int | None = None
    added: int = 0
    removed: int = 0
    changed: int = 0
    moved: int = 0
    renamed: int = 0
    unchanged: int = 0
    copied: int = 0
    moved_in: int = 0
    moved_out: int = 0
    renames: tuple[tuple[str, str], ...] = ()
    rows: tuple[DiffRow, ...] = ()
    rows_left_out: int = 0
    same_in: tuple[str, ...] = ()
    same_in_count: int = 0


class Totals(Struct, frozen=True, kw_only=True):
    """Exact counts over both modules, whatever is shown.

    `instructions_copied` are among those added; `instructions_moved_between` went to another
    computation and are neither added nor removed.
    """

    computations_added: int = 0
    computations_removed: int = 0
    computations_changed: int = 0
    computations_unchanged: int = 0
    computations_renamed: int = 0
    instructions_added: int = 0
    instructions_removed: int = 0
    instructions_changed: int = 0
    instructions_moved: int = 0
    instructions_renamed: int = 0
    instructions_copied: int = 0
    instructions_moved_between: int = 0


class PassDiff(Struct, frozen=True, kw_only=True):
    """The difference of two passes: changed computations first, then new ones, then lost ones."""

    totals: Totals
    computations: tuple[ComputationChange, ...]
    renamed: tuple[tuple[str, str], ...] = ()
    cut: Cut | None = None


def diff_view(before: Module, after: Module, diff: ModuleDiff) -> PassDiff:
    """The view of a diff of these two modules."""
    folded = sorted(
        grouped_changes(before, after, diff), key=lambda group: _KINDS.index(_kind(group.diff))
    )
    room = MAX_ROWS
    shown: list[ComputationChange] = []
    for group in folded[:MAX_COMPUTATIONS]:
        change = _change(group, before, after, room)
        room -= len(change.rows)
        shown.append(change)
    left_out = len(folded) - len(shown)
    rows = sum(len(change.rows) for change in shown)
    rows_left_out = sum(change.rows_left_out for change in shown)
    cut = None
    if left_out:
        cut = Cut(
            shown=len(shown),
            total=len(folded),
            next_step="Compare passes that lie closer together, or one computation at a time.",
        )
    elif rows_left_out:
        cut = Cut(
            shown=rows,
            total=rows + rows_left_out,
            next_step="Compare one computation at a time.",
        )
    return PassDiff(
        totals=totals_of(diff),
        computations=tuple(shown),
        renamed=_pairs(diff.renamed),
        cut=cut,
    )


def diff_of_computation(diff: ModuleDiff, name: str) -> ModuleDiff:
    """The part of a diff that is about one computation, by its name in either module."""
    return ModuleDiff(
        computations=tuple(item for item in diff.computations if name in (item.before, item.after)),
        unchanged=0,
        renamed=tuple(pair for pair in diff.renamed if name in pair),
    )


def _kind(item: ComputationDiff) -> ChangeKind:
    return "added" if item.before is None else "removed" if item.after is None else "changed"


def _change(group: ChangeGroup, before: Module, after: Module, room: int) -> ComputationChange:
    item = group.diff
    here, there = computations_of(item, before, after)
    places = _Places(before, here, after, there)
    return ComputationChange(
        kind=_kind(item),
        before=_optional_name(item.before),
        after=_optional_name(item.after),
        how=item.how,
        before_line=None if here is None else before.first_line(here),
        after_line=None if there is None else after.first_line(there),
        added=len(item.added),
        removed=len(item.removed),
        changed=len(item.changed),
        moved=len(item.moved),
        renamed=len(item.renamed),
        unchanged=item.unchanged,
        copied=_copied(item),
        moved_in=len(item.moved_in),
        moved_out=len(item.moved_out),
        renames=_pairs(item.renamed),
        rows=tuple(_row(found, places) for found in group.groups[:room]),
        rows_left_out=max(0, len(group.groups) - room),
        same_in=tuple(
            shown_name(other.after or other.before or "") for other in group.same_in[:MAX_RENAMES]
        ),
        same_in_count=len(group.same_in),
    )


class _Places:
    """Where the instructions of one pair of computations stand."""

    def __init__(
        self,
        before: Module,
        here: Computation | None,
        after: Module,
        there: Computation | None,
    ) -> None:
        self._before = (before, here)
        self._after = (after, there)

    def before(self, instruction: Instruction | None) -> int | None:
        """The line in the text before."""
        return _line(*self._before, instruction)

    def after(self, instruction: Instruction | None) -> int | None:
        """The line in the text after."""
        return _line(*self._after, instruction)


def _line(
    module: Module, computation: Computation | None, instruction: Instruction | None
) -> int | None:
    if computation is None or instruction is None:
        return None
    return module.line_of(computation, instruction)


def _row(group: EditGroup, places: _Places) -> DiffRow:
    edit = group.edits[0]
    instruction = edit.after or edit.before
    return DiffRow(
        kind=edit.kind,
        opcode="" if instruction is None else instruction.opcode,
        before=_side(edit.before, places.before(edit.before), edit.before_mark),
        after=_side(edit.after, places.after(edit.after), edit.after_mark),
        what=edit.what,
        how=edit.how,
        where=shown_name(edit.where),
        times=group.times,
        also=tuple(
            DiffPlace(
                before=_name(other.before),
                before_line=places.before(other.before),
                after=_name(other.after),
                after_line=places.after(other.after),
            )
            for other in group.edits[1 : MAX_PLACES + 1]
        ),
    )


def _side(
    instruction: Instruction | None, line: int | None, mark: tuple[int, int] | None
) -> DiffSide | None:
    if instruction is None or line is None:
        return None
    skipped = 0
    if mark is not None:
        if mark[1] > MAX_TEXT_CHARACTERS:
            skipped = max(0, mark[0] - CONTEXT_CHARACTERS)
        start, end = mark[0] - skipped, mark[1] - skipped
        mark = (start, min(end, MAX_TEXT_CHARACTERS))
    text, left_out = shown_text(instruction.text[skipped:], MAX_TEXT_CHARACTERS)
    return DiffSide(
        name=shown_name(instruction.name),
        line=line,
        text=text,
        skipped=skipped,
        left_out=left_out,
        mark=mark,
    )


def totals_of(diff: ModuleDiff) -> Totals:
    """What is counted over both modules."""
    both = [item for item in diff.computations if item.before and item.after]
    return Totals(
        computations_added=sum(item.before is None for item in diff.computations),
        computations_removed=sum(item.after is None for item in diff.computations),
        computations_changed=len(both),
        computations_unchanged=diff.unchanged,
        computations_renamed=len(diff.renamed),
        instructions_added=sum(len(item.added) for item in diff.computations),
        instructions_removed=sum(len(item.removed) for item in diff.computations),
        instructions_changed=sum(len(item.changed) for item in both),
        instructions_moved=sum(len(item.moved) for item in both),
        instructions_renamed=sum(len(item.renamed) for item in both),
        instructions_copied=sum(map(_copied, both)),
        instructions_moved_between=sum(len(item.moved_in) for item in diff.computations),
    )


def _copied(item: ComputationDiff) -> int:
    return sum(len(copied.copies) for copied in item.copies)


def _pairs(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((shown_name(old), shown_name(new)) for old, new in pairs[:MAX_RENAMES])


def _name(instruction: Instruction | None) -> str | None:
    return None if instruction is None else shown_name(instruction.name)


def _optional_name(name: str | None) -> str | None:
    return None if name is None else shown_name(name)
