"""What the template of a memory page is given: every text and number ready to be shown.

Types only. Attributes named `href` are addresses on the server, "" where there is nothing to go to.
"""

from dataclasses import dataclass

from app.report.graph import OptionView
from app.report.keys import KeyView
from app.report.memory_drawing import CurveDrawing, MapDrawing
from app.report.rows import Rows
from app.report.views import ViewLink


@dataclass(frozen=True, slots=True)
class ShareView:
    """What a line holds at the peak; `bytes` and `buffer_count` are for sorting."""

    line: str
    file: str
    href: str
    bytes: int
    size: str
    part: str
    buffer_count: int
    buffers: str
    classes: str


@dataclass(frozen=True, slots=True)
class BufferView:
    """A buffer that lives at the peak; `bytes` is for sorting."""

    name: str
    href: str
    kind: str
    word: str
    bytes: int
    size: str
    shape: str
    op_name: str
    line: str
    line_href: str
    loop: str
    loop_href: str
    place: str


@dataclass(frozen=True, slots=True)
class SharingView:
    """An element of a loop's state and the place that all iterations share."""

    loop: str
    loop_href: str
    element: str
    kind: str
    bytes: int
    size: str
    place: str
    writers: str


@dataclass(frozen=True, slots=True)
class AsyncView:
    """An asynchronous operation whose operand shares memory."""

    name: str
    href: str
    opcode: str
    what: str


KEYS = (
    KeyView("← →", "on the curve: one step; with Shift twenty"),
    KeyView("Home, End", "on the curve: the first or last position"),
    KeyView("p", "the peak"),
    KeyView("/", "filter the buffers"),
    KeyView("?", "this help"),
)


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """Everything the template shows; without memory facts only the words of `lead`."""

    title: str
    heading: str
    lead: str
    views: tuple[ViewLink, ...]
    action: str
    modules: tuple[OptionView, ...]
    facts: tuple[tuple[str, str], ...]
    facts_note: str
    curves: tuple[CurveDrawing, ...]
    curve_title: str
    curve_label: str
    curve_note: str
    maps: tuple[MapDrawing, ...]
    kinds: tuple[tuple[str, str], ...]
    shares: Rows[ShareView]
    buffers: Rows[BufferView]
    buffers_note: str
    sharing: Rows[SharingView]
    operations: Rows[AsyncView]
    data: dict[str, object]
    keys: tuple[KeyView, ...] = KEYS
