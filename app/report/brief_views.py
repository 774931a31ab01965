"""What the templates of the small sections on memory and on lines are given.

Types only. Attributes named `href` are addresses on the server, "" where there is nothing to go to.
"""

from dataclasses import dataclass

from app.report.memory_drawing import CurveDrawing


@dataclass(frozen=True, slots=True)
class ShareBrief:
    """What a line holds at the peak."""

    line: str
    href: str
    size: str
    part: str


@dataclass(frozen=True, slots=True)
class MemoryBrief:
    """The memory of one module; `href` leads to its view, `note` says what `shares` leave out."""

    module: str
    lead: str
    label: str
    curves: tuple[CurveDrawing, ...]
    shares: tuple[ShareBrief, ...]
    note: str
    href: str


@dataclass(frozen=True, slots=True)
class LineBrief:
    """What one line became in the last text; figures are "" where there are none."""

    line: str
    href: str
    function: str
    instructions: str
    inferred: str
    flops: str
    bytes: str
    collectives: str


@dataclass(frozen=True, slots=True)
class ProgramBrief:
    """The lines of one module, those with most work first; `href` leads to their view.

    `first` are shown at once, `more` when asked for (`more_label`); `note` says what is left out.
    """

    module: str
    lead: str
    first: tuple[LineBrief, ...]
    more: tuple[LineBrief, ...]
    more_label: str
    note: str
    href: str
