"""What a comparison, of dumps or ranks, or a policy's result shows, in terminal and page alike.

Types only: every text and number stands here ready to be shown, cut to what a reader takes in.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

MAX_ROWS = 40

Tone = Literal["clear", "note", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; `note` says what was left out. Columns named in `numbers` are set right."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[str] = frozenset()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """One module, rank or group: `facts` are label and value, `lines` a difference of texts."""

    title: str
    facts: tuple[tuple[str, str], ...] = ()
    grids: tuple[Grid, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sheet:
    """All of it: `badge` is one word, `verdict` one sentence, its clauses parted by semicolons."""

    badge: str
    tone: Tone
    verdict: str
    facts: tuple[tuple[str, str], ...] = ()
    grids: tuple[Grid, ...] = ()
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """What the verdict says first, up to its first semicolon."""
        return self.verdict.partition("; ")[0].removesuffix(".")

    @property
    def also(self) -> str:
        """What the verdict says behind it; "" for nothing."""
        return self.verdict.partition("; ")[2]


def grid(
    heading: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Iterable[str] = (),
    most: int = MAX_ROWS,
) -> Grid:
    """A table of the first `most` rows."""
    found = [tuple(row) for row in rows]
    left_out = len(found) - most
    return Grid(
        heading=heading,
        columns=tuple(columns),
        rows=tuple(found[:most]),
        numbers=frozenset(numbers),
        note=f"and {left_out:,} more; the JSON holds them all" if left_out > 0 else "",
    )
