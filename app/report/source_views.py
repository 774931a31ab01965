"""What the template of a source page is given: every text and number ready to be shown.

Types only. Attributes named `href` are addresses on the server, "" where there is nothing to go to.
"""

from dataclasses import dataclass

from app.report.graph import OptionView
from app.report.keys import KeyView
from app.report.views import ViewLink


@dataclass(frozen=True, slots=True)
class FileView:
    """A file of the program and what it became."""

    name: str
    path: str
    href: str
    here: bool
    lines: str


@dataclass(frozen=True, slots=True)
class BarView:
    """A text as a bar of how many instructions state the line in it."""

    x: float
    y: float
    width: float
    height: float
    href: str
    title: str
    here: bool


@dataclass(frozen=True, slots=True)
class StripView:
    """A line over the texts."""

    name: str
    width: int
    height: int
    bars: tuple[BarView, ...]


@dataclass(frozen=True, slots=True)
class MadeView:
    """An instruction that a line became; numbers stand beside their words for sorting."""

    name: str
    href: str
    text_href: str
    computation: str
    opcode: str
    kind: str
    shape: str
    op_name: str
    how: str
    stated: bool
    runs: str
    run_count: int
    flops: str
    flop_count: int
    bytes: str
    byte_count: int


@dataclass(frozen=True, slots=True)
class DetailView:
    """What the chosen line became in the chosen text."""

    title: str
    counts: str
    facts: tuple[tuple[str, str], ...]
    strips: tuple[StripView, ...]
    strip_label: str
    changed: str
    earlier_href: str
    earlier_word: str
    later_href: str
    later_word: str
    close_href: str
    made: tuple[MadeView, ...]
    note: str


@dataclass(frozen=True, slots=True)
class LineView:
    """A line of the listing; with `detail` it is the chosen one.

    `gap` is a note of the lines left out before it. Figures are "" where there are none.
    """

    number: int
    anchor: str
    href: str
    code: str
    gap: str
    instructions: str
    inferred: str
    flops: str
    bytes: str
    collectives: str
    memory: str
    title: str
    detail: DetailView | None


KEYS = (
    KeyView("n, j", "next line that became something"),
    KeyView("p, k", "previous line that became something"),
    KeyView("Enter", "open what the line became"),
    KeyView("[ ]", "previous or next text of the module"),
    KeyView("?", "this help"),
)


@dataclass(frozen=True, slots=True)
class SourcePage:
    """Everything the template shows; without files only the words of `lead`.

    `missing` says what the address asks for and nothing knows of; `nearest_line` leads on.
    """

    title: str
    heading: str
    lead: str
    views: tuple[ViewLink, ...]
    action: str
    modules: tuple[OptionView, ...]
    texts: tuple[OptionView, ...]
    file: str
    file_path: str
    line: str
    earlier_href: str
    later_href: str
    files: tuple[FileView, ...]
    listing: tuple[LineView, ...]
    missing: str
    nearest_line: str
    nearest_href: str
    notes: tuple[str, ...]
    has_memory: bool
    keys: tuple[KeyView, ...] = KEYS
