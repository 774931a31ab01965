"""The rows of two panes that are on the screen, with texts, marks, links; and finding rows.

Takes the rows of `diff_rows.py` and both texts. What it has looked up it keeps, so that one reader
serves all slices of a pair of texts.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from app.model.report import Struct
from app.views.cut import Cut, shown_name, shown_text
from app.views.diff_marks import Mark, Reference, differing_marks, references_in
from app.views.diff_panes import CHANGED, HEAD, NOTHING, PAIRED, RENAMED, Fold, PaneRows
from hlo_parser.possessive import compile_pattern

MAX_ROWS = 400
MAX_TEXT_CHARACTERS = 1_200
MAX_WHOLE_CHARACTERS = 40_000
CONTEXT_CHARACTERS = 200
MAX_FOUND = 5_000
MAX_QUERY_CHARACTERS = 500

_DEFINED = compile_pattern(r"\s*+(?:ROOT\s++)?+%?([^\s=%]++)\s*+=\s")
_HEAD = compile_pattern(r"\s*+(?:ENTRY\s++)?+%?([^\s({%]++)")


class PaneSide(Struct, frozen=True, kw_only=True):
    """One side of a row: `skipped` characters stand before the shown text, `left_out` after.

    `marks` are (from, to, renamed), `names` (from, to, row of the definition), `elsewhere` is the
    row of the counterpart where it is another one, `edit` a number from 1, 0 for none.
    """

    kind: str
    name: str
    line: int
    text: str
    skipped: int = 0
    left_out: int = 0
    marks: tuple[Mark, ...] = ()
    names: tuple[Reference, ...] = ()
    elsewhere: int | None = None
    edit: int = 0
    times: int = 0


class PaneRow(Struct, frozen=True, kw_only=True):
    """One row; `note` says in words what differs and how the two were matched."""

    row: int
    before: PaneSide | None = None
    after: PaneSide | None = None
    note: str = ""


class FoundRows(Struct, frozen=True, kw_only=True):
    """The rows whose lines contain `query`, whatever its case, in order."""

    query: str
    total: int
    rows: tuple[int, ...]
    cut: Cut | None = None


class PaneReader:
    """Reads one pair of texts; `rows` were made of these two."""

    def __init__(self, rows: PaneRows, before: str, after: str) -> None:
        self.rows = rows
        self._texts = before.split("\n"), after.split("\n")
        self._lines = rows.lines_before, rows.lines_after
        self._kinds = rows.kinds_before, rows.kinds_after
        self._edits = rows.edits_before, rows.edits_after
        self._links = dict(rows.links), {after: before for before, after in rows.links}
        self._heads = [item.row for item in rows.computations]
        self._ends: tuple[dict[int, int], dict[int, int]] = self._line_ends(0), self._line_ends(1)
        self._names: dict[tuple[int, int], dict[str, int]] = {}
        self._renames: dict[int, dict[str, str]] = {}
        self._computations: tuple[dict[str, int], dict[str, int]] = {}, {}
        for item in rows.computations:
            for side, name in enumerate((item.before, item.after)):
                if name is not None:
                    self._computations[side].setdefault(name, item.row)

    @property
    def total(self) -> int:
        """How many rows there are."""
        return len(self.rows.kinds_before)

    def picked(self, rows: Sequence[int], *, whole: bool = False) -> tuple[PaneRow, ...]:
        """Single rows, with all of their text where it is `whole`; others than it has are left."""
        known = [row for row in rows[:MAX_ROWS] if row < self.total]
        return tuple(self._row(row, whole=whole) for row in known)

    def find(self, query: str) -> FoundRows:
        """The rows that contain a text on either side."""
        needle = query.strip()[:MAX_QUERY_CHARACTERS].lower()
        found: list[int] = []
        total = 0
        for row in range(self.total) if needle else ():
            if any(needle in self._line(side, row).lower() for side in (0, 1)):
                total += 1
                if len(found) < MAX_FOUND:
                    found.append(row)
        cut = None
        if total > len(found):
            cut = Cut(shown=len(found), total=total, next_step="Search for more of the word.")
        return FoundRows(query=query, total=total, rows=tuple(found), cut=cut)

    def row_of(self, side: int, computation: str, instruction: str = "") -> int | None:
        """The row of a definition; `side` is 0 for the text before, 1 for the one after."""
        head = self._computations[side].get(computation)
        if head is None or not instruction:
            return head
        return self._defined(side, head).get(instruction, head)

    def rows_of(self, side: int, computation: str) -> range:
        """The rows of a computation, its head first; none where the side has no such one."""
        head = self._computations[side].get(computation)
        return range(0) if head is None else range(head, self._rows_of(head).stop)

    def row_at(self, side: int, line: int) -> int | None:
        """The row that holds a 1-based line of a text, or the nearest above it."""
        here = [(at, row) for row, at in enumerate(self._lines[side]) if 0 < at <= line]
        return max(here, default=(0, None))[1]

    def head_of(self, row: int) -> int:
        """The first row of the computation that a row belongs to."""
        return self._heads[max(0, bisect_right(self._heads, row) - 1)]

    def _row(self, row: int, *, whole: bool) -> PaneRow:
        lines = [self._line(side, row) for side in (0, 1)]
        marks: tuple[list[Mark], list[Mark]] = [], []
        letter = self._kinds[1][row]
        is_pair = self._kinds[0][row] == letter and letter in PAIRED
        if is_pair and (letter in (CHANGED, RENAMED) or (letter == HEAD and lines[0] != lines[1])):
            marks = differing_marks(
                lines[0][:MAX_WHOLE_CHARACTERS], lines[1][:MAX_WHOLE_CHARACTERS], self._renamed(row)
            )
        return PaneRow(
            row=row,
            before=self._side(0, row, lines[0], marks[0], whole=whole),
            after=self._side(1, row, lines[1], marks[1], whole=whole),
            note=self._note(row),
        )

    def _side(
        self, side: int, row: int, line: str, marks: list[Mark], *, whole: bool
    ) -> PaneSide | None:
        letter = self._kinds[side][row]
        if letter == NOTHING:
            return None
        limit = MAX_WHOLE_CHARACTERS if whole else MAX_TEXT_CHARACTERS
        skipped = 0
        real = [mark for mark in marks if not mark.renamed]
        if not whole and real and real[0].end > limit:
            skipped = max(0, real[0].start - CONTEXT_CHARACTERS)
        text, left_out = shown_text(line[skipped:], limit)
        number = self._edits[side][row]
        return PaneSide(
            kind=letter,
            name=shown_name(self._name(side, row)),
            line=self._lines[side][row],
            text=text,
            skipped=skipped,
            left_out=left_out,
            marks=tuple(_shifted(marks, skipped, len(text))),
            names=tuple(self._references(side, row, text)),
            elsewhere=self._links[side].get(row),
            edit=number + 1,
            times=self.rows.edits[number].times if number >= 0 else 0,
        )

    def _references(self, side: int, row: int, text: str) -> Iterator[Reference]:
        defined = self._defined(side, self.head_of(row))
        computations = self._computations[side]

        def row_of(name: str) -> int | None:
            found = defined.get(name)
            return computations.get(name) if found is None else found

        return (found for found in references_in(text, row_of) if found.row != row)

    def _note(self, row: int) -> str:
        numbers = [number for number in (edits[row] for edits in self._edits) if number >= 0]
        notes: list[str] = []
        for number in dict.fromkeys(numbers):
            edit = self.rows.edits[number]
            parts = [edit.kind, ", ".join(edit.what), edit.where]
            parts.append(f"matched by {edit.how}" if edit.how else "")
            parts.append(f"{edit.times:,} times in this computation" if edit.times > 1 else "")
            notes.append(f"edit {number + 1}: " + "; ".join(part for part in parts if part))
        return " | ".join(notes)

    def _line(self, side: int, row: int) -> str:
        first = self._lines[side][row]
        if not first:
            return ""
        lines = self._texts[side]
        last = self._ends[side].get(first, first)
        text = lines[first - 1] if last == first else "\n".join(lines[first - 1 : last])
        return text.strip()

    def _line_ends(self, side: int) -> dict[int, int]:
        """The last line of each instruction that has several, as a large literal has."""
        lines, texts = self._lines[side], self._texts[side]
        starts = sorted(line for line in lines if line)
        ends: dict[int, int] = {}
        for line, following in zip(starts, [*starts[1:], len(texts) + 1], strict=True):
            last = following - 1
            while last > line and texts[last - 1].strip() in ("", "}"):
                last -= 1
            if last > line:
                ends[line] = last
        return ends

    def _name(self, side: int, row: int) -> str:
        line = self._line(side, row)
        found = (_HEAD if self._kinds[side][row] == HEAD else _DEFINED).match(line)
        return found[1] if found else ""

    def _rows_of(self, head: int) -> range:
        at = bisect_right(self._heads, head) - 1
        return range(head + 1, head + self.rows.computations[at].rows)

    def _defined(self, side: int, head: int) -> dict[str, int]:
        """The row of each instruction of the computation at `head`, by name."""
        found = self._names.get((side, head))
        if found is None:
            kinds = self._kinds[side]
            found = {
                self._name(side, row): row for row in self._rows_of(head) if kinds[row] != NOTHING
            }
            self._names[side, head] = found
        return found

    def _renamed(self, row: int) -> dict[str, str]:
        """Names before and after of the counterparts that have two, computations included."""
        head = self.head_of(row)
        found = self._renames.get(head)
        if found is None:
            found = self._renames[head] = {
                item.before: item.after
                for item in self.rows.computations
                if item.before and item.after and item.before != item.after
            }
            for name, here in self._defined(0, head).items():
                there = self._links[0].get(here, here)
                if self._kinds[0][here] not in PAIRED and there == here:
                    continue
                other = self._name(1, there)
                if other and other != name:
                    found[name] = other
        return found


def visible_rows(total: int, folds: Sequence[Fold], opened: frozenset[int]) -> Iterator[int]:
    """What is on the screen from top to bottom: a row, or `-1 - n` for the closed fold `n`."""
    row = 0
    for number, fold in enumerate(folds):
        yield from range(row, fold.row)
        if number in opened:
            yield from range(fold.row, fold.row + fold.rows)
        else:
            yield -1 - number
        row = fold.row + fold.rows
    yield from range(row, total)


def _shifted(marks: Sequence[Mark], skipped: int, length: int) -> Iterator[Mark]:
    for mark in marks:
        start, end = max(0, mark.start - skipped), min(length, mark.end - skipped)
        if start < end:
            yield Mark(start, end, mark.renamed)
