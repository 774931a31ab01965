"""Which line of one module text stands beside which line of another.

Takes two modules and what `diff_modules` says of them and gives the rows of two panes without a
text; `diff_slices.py` fills in those that are on the screen. A matched instruction stands on one
row with its counterpart; where the order differs, each stands at its own place and the rows know
each other. Computations are in the order of the text after, removed ones where they stood.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import msgspec

from app.model.facts import ComputationDiff, ModuleDiff
from app.views.cut import shown_name
from app.views.diff_alignment import Alignment, aligned
from app.views.diff_folds import Kinds, folds_of
from app.views.diff_panes import (
    EDITED,
    HEAD,
    MOVED,
    NOTHING,
    PLACED,
    SAME,
    Fold,
    PaneComputation,
    PaneEdit,
    PaneRows,
)
from app.views.edit_groups import (
    EditGroup,
    computations_of,
    edit_groups,
    edits_by_pair,
    gathered,
)
from app.views.pass_diff import totals_of
from hlo_parser import Computation, Module

MAX_PLACES = 100
"""Places of one edit that are kept; the number of them all is exact."""

_ALWAYS_SHOWN = 3
"""So many equal edits are shown where they stand; of more only the first."""

_FIRST_OF_ONE_SIDED = 12
"""Instructions shown of a computation that is new or gone as a whole."""

Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two computations that are one, or one without a counterpart; `diff` is None if equal."""

    here: Computation | None
    there: Computation | None
    diff: ComputationDiff | None


def pane_rows(before: Module, after: Module, diff: ModuleDiff) -> PaneRows:
    """The rows of both texts."""
    edits = edits_by_pair(before, after, diff)
    first_of: dict[int, ComputationDiff] = {}
    for group in gathered(before, after, diff, edits):
        for item in group.same_in:
            first_of[id(item)] = group.diff
    known = {id(item): groups for item, groups in zip(diff.computations, edits, strict=True)}
    writer = _Writer(before, after, first_of, known)
    for pair in _pairs(before, after, diff):
        writer.write(pair)
    return writer.finish(diff)


def _pairs(before: Module, after: Module, diff: ModuleDiff) -> Iterator[_Pair]:
    by_after = {item.after: item for item in diff.computations if item.after is not None}
    gone = {item.before: item for item in diff.computations if item.after is None}
    partner = {new: old for old, new in diff.renamed}
    partner |= {item.after: item.before for item in by_after.values() if item.after and item.before}
    new = list(dict.fromkeys(after.computations))
    # Of several computations of one name the first alone is ever matched.
    unmatched = Counter(there.name for there in new)
    unmatched.subtract(item.after for item in by_after.values() if item.after and item.before)
    unmatched.subtract(item.after for item in diff.computations if not item.before and item.after)
    pairs: list[_Pair] = []
    for there in new:
        item = by_after.get(there.name)
        is_first = after.get(there.name) is there
        if unmatched[there.name] > 0 and is_first:
            item = None
        if is_first and (item is None or item.before is not None):
            here = before.get(partner.get(there.name, there.name))
            pairs.append(_Pair(here, there, item))
        else:
            pairs.append(_Pair(None, there, item))
    matched = {id(pair.here) for pair in pairs if pair.here is not None}
    old = list(dict.fromkeys(before.computations))
    place = {id(here): number for number, here in enumerate(old)}
    waiting = [here for here in old if id(here) not in matched]
    told = 0
    for pair in pairs:
        limit = -1 if pair.here is None else place[id(pair.here)]
        while told < len(waiting) and place[id(waiting[told])] < limit:
            yield _Pair(waiting[told], None, gone.get(waiting[told].name))
            told += 1
        yield pair
    for here in waiting[told:]:
        yield _Pair(here, None, gone.get(here.name))


@dataclass(frozen=True, slots=True)
class _Edits:
    """The edits of one pair: positions in the list of all, by the name of the instruction."""

    before: Mapping[str, int]
    after: Mapping[str, int]


_NO_EDITS = _Edits({}, {})


