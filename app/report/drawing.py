"""Drawings of a report page in their own coordinates, for templates to write as SVG.

Types only. Coordinates are those of an SVG view box: pixels, x to the right, y downwards. Shapes
are named by event group and defined once per page (`templates/_marks.html`).
"""

from dataclasses import dataclass

from app.report.wording import EventGroup


@dataclass(frozen=True, slots=True)
class MarkView:
    """A mark of a drawing, in its own coordinates; `shape` is one of the event groups."""

    x: float
    y: float
    shape: EventGroup
    title: str


@dataclass(frozen=True, slots=True)
class TickView:
    """A line across a drawing with its label."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class CurveView:
    """A drawing of one number over passes: SVG coordinates, y downwards."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    points: str
    label: str
    label_x: int
    label_y: int
    marks: tuple[MarkView, ...]
    x_ticks: tuple[TickView, ...]
    y_ticks: tuple[TickView, ...]


@dataclass(frozen=True, slots=True)
class LegendView:
    """One shape of a drawing and what it means."""

    shape: EventGroup
    word: str


@dataclass(frozen=True, slots=True)
class LaneMark:
    """A mark on a lane at `at`, a share of its width in percent; `href` leads to the pass."""

    at: float
    shape: EventGroup
    title: str
    href: str


@dataclass(frozen=True, slots=True)
class LaneView:
    """The life of one loop as a bar from its first text to its last, in percent of the width."""

    name: str
    note: str
    depth: int
    told: str
    start: float
    width: float
    ends_early: bool
    marks: tuple[LaneMark, ...]
    href: str
    here: bool


@dataclass(frozen=True, slots=True)
class LanesView:
    """All loops of one module over its passes; ticks stand at percents of the width."""

    module: str
    lanes: tuple[LaneView, ...]
    ticks: tuple[TickView, ...]
    legend: tuple[LegendView, ...]
    note: str
