"""Tables of the terminal text: how wide each column is, so that no word breaks without need.

Words of a cell go to further lines where the terminal is too narrow. A word breaks only where the
longest words of all columns do not fit side by side; a place then loses the front of its file name
and keeps its line number. Takes texts that are legible already; prints nothing itself.
"""

import re
from collections.abc import Collection, Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

_PLACE = re.compile(r"[^\s:]+:\d+(?:[-:]\d+)*")

# What rich adds to a column: a blank on either side and one between columns.
_AROUND = 3


def table_of(
    columns: Sequence[str],
    rows: Sequence[Sequence[Text]],
    width: int,
    *,
    numbers: Collection[str] = (),
) -> Table:
    """A table for a terminal of `width` columns; those named in `numbers` are set right."""
    cells = [[Text(column) for column in columns], *(list(row) for row in rows)]
    room = max(len(columns), width - _AROUND * len(columns) + 1)
    widths = _widths([_span(each) for each in zip(*cells, strict=True)], room)
    table = Table(box=SIMPLE_HEAD, pad_edge=True, show_edge=False, header_style="dim")
    for column, columns_wide in zip(columns, widths, strict=True):
        justify = "right" if column in numbers else "left"
        table.add_column(Text(column), justify=justify, overflow="fold", width=columns_wide)
    for row in cells[1:]:
        table.add_row(*map(_with_places_of, row, widths))
    return table


def _span(cells: Sequence[Text]) -> tuple[int, int]:
    """The longest word of a column and its longest line."""
    plain = [cell.plain for cell in cells]
    words = (cell_len(word) for text in plain for word in text.split())
    lines = (cell_len(line) for text in plain for line in text.splitlines())
    return max(words, default=1), max(lines, default=1)


def _widths(spans: Sequence[tuple[int, int]], room: int) -> list[int]:
    """As wide as the longest line where all fit; else words stay whole, then all get alike."""
    longest_lines = [line for _, line in spans]
    if sum(longest_lines) <= room:
        return longest_lines
    words = [word for word, _ in spans]
    if sum(words) > room:
        return _levelled([1] * len(spans), words, room)
    return _levelled(words, longest_lines, room)


def _levelled(least: Sequence[int], most: Sequence[int], room: int) -> list[int]:
    """Widths between `least` and `most` with one limit for all, the highest that fits."""

    def at(level: int) -> list[int]:
        return [max(low, min(high, level)) for low, high in zip(least, most, strict=True)]

    return at(next((level for level in range(room, 1, -1) if sum(at(level)) <= room), 1))


def _with_places_of(cell: Text, width: int) -> Text:
    """The cell with places of at most `width` columns, the front of their file names cut."""
    for found in reversed(list(_PLACE.finditer(cell.plain))):
        over = cell_len(found[0]) - width
        if over > 0:
            kept = cell[found.end() - max(1, width - 1) :]
            cell = Text.assemble(cell[: found.start()], "…", kept)
    return cell
