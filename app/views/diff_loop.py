"""The body of a loop before and after a pass, as rows of two panes.

Takes the report's loop and the reader of the two texts; what a loop is called in a text follows
from the renamings that its history tells.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import NotFound
from app.model.report import Loop
from app.views.diff_slices import PaneReader, visible_rows
from app.views.graph_view import named_place
from hlo_parser import Module

MAX_ROWS = 80


@dataclass(frozen=True, slots=True)
class BodyRows:
    """What is seen of a body as in `visible_rows`; `left_out` counts rows and folds that are not.

    `computation` is the body in the text after, or before where there is none any more; `row` is
    its first row, -1 for none.
    """

    computation: str
    row: int
    visible: tuple[int, ...]
    left_out: int = 0


def name_at(loop: Loop, dump: int) -> str:
    """What the loop is called in a text of its module; "" where its history does not tell."""
    if not loop.first_dump <= dump <= loop.last_dump:
        return ""
    name = loop.name
    for event in sorted(loop.events, key=lambda event: -event.dump):
        if event.kind != "renamed" or event.dump <= dump:
            continue
        old, arrow, new = event.detail.partition(" -> ")
        if not arrow or new != name:
            return ""
        name = old
    return name


def body_of(module: Module, name: str) -> str:
    """The computation that is the body of a loop in a text; "" where there is no such loop."""
    if not name:
        return ""
    try:
        return named_place(module, "", name, is_loop=True)[0]
    except NotFound:
        return ""


def body_rows(reader: PaneReader, before: str, after: str, opened: Sequence[int] = ()) -> BodyRows:
    """The rows of a body by its name in the two texts; either may be ""."""
    rows = reader.rows_of(1, after) if after else range(0)
    computation = after
    if not rows and before:
        rows, computation = reader.rows_of(0, before), before
    if not rows:
        return BodyRows("", -1, ())
    folds = reader.rows.folds
    inside = [
        item
        for item in visible_rows(reader.total, folds, frozenset(opened))
        if (item if item >= 0 else folds[-1 - item].row) in rows
    ]
    return BodyRows(
        computation, rows.start, tuple(inside[:MAX_ROWS]), max(0, len(inside) - MAX_ROWS)
    )