class _Writer:
    """Collects the rows of one computation after the other."""

    def __init__(
        self,
        before: Module,
        after: Module,
        first_of: Mapping[int, ComputationDiff],
        known: Mapping[int, tuple[EditGroup, ...]],
    ) -> None:
        self._before, self._after = before, after
        self._scheduled = before.header.is_scheduled and after.header.is_scheduled
        self._first_of = first_of
        self._known = known
        self._row_of_diff: dict[int, int] = {}
        self._kinds: list[Kinds] = []
        self._lines: list[tuple[int, int]] = []
        self._numbers: list[tuple[int, int]] = []
        self._edits: list[PaneEdit] = []
        self._rows_of_edit: list[list[int]] = []
        self._links: list[tuple[int, int]] = []
        self._went: dict[Place, int] = {}
        self._came: dict[Place, int] = {}
        self._folds: list[Fold] = []
        self._computations: list[PaneComputation] = []

    def write(self, pair: _Pair) -> None:
        """Add the rows of one pair."""
        head = len(self._kinds)
        old_start = self._before.first_line(pair.here) if pair.here else 0
        new_start = self._after.first_line(pair.there) if pair.there else 0
        kinds = (HEAD if pair.here else NOTHING, HEAD if pair.there else NOTHING)
        self._append(kinds, (old_start, new_start), (-1, -1))
        # Most computations of most pairs of texts: one object, of which nothing is to be asked.
        if pair.here is not None and pair.here is pair.there and pair.diff is None:
            self._append_same(pair.here, old_start, new_start)
            self._tell(pair, head)
            return
        edits = self._open_edits(pair)
        alignment = aligned(pair.here, pair.there, pair.diff, scheduled=self._scheduled)
        for row in alignment.rows:
            old = new = 0
            old_edit = new_edit = -1
            if pair.here is not None and row.before >= 0:
                old = old_start + pair.here.line_offset(row.before)
                if edits.before:
                    name = pair.here.instructions[row.before].name
                    old_edit = edits.before.get(name, -1)
            if pair.there is not None and row.after >= 0:
                new = new_start + pair.there.line_offset(row.after)
                if edits.after:
                    name = pair.there.instructions[row.after].name
                    new_edit = edits.after.get(name, -1)
            self._append(row.kinds, (old, new), (old_edit, new_edit))
        self._link(pair, alignment, head + 1)
        like = self._tell(pair, head)
        if pair.diff is not None and like < 0:
            self._fold(head + 1, one_sided=pair.here is None or pair.there is None)

    def finish(self, diff: ModuleDiff) -> PaneRows:
        """All rows."""
        for item in diff.computations:
            for moved in item.moved_in:
                if moved.before in self._went and moved.after in self._came:
                    self._links.append((self._went[moved.before], self._came[moved.after]))
        folds = [*self._folds, *_runs_of(self._computations)]
        return PaneRows(
            kinds_before="".join(before for before, _ in self._kinds),
            kinds_after="".join(after for _, after in self._kinds),
            lines_before=tuple(before for before, _ in self._lines),
            lines_after=tuple(after for _, after in self._lines),
            edits_before=tuple(before for before, _ in self._numbers),
            edits_after=tuple(after for _, after in self._numbers),
            edits=tuple(
                msgspec.structs.replace(edit, rows=tuple(rows))
                for edit, rows in zip(self._edits, self._rows_of_edit, strict=True)
            ),
            links=tuple(self._links),
            folds=tuple(sorted(folds, key=lambda fold: fold.row)),
            computations=tuple(self._computations),
            totals=totals_of(diff),
        )

    def _append(self, kinds: Kinds, lines: tuple[int, int], numbers: tuple[int, int]) -> None:
        self._kinds.append(kinds)
        self._lines.append(lines)
        self._numbers.append(numbers)
        if numbers == (-1, -1):
            return
        row = len(self._kinds) - 1
        for number in dict.fromkeys(numbers):
            if number >= 0 and len(self._rows_of_edit[number]) < MAX_PLACES:
                self._rows_of_edit[number].append(row)

    def _append_same(self, computation: Computation, old_start: int, new_start: int) -> None:
        count = len(computation.instructions)
        offsets = [computation.line_offset(position) for position in range(count)]
        self._kinds += [(SAME, SAME)] * count
        self._lines += [(old_start + offset, new_start + offset) for offset in offsets]
        self._numbers += [(-1, -1)] * count

    def _open_edits(self, pair: _Pair) -> _Edits:
        if pair.diff is None:
            return _NO_EDITS
        before: dict[str, int] = {}
        after: dict[str, int] = {}
        for group in self._edits_in(pair, pair.diff):
            number = len(self._edits)
            first = group.edits[0]
            self._edits.append(
                PaneEdit(
                    kind=first.kind,
                    what=first.what,
                    how=first.how,
                    where=shown_name(first.where),
                    times=group.times,
                )
            )
            self._rows_of_edit.append([])
            for edit in group.edits:
                # What was changed and moved is told as changed.
                if edit.before is not None:
                    before[edit.before.name] = max(number, before.get(edit.before.name, -1))
                if edit.after is not None:
                    after[edit.after.name] = max(number, after.get(edit.after.name, -1))
        return _Edits(before, after)

    def _edits_in(self, pair: _Pair, diff: ComputationDiff) -> tuple[EditGroup, ...]:
        # Where a text gives one name to two computations, the diff may mean another than the pair.
        if computations_of(diff, self._before, self._after) == (pair.here, pair.there):
            return self._known[id(diff)]
        return edit_groups(diff, pair.here, pair.there)

    def _link(self, pair: _Pair, alignment: Alignment, first: int) -> None:
        """Remember where those stand whose counterpart is on another row."""
        came = {row.after: first + n for n, row in enumerate(alignment.rows) if row.after >= 0}
        for number, row in enumerate(alignment.rows):
            if row.before < 0 or row.kinds[0] not in (MOVED, PLACED):
                continue
            new = alignment.partner.get(row.before)
            if new is not None:
                self._links.append((first + number, came[new]))
        if pair.diff is None or pair.here is None:
            rows_before: dict[str, int] = {}
        else:
            rows_before = {
                pair.here.instructions[row.before].name: first + number
                for number, row in enumerate(alignment.rows)
                if row.before >= 0 and row.kinds[0] == MOVED
            }
        if pair.diff is not None and pair.there is not None:
            for moved in pair.diff.moved_in:
                position = pair.there.position(moved.after[1])
                self._came[moved.after] = came[position]
        for moved in pair.diff.moved_out if pair.diff else ():
            if moved.before[1] in rows_before:
                self._went[moved.before] = rows_before[moved.before[1]]

    def _tell(self, pair: _Pair, head: int) -> int:
        """Add the pair to the outline; the row of the first with the same edits, or -1."""
        like = -1
        if pair.diff is not None:
            self._row_of_diff[id(pair.diff)] = head
            first = self._first_of.get(id(pair.diff))
            like = -1 if first is None else self._row_of_diff.get(id(first), -1)
        self._computations.append(
            PaneComputation(
                before=shown_name(pair.here.name) if pair.here else None,
                after=shown_name(pair.there.name) if pair.there else None,
                row=head,
                rows=len(self._kinds) - head,
                kind=_kind(pair),
                how=pair.diff.how if pair.diff else "",
                counts=_counts(pair.diff),
                like=like,
            )
        )
        return like

    def _fold(self, first: int, *, one_sided: bool) -> None:
        kinds = self._kinds[first:]
        seen: list[bool] = []
        likes: list[int] = []
        for row, (letters, numbers) in enumerate(
            zip(kinds, self._numbers[first:], strict=True), first
        ):
            shown, like = self._is_shown(letters, numbers, row)
            if one_sided and row - first >= _FIRST_OF_ONE_SIDED and max(numbers) < 0:
                shown = False
            seen.append(shown)
            likes.append(like)
        self._folds += folds_of(first, kinds, seen, likes)

    def _is_shown(self, letters: Kinds, numbers: tuple[int, int], row: int) -> tuple[bool, int]:
        """Whether a row is to be seen, else the edit that it repeats, or -1."""
        like = -1
        for letter, number in zip(letters, numbers, strict=True):
            if letter not in EDITED:
                continue
            if number < 0 or self._edits[number].times <= _ALWAYS_SHOWN:
                return True, -1
            if row <= self._rows_of_edit[number][0]:
                return True, -1
            like = number
        return False, like


