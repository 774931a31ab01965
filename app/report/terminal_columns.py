"""Parts of the terminal text: tables with no word broken without need, lines set in, none padded.

Words of a cell go to further lines where the terminal is too narrow. A word breaks only where the
longest words of all columns do not fit side by side; a place then loses the front of its file name
and keeps its line number. Takes texts that are legible already; prints nothing itself.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

_PLACE = re.compile(r"[^\s:]+:\d+(?:[-:]\d+)*")

# What rich adds to a column: a blank on either side and one between columns.
_AROUND = 3


class Trimmed:
    """A renderable without the blanks that rich fills its lines up with at their ends.

    A terminal hides them; a file, a pipe or a thread of a bug shows a line as long as the longest.
    """

    def __init__(self, content: RenderableType) -> None:
        self._content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """The lines of the content, as rich asks for them."""
        for line in console.render_lines(self._content, options, pad=False):
            yield from _without_end_blanks(line)
            yield Segment.line()


def _without_end_blanks(line: Sequence[Segment]) -> list[Segment]:
    kept = list(line)
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        last = kept[-1]
        kept[-1] = Segment(last.text.rstrip(), last.style, last.control)
    return kept


def indented(content: RenderableType, columns: int = 2) -> Trimmed:
    """The content, `columns` to the right."""
    return Trimmed(Padding(content, (0, 0, 0, columns), expand=False))


def table_of(
    columns: Sequence[str],
    rows: Sequence[Sequence[Text]],
    width: int,
    *,
    numbers: Collection[str] = (),
) -> Trimmed:
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
    return Trimmed(table)


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
