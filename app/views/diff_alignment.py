"""The instructions of two computations, row by row.

Takes the pair and its diff; gives positions and letters. The longest run of counterparts that
keeps its order stands side by side; what lies between is shown on both sides at once.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from app.analysis.rising_run import rising_run
from app.model.facts import ComputationDiff
from app.views.diff_panes import (
    ADDED,
    CHANGED,
    COPIED,
    MOVED,
    NOTHING,
    PLACED,
    REMOVED,
    RENAMED,
    SAME,
)
from hlo_parser import Computation


@dataclass(frozen=True, slots=True)
class AlignedRow:
    """Positions in the two computations, -1 for nothing, and the letters of both sides."""

    before: int
    after: int
    kinds: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Alignment:
    """Rows in order; `partner` leads from positions before to positions after."""

    rows: tuple[AlignedRow, ...]
    partner: dict[int, int]


def aligned(
    here: Computation | None,
    there: Computation | None,
    diff: ComputationDiff | None,
    *,
    scheduled: bool,
) -> Alignment:
    """The rows of two computations, or of one that has no counterpart.

    `scheduled`: the order of both texts has a meaning, so that another place is a move.
    """
    if here is None or there is None:
        return Alignment(tuple(_one_sided(here, there, diff)), {})
    partner = _partners(here, there, diff)
    letters = _Letters(here, there, diff, partner, scheduled=scheduled)
    stays = rising_run(list(partner.values()))
    rows: list[AlignedRow] = []
    i = j = 0
    for old, new in partner.items():
        if new in stays:
            rows += _between(range(i, old), range(j, new), letters)
            letter = letters.of_pair(old, new)
            rows.append(AlignedRow(old, new, (letter, letter)))
            i, j = old + 1, new + 1
    rows += _between(range(i, len(here.instructions)), range(j, len(there.instructions)), letters)
    return Alignment(tuple(rows), partner)


def _one_sided(
    here: Computation | None, there: Computation | None, diff: ComputationDiff | None
) -> Iterator[AlignedRow]:
    if there is not None:
        came = {pair.after[1] for pair in diff.moved_in} if diff else set[str]()
        for j, item in enumerate(there.instructions):
            letter = MOVED if item.name in came else ADDED
            yield AlignedRow(-1, j, (NOTHING, letter))
    elif here is not None:
        went = {pair.before[1] for pair in diff.moved_out} if diff else set[str]()
        for i, item in enumerate(here.instructions):
            letter = MOVED if item.name in went else REMOVED
            yield AlignedRow(i, -1, (letter, NOTHING))


def _partners(
    here: Computation, there: Computation, diff: ComputationDiff | None
) -> dict[int, int]:
    """Counterparts by position, in the order of `here`."""
    if here is there:
        return {position: position for position in range(len(here.instructions))}
    names: dict[str, str] = {}
    alone: set[str] = set()
    if diff is not None:
        names = {change.before: change.after for change in diff.changed}
        names.update(diff.renamed)
        alone = {*diff.removed, *(pair.before[1] for pair in diff.moved_out)}
    at = {item.name: position for position, item in enumerate(there.instructions)}
    if diff is not None:
        for name in (*diff.added, *(pair.after[1] for pair in diff.moved_in)):
            at.pop(name, None)
    partner: dict[int, int] = {}
    for position, item in enumerate(here.instructions):
        if item.name in alone:
            continue
        # Each once, even where a text gives one name twice.
        other = at.pop(names.get(item.name, item.name), None)
        if other is not None:
            partner[position] = other
    return partner


class _Letters:
    """What was done to each instruction of a pair, as a letter."""

    def __init__(
        self,
        here: Computation,
        there: Computation,
        diff: ComputationDiff | None,
        partner: dict[int, int],
        *,
        scheduled: bool,
    ) -> None:
        self._here, self._there = here, there
        self._partner = partner
        self._back = {new: old for old, new in partner.items()}
        self._scheduled = scheduled
        self._changed = {change.after for change in diff.changed} if diff else set[str]()
        self._renamed = {new for _, new in diff.renamed} if diff else set[str]()
        self._came = {pair.after[1] for pair in diff.moved_in} if diff else set[str]()
        self._went = {pair.before[1] for pair in diff.moved_out} if diff else set[str]()
        copies = diff.copies if diff else ()
        self._copies = {name for copied in copies for name in copied.copies}

    def of_pair(self, old: int, new: int) -> str:
        """The letter of two that stand on one row."""
        name = self._there.instructions[new].name
        if name in self._changed:
            return CHANGED
        if name in self._renamed or self._here.instructions[old].name != name:
            return RENAMED
        return SAME

    def before(self, old: int) -> str:
        """The letter of one whose counterpart is elsewhere, or is not."""
        new = self._partner.get(old)
        if new is not None:
            return self._elsewhere(new)
        return MOVED if self._here.instructions[old].name in self._went else REMOVED

    def after(self, new: int) -> str:
        """The same on the other side."""
        if new in self._back:
            return self._elsewhere(new)
        name = self._there.instructions[new].name
        if name in self._came:
            return MOVED
        return COPIED if name in self._copies else ADDED

    def _elsewhere(self, new: int) -> str:
        is_edit = self._scheduled or self._there.instructions[new].name in self._changed
        return MOVED if is_edit else PLACED


def _between(old: range, new: range, letters: _Letters) -> Iterator[AlignedRow]:
    for number in range(max(len(old), len(new))):
        i = old[number] if number < len(old) else -1
        j = new[number] if number < len(new) else -1
        kinds = (
            letters.before(i) if i >= 0 else NOTHING,
            letters.after(j) if j >= 0 else NOTHING,
        )
        yield AlignedRow(i, j, kinds)
