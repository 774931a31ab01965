"""The schedule of one computation as a drawing: collectives above, what computes below.

Takes a `Schedule` and gives SVG coordinates. A bar runs from start to done; the part of its time
that is waited for is drawn at its end and hatched, for a done waits last. A synchronous collective
is a block that everything waits for. Of a text without a schedule no bar says what is waited for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.model.report import Collective, Module, Report
from app.report.drawing import TickView
from app.report.program_facts import axes_text, kind_text
from app.report.wording import counted, legible, operations_text, shortened, size_text
from app.views.collectives_schedule import Schedule, ScheduledCollective

WIDTH = 1120
_LEFT, _RIGHT, _TOP = 64, 12, 24
_LANE_HEIGHT, _BAR_HEIGHT = 22, 16
_FLIGHT_HEIGHT, _WORK_HEIGHT, _GAP, _FOOT = 36, 40, 12, 22
_LEAST_WIDTH = 5.0
_CHARACTER_PIXELS = 6.4
_TICKS = 8
_MAX_LANES = 40


def collective_anchor(index: int) -> str:
    """Where the row of a collective is on the page, by its position in the report."""
    return f"collective-{index}"


@dataclass(frozen=True, slots=True)
class BarView:
    """A collective; `exposed_x` and `exposed_width` are the part that is waited for."""

    anchor: str
    href: str
    kind: str
    x: float
    y: float
    width: float
    height: float
    exposed_x: float
    exposed_width: float
    label: str
    label_x: float
    label_y: float
    title: str


@dataclass(frozen=True, slots=True)
class WorkView:
    """An instruction that computes, as a stroke as high as its operations."""

    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class ScheduleView:
    """One drawing, and what is said beside it."""

    anchor: str
    title: str
    lead: str
    label: str
    width: int
    height: int
    left: int
    right: int
    bars: tuple[BarView, ...]
    works: tuple[WorkView, ...]
    works_y: float
    works_label_y: float
    flight: str
    flight_label_y: float
    flight_most: str
    bottom: float
    ticks: tuple[TickView, ...]
    tick_y: float
    note: str


def schedule_view(
    report: Report,
    schedule: Schedule,
    number: int,
    loops: dict[str, str],
    whys: Mapping[int, str],
) -> ScheduleView:
    """The drawing of one computation, the `number`-th of the page.

    `loops` are names by id, `whys` what made a collective wait, by its position in the report.
    """
    lanes = max(1, min(schedule.lanes, _MAX_LANES))
    flight_y = _TOP + lanes * _LANE_HEIGHT + _GAP
    works_y = flight_y + (_FLIGHT_HEIGHT + _GAP if schedule.in_flight else 0)
    bottom = works_y + _WORK_HEIGHT
    scale = (WIDTH - _LEFT - _RIGHT) / max(1, schedule.places)
    drawn = [window for window in schedule.windows if window.lane < _MAX_LANES]
    left_out = schedule.left_out + len(schedule.windows) - len(drawn)
    name = legible(schedule.computation)
    where = f"body of {legible(loops[schedule.loop])}, " if schedule.loop in loops else ""
    order = "in schedule order" if schedule.scheduled else "in text order: no schedule is known"
    return ScheduleView(
        anchor=f"schedule-{number}",
        title=name,
        lead=f"{where}{counted(len(schedule.windows) + left_out, 'collective')}, "
        f"{counted(schedule.places, 'instruction')} {order}",
        label=f"Collectives of {name} {order}; the table below holds the same",
        width=WIDTH,
        height=bottom + _FOOT,
        left=_LEFT,
        right=WIDTH - _RIGHT,
        bars=tuple(
            _bar(
                report.collectives[w.index],
                w,
                scale,
                whys.get(w.index, ""),
                scheduled=schedule.scheduled,
            )
            for w in drawn
        ),
        works=_works(schedule, scale, bottom),
        works_y=works_y,
        works_label_y=bottom - 4,
        flight=_flight(schedule, scale, flight_y),
        flight_label_y=flight_y + _FLIGHT_HEIGHT - 4,
        flight_most=f"{max((count for _, count in schedule.in_flight), default=0):,}",
        bottom=bottom,
        ticks=_ticks(schedule, scale),
        tick_y=bottom + 16,
        note=f"{counted(left_out, 'collective')} more not drawn." if left_out else "",
    )


def drawn_kinds(drawings: Sequence[ScheduleView]) -> tuple[tuple[str, str], ...]:
    """What is drawn in any of them: the class of its swatch, and words."""
    bars = [bar for drawing in drawings for bar in drawing.bars]
    kinds = {bar.kind for bar in bars}
    known = (
        ("kind-hidden", "behind computation", bool(kinds & {"hidden", "partly"})),
        ("kind-exposed", "waited for", "exposed" in kinds or any(b.exposed_width for b in bars)),
        ("kind-sync", "synchronous", "sync" in kinds),
        ("kind-unknown", "no schedule known", "unknown" in kinds),
        ("flight", "in flight", any(drawing.flight for drawing in drawings)),
        (
            "work",
            "what computes, as high as its operations",
            any(drawing.works for drawing in drawings),
        ),
    )
    return tuple((swatch, words) for swatch, words, is_there in known if is_there)


def _bar(
    collective: Collective, window: ScheduledCollective, scale: float, why: str, *, scheduled: bool
) -> BarView:
    x = _LEFT + window.start * scale
    width = max(_LEAST_WIDTH, (window.end - window.start + 1) * scale)
    y = _TOP + window.lane * _LANE_HEIGHT
    kind = overlap_kind(collective, scheduled=scheduled)
    exposed = exposed_share(collective)
    exposed_width = round(width * exposed, 1)
    anchor = collective_anchor(window.index)
    room = int((width - 8) / _CHARACTER_PIXELS)
    name = legible(collective.instruction)
    return BarView(
        anchor=f"bar-{window.index}",
        href=f"#{anchor}",
        kind=kind,
        x=round(x, 1),
        y=y,
        width=round(width, 1),
        height=_BAR_HEIGHT,
        exposed_x=round(x + width - exposed_width, 1),
        exposed_width=exposed_width,
        label=shortened(name, room) if room > 5 else "",
        label_x=round(x + 4, 1),
        label_y=y + _BAR_HEIGHT / 2,
        title="\n".join(_bar_lines(collective, window, why)),
    )


def _bar_lines(collective: Collective, window: ScheduledCollective, why: str) -> list[str]:
    parts = [f"{legible(collective.instruction)}: {size_text(collective.bytes)}"]
    axes = legible(axes_text(collective))
    parts += [f"along {axes}"] if axes else []
    parts.append(times_text(collective))
    parts += [kind_text(collective)] if collective.fused else []
    parts += [f"behind it: {behind_text(window)}"] if window.behind_total else []
    parts += [f"why it waits: {why}"] if why else []
    return [part for part in parts if part]


def is_scheduled(module: Module) -> bool:
    """Whether the last text of a module, in which its collectives stand, is a schedule.

    Only in one is a collective that is not asynchronous known to stay so.
    """
    return bool(module.dumps) and module.dumps[-1].scheduled


def overlap_kind(collective: Collective, *, scheduled: bool) -> str:
    """`sync`, `unknown` (no schedule), `exposed`, `partly` or `hidden`."""
    if not scheduled:
        return "unknown"
    if not collective.is_async:
        return "sync"
    window = collective.window
    if window is None:
        return "unknown"
    if not window.instructions:
        return "exposed"
    share = exposed_share(collective)
    return "hidden" if share < 0.05 else "exposed" if share > 0.95 else "partly"


def exposed_share(collective: Collective) -> float:
    """Of the time it takes, the share that is waited for, from 0 to 1; 0 where nothing tells."""
    window = collective.window
    if window is None or window.exposed_us is None or window.hidden_us is None:
        return 0.0
    total = window.exposed_us + window.hidden_us
    return window.exposed_us / total if total else 0.0


def exposed_us(collective: Collective) -> float | None:
    """Microseconds that are waited for: all of a synchronous one; None where no time is known."""
    if collective.waited_us is not None:
        return collective.waited_us
    return None if collective.window is None else collective.window.exposed_us


def hidden_text(collective: Collective) -> str:
    """What is not exposed: `hidden 12 us`, or `all of it` exposed; "" where no time is known."""
    if collective.waited_us is not None:
        return "all of it"
    window = collective.window
    hidden = None if window is None else window.hidden_us
    return "" if hidden is None else f"hidden {micros_text(hidden)}"


def times_text(collective: Collective) -> str:
    """`hidden 12 us, exposed 3 us`, `all of 15 us exposed`; "" where no time is estimated."""
    exposed = exposed_us(collective)
    if exposed is None:
        return ""
    if collective.waited_us is not None:
        return f"all of {micros_text(exposed)} exposed"
    return f"{hidden_text(collective)}, exposed {micros_text(exposed)}"


def micros_text(micros: float) -> str:
    """A time for reading: in microseconds below one millisecond, else in milliseconds."""
    if micros >= 1000:
        return f"{micros / 1000:,.1f} ms"
    digits = 1 if 0 < micros < 10 else 0
    return f"{micros:,.{digits}f} \u00b5s"


def behind_text(window: ScheduledCollective) -> str:
    """What runs while a collective is on its way, the most operations first."""
    named = [
        legible(work.name) + (f" ({operations_text(work.flops)})" if work.flops else "")
        for work in window.behind
    ]
    more = window.behind_total - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")


def _works(schedule: Schedule, scale: float, bottom: float) -> tuple[WorkView, ...]:
    most = max((work.flops or 0 for work in schedule.works), default=0)
    views: list[WorkView] = []
    for work in schedule.works:
        # The square root keeps small products in sight beside large ones.
        share = ((work.flops or 0) / most) ** 0.5 if most else 0.0
        height = round(max(3.0, share * (_WORK_HEIGHT - 2)), 1)
        flops = f", {operations_text(work.flops)}" if work.flops else ""
        views.append(
            WorkView(
                x=round(_LEFT + work.place * scale, 1),
                y=bottom - height,
                width=round(max(1.0, scale * 0.85), 1),
                height=height,
                title=legible(f"{work.name}, {work.opcode}{flops}"),
            )
        )
    return tuple(views)


def _flight(schedule: Schedule, scale: float, top: float) -> str:
    most = max((count for _, count in schedule.in_flight), default=0)
    bottom = top + _FLIGHT_HEIGHT
    if not most:
        return ""
    path = [f"M{_LEFT} {bottom:g}"]
    for place, count in schedule.in_flight:
        path.append(f"H{_LEFT + place * scale:g}V{bottom - _FLIGHT_HEIGHT * count / most:g}")
    return "".join((*path, f"H{WIDTH - _RIGHT}V{bottom:g}Z"))


def _ticks(schedule: Schedule, scale: float) -> tuple[TickView, ...]:
    step = max(1, -(-schedule.places // _TICKS))
    return tuple(
        TickView(at=round(_LEFT + place * scale, 1), label=f"{place:,}")
        for place in range(0, schedule.places, step)
    )