def _kind(pair: _Pair) -> str:
    if pair.here is None:
        return "added"
    if pair.there is None:
        return "removed"
    return "same" if pair.diff is None else "changed"


def _counts(diff: ComputationDiff | None) -> dict[str, int]:
    if diff is None:
        return {}
    copied = sum(len(each.copies) for each in diff.copies)
    counts = {
        "changed": len(diff.changed),
        "added": len(diff.added) - copied,
        "copied": copied,
        "removed": len(diff.removed),
        "moved": len(diff.moved),
        "moved in": len(diff.moved_in),
        "moved out": len(diff.moved_out),
        "renamed": len(diff.renamed),
    }
    return {word: number for word, number in counts.items() if number}


def _runs_of(computations: Sequence[PaneComputation]) -> Iterator[Fold]:
    """Folds of neighbouring computations that are equal, or changed like an earlier one."""

    def sort_of(item: PaneComputation) -> tuple[str, int]:
        return (item.kind, item.like) if item.like >= 0 or item.kind == "same" else ("", item.row)

    names = {item.row: item.after or item.before or "" for item in computations}
    for (kind, like), found in groupby(computations, key=sort_of):
        if not kind:
            continue
        run = list(found)
        rows = sum(item.rows for item in run)
        who = f"%{names[run[0].row]}" if len(run) == 1 else f"{len(run):,} computations"
        if kind == "same":
            words = f"{who} unchanged, {rows - len(run):,} instructions"
        else:
            words = f"{who} {kind} like %{names[like]}"
        yield Fold(row=run[0].row, rows=rows, words=words)
