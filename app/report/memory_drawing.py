"""Memory as drawings: the curve over the schedule, and the peak as a treemap of lines.

Takes facts of a report whose texts are legible, and addresses made by the caller; gives coordinates
of an SVG view box. Every drawing is made twice, for a desk and for a phone: text in a drawing that
is only scaled down cannot be read.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.model.memory import LoopSpan, MemoryCurve
from app.report.drawing import TickView
from app.report.wording import counted, shortened, size_text
from app.views.memory_map import squarified

_TOP, _FOOT = 10, 22
_BAND, _BAND_BAR = 18, 12
_MOST_BANDS = 6
_MOST_TICKS = 5
_LEAST_BAND = 3.0
_CHARACTER = 6.6
_LABEL_CHARACTER = 7.3
_PAD = 5


@dataclass(frozen=True, slots=True)
class Canvas:
    """How large a drawing is; a curve has labels in the pixels up to `left`, and loops below."""

    name: str
    width: int
    curve_height: int
    left: int
    map_height: int


CANVASES = (
    Canvas("wide", width=1120, curve_height=240, left=72, map_height=380),
    Canvas("narrow", width=358, curve_height=200, left=62, map_height=460),
)


@dataclass(frozen=True, slots=True)
class BandView:
    """When the body of a loop runs."""

    x: float
    y: float
    width: float
    height: int
    label: str
    label_x: float
    label_y: float
    title: str
    href: str


@dataclass(frozen=True, slots=True)
class CurveDrawing:
    """Bytes over the schedule, those that are held for the whole run below."""

    name: str
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    area: str
    line: str
    held_y: float
    held_width: int
    held_height: float
    peak_x: float
    peak_y: float
    peak_label: str
    peak_label_x: float
    peak_anchor: str
    label_x: int
    label_y: float
    y_ticks: tuple[TickView, ...]
    x_ticks: tuple[TickView, ...]
    bands: tuple[BandView, ...]


@dataclass(frozen=True, slots=True)
class TileView:
    """A line of the program, or what no line is known of; labels are "" where they do not fit."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    href: str
    title: str
    label: str
    size: str
    words: str
    text_x: float
    label_y: float
    size_y: float
    words_y: float


