"""Two module texts as two panes: the values that the builder of rows and the reader share.

Types only, small enough to be kept for many pairs of texts and to be written as JSON: rows have
kinds and lines and no text of their own.
"""

from app.model.report import Struct
from app.views.pass_diff import Totals

FORM = 1
"""Raised with every change of what `PaneRows` holds or means: bundles keep some as JSON."""

# One letter a row and pane; NOTHING where the pane is empty there.
HEAD, SAME, RENAMED, CHANGED = "H", "s", "r", "c"
ADDED, REMOVED, MOVED, PLACED, COPIED, NOTHING = "a", "d", "m", "x", "y", " "

PAIRED = frozenset((HEAD, SAME, RENAMED, CHANGED))
"""Kinds that stand on one row with their counterpart."""

EDITED = frozenset((CHANGED, ADDED, REMOVED, MOVED, COPIED))
"""Kinds that a pass made; PLACED is another place in a text whose order means nothing."""


class Fold(Struct, frozen=True, kw_only=True):
    """`rows` rows from `row` on that are shown as one line, which says `words`."""

    row: int
    rows: int
    words: str


class PaneEdit(Struct, frozen=True, kw_only=True):
    """Equal edits of one computation: what differs, how often, and the first of their rows."""

    kind: str
    what: tuple[str, ...] = ()
    how: str = ""
    where: str = ""
    times: int = 1
    rows: tuple[int, ...] = ()


class PaneComputation(Struct, frozen=True, kw_only=True):
    """A computation in the outline: its first row, how many rows, and what became of it.

    `kind` is changed, added, removed or same; `counts` are instructions by what was done to them.
    `like` is the row of the first computation with the same edits, -1 where this is the first.
    """

    before: str | None
    after: str | None
    row: int
    rows: int
    kind: str
    how: str = ""
    counts: dict[str, int]
    like: int = -1


class PaneRows(Struct, frozen=True, kw_only=True):
    """All rows of two texts; what is named `before` or `after` has one entry a row.

    `kinds` are letters, `lines` 1-based (0: nothing there), `edits_before` and `edits_after`
    positions in `edits` (-1: none). `links` are rows of instructions that stand elsewhere on the
    other side, as (row before, row after). Folds do not overlap.
    """

    kinds_before: str
    kinds_after: str
    lines_before: tuple[int, ...]
    lines_after: tuple[int, ...]
    edits_before: tuple[int, ...]
    edits_after: tuple[int, ...]
    edits: tuple[PaneEdit, ...]
    links: tuple[tuple[int, int], ...]
    folds: tuple[Fold, ...]
    computations: tuple[PaneComputation, ...]
    totals: Totals