@dataclass(frozen=True, slots=True)
class MapDrawing:
    """A treemap."""

    name: str
    width: int
    height: int
    tiles: tuple[TileView, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the peak, as it is to be drawn."""

    bytes: int
    label: str
    words: str
    kind: str
    href: str


@dataclass(frozen=True, slots=True)
class Band:
    """What a loop is called, with its line (`label`) and without, and where its page is."""

    name: str
    label: str
    href: str


def curve_drawing(curve: MemoryCurve, bands: Mapping[str, Band], canvas: Canvas) -> CurveDrawing:
    """The curve with the highest point marked, loops below; `bands` are by loop."""
    spans = _shown_spans(curve, bands)
    bottom = canvas.curve_height - _FOOT
    right = canvas.width - 10
    ticks = _size_ticks(max(curve.bytes, default=0))
    x_of = _scale(curve.positions, canvas.left, right)

    def y_of(value: int) -> float:
        return round(bottom - (bottom - _TOP) * value / ticks[-1], 1)

    line = _steps(curve, x_of, y_of)
    peak = max(range(len(curve.bytes)), key=lambda place: curve.bytes[place])
    # In the middle of its position, as the pointer stands.
    at = curve.at[peak]
    peak_x = round((x_of(at) + x_of(at + 1)) / 2, 1)
    is_right = peak_x > (canvas.left + right) / 2
    return CurveDrawing(
        name=canvas.name,
        width=canvas.width,
        height=canvas.curve_height + _BAND * len(spans),
        left=canvas.left,
        right=right,
        top=_TOP,
        bottom=bottom,
        line=f"M{line}",
        area=f"M{canvas.left} {bottom}L{line}L{right} {bottom}Z",
        held_y=y_of(curve.held),
        held_width=right - canvas.left,
        held_height=round(bottom - y_of(curve.held), 1),
        peak_x=peak_x,
        peak_y=y_of(curve.bytes[peak]),
        peak_label=size_text(curve.bytes[peak]),
        peak_label_x=round(peak_x + (-8 if is_right else 8), 1),
        peak_anchor="end" if is_right else "start",
        label_x=canvas.left - 8,
        label_y=bottom + 14,
        y_ticks=tuple(TickView(at=y_of(tick), label=size_text(tick)) for tick in ticks),
        x_ticks=tuple(
            TickView(at=x_of(tick), label=f"{tick:,}") for tick in _position_ticks(curve, canvas)
        ),
        bands=tuple(
            _band(span, bands[span.loop], x_of, bottom + _FOOT + _BAND * row, canvas)
            for row, span in enumerate(spans)
        ),
    )


def map_drawing(parts: Sequence[Part], canvas: Canvas) -> MapDrawing:
    """The treemap of `parts`, which fall in size."""
    parts = [part for part in parts if part.bytes > 0]
    tiles = squarified([part.bytes for part in parts], canvas.width, canvas.map_height)
    total = sum(part.bytes for part in parts)
    views: list[TileView] = []
    for part, tile in zip(parts, tiles, strict=True):
        label_room = int((tile.width - 2 * _PAD) / _LABEL_CHARACTER)
        room = int((tile.width - 2 * _PAD) / _CHARACTER)
        size = size_text(part.bytes)
        is_named = label_room >= 5 and tile.height >= 20
        is_sized = is_named and tile.height >= 36 and room >= len(size)
        has_words = is_sized and tile.height >= 54 and room >= 9
        views.append(
            TileView(
                x=round(tile.x, 1),
                y=round(tile.y, 1),
                width=round(tile.width, 1),
                height=round(tile.height, 1),
                kind=part.kind,
                href=part.href,
                title=f"{part.label}: {size}, {part.bytes / total:.0%} of the peak; {part.words}",
                label=shortened(part.label, label_room) if is_named else "",
                size=size if is_sized else "",
                words=_start_of(part.words, room) if has_words else "",
                text_x=round(tile.x + _PAD, 1),
                label_y=round(tile.y + 15, 1),
                size_y=round(tile.y + 31, 1),
                words_y=round(tile.y + 47, 1),
            )
        )
    return MapDrawing(canvas.name, canvas.width, canvas.map_height, tuple(views))


def _start_of(words: str, room: int) -> str:
    return words if len(words) <= room else f"{words[: room - 1].rstrip(' ,')}…"


def bands_note(curve: MemoryCurve, bands: Mapping[str, Band]) -> str:
    """How many loops of the schedule are not drawn, or ""."""
    left_out = len(curve.loops) - len(_shown_spans(curve, bands))
    return f"{counted(left_out, 'shorter loop')} not drawn." if left_out else ""


def _shown_spans(curve: MemoryCurve, bands: Mapping[str, Band]) -> list[LoopSpan]:
    """The longest loops, in the order in which they run."""
    known = [span for span in curve.loops if span.loop in bands][:_MOST_BANDS]
    return sorted(known, key=lambda span: (span.first, -span.last))


def _band(
    span: LoopSpan, band: Band, x_of: Callable[[int], float], y: float, canvas: Canvas
) -> BandView:
    x = x_of(span.first)
    width = max(_LEAST_BAND, x_of(span.last + 1) - x)
    label = band.label if canvas.width > _CHARACTER * 80 else band.name
    room = _CHARACTER * len(label) + 2 * _PAD
    # A name stands inside its bar, or else beside it on the side that has room.
    label_x = x + _PAD
    if room > width:
        label_x = x + width + _PAD if x + width + room < canvas.width else x - room + _PAD
    return BandView(
        x=x,
        y=y,
        width=round(width, 1),
        height=_BAND_BAR,
        label=label,
        label_x=round(max(label_x, 2.0), 1),
        label_y=y + _BAND_BAR - 2.5,
        title=f"{band.label}: positions {span.first:,} to {span.last:,}",
        href=band.href,
    )


def _scale(positions: int, left: int, right: int) -> Callable[[int], float]:
    gap = (right - left) / max(positions, 1)
    return lambda position: round(left + gap * position, 1)


def _steps(curve: MemoryCurve, x_of: Callable[[int], float], y_of: Callable[[int], float]) -> str:
    """Level over each stretch, upright between two; equal neighbours are one line."""
    corners: list[str] = []
    for place, size in enumerate(curve.bytes):
        start, end = place * curve.step, min((place + 1) * curve.step, curve.positions)
        y = y_of(size)
        if corners and corners[-1].endswith(f" {y}"):
            corners.pop()
        else:
            corners.append(f"{x_of(start)} {y}")
        corners.append(f"{x_of(end)} {y}")
    return "L".join(corners)


def _size_ticks(largest: int) -> tuple[int, ...]:
    """From 0 past `largest` in a few steps of a power of two bytes."""
    step = 1
    while step * (_MOST_TICKS - 1) < largest:
        step *= 2
    return tuple(step * number for number in range(max(-(-largest // step), 1) + 1))


def _position_ticks(curve: MemoryCurve, canvas: Canvas) -> range:
    step = 1
    for factor in itertools.cycle((2, 2.5, 2)):
        if curve.positions <= step * max(3, canvas.width // 130):
            break
        step = int(step * factor)
    return range(0, curve.positions, step)
