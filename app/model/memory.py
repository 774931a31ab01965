"""Memory of one compiled module as the report shows it: totals, the peak, and who shares a place.

The field names are keys of the JSON contract, as in `report.py`. Sizes and offsets are bytes.
"""

from typing import Literal

import msgspec

from app.model.source import Source, SourceHow, Struct

BufferClass = Literal[
    "parameter",
    "donated",
    "output",
    "constant",
    "thread_local",
    "stacked",
    "carried",
    "collective",
    "copy",
    "workspace",
    "temporary",
]


class MemorySpace(Struct, frozen=True, kw_only=True):
    """One memory space: XLA's number (`color`), its name where a memory report tells it."""

    color: int
    name: str = ""
    bytes: int = 0


class LiveBuffer(Struct, frozen=True, kw_only=True):
    """A buffer in use at the peak.

    `instruction` defines what lies in it, `index` is the element of its tuple (`{1}`); for a
    buffer that is held for the whole run it is the parameter, the constant or the output. `class`:
    the roles of `Memory.reserved`, and for temporaries `stacked` (filled or read by a loop slice by
    slice), `carried` (any other state of a loop), `collective` (made by one, or left for the one of
    the next iteration), `copy`, `workspace` (scratch space of a library call) and `temporary`.
    `loop` is the id of the loop it belongs to, `source_how` says how `source` is known. Bytes that
    an entry above covers too are left out of `bytes`.
    """

    class_: BufferClass = msgspec.field(name="class")
    bytes: int
    allocation: int
    offset: int = 0
    shape: str = ""
    instruction: str | None = None
    index: str = ""
    computation: str | None = None
    opcode: str | None = None
    op_name: str | None = None
    loop: str | None = None
    source: Source | None = None
    source_how: SourceHow | None = None


class PeakShare(Struct, frozen=True, kw_only=True):
    """What one line of the program holds at the peak, in `buffers` buffers of these `classes`.

    `source` has no frames; it is None for all that no line is known of, and then `rest` says
    whether these are the smallest lines, which are not listed, or buffers without a line.
    """

    source: Source | None = None
    rest: bool = False
    bytes: int
    buffers: int
    classes: dict[str, int] = msgspec.field(default_factory=dict[str, int])


class MemoryPeak(Struct, frozen=True, kw_only=True):
    """The moment at which most of the default memory space is in use.

    `bytes` are what is held for the whole run and the temporaries that live at `position` of the
    schedule, each byte once; `classes` and `shares` share them out, the largest first.
    `instruction` runs there; it is None where there are no temporaries. `largest` are the first of
    `buffers` by size.
    """

    bytes: int
    position: int | None = None
    computation: str | None = None
    instruction: str | None = None
    source: Source | None = None
    classes: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    buffers: int = 0
    largest: tuple[LiveBuffer, ...] = ()
    shares: tuple[PeakShare, ...] = ()


class LoopSpan(Struct, frozen=True, kw_only=True):
    """Positions `first` to `last` of the schedule, at which the body of a loop runs."""

    loop: str
    first: int
    last: int


class MemoryCurve(Struct, frozen=True, kw_only=True):
    """Bytes of the default memory space in use over the `positions` of the schedule.

    Point i is the highest of the `step` positions from i * step on: `bytes`, of which `held` are
    there for the whole run, at position `at`, where `instructions` runs ("" where that is not known
    or its name is too long). `loops` go from the outermost inwards.
    """

    positions: int
    step: int
    held: int
    bytes: tuple[int, ...]
    at: tuple[int, ...]
    instructions: tuple[str, ...]
    loops: tuple[LoopSpan, ...] = ()


class StatedPeak(Struct, frozen=True, kw_only=True):
    """What XLA's own live-range file names as the peak; `bytes` from 2026 on.

    They are a sum over values, bytes that several share counted several times, and the position is
    chosen with sizes that leave out what is inside tuples.
    """

    position: int
    instruction: str | None = None
    bytes: int | None = None


class LoopBuffer(Struct, frozen=True, kw_only=True):
    """Where element `element` of a loop's carried tuple lies in every iteration.

    `writers` are the instructions of the body that put their result into that place.
    """

    loop: str
    element: int
    allocation: int
    offset: int
    bytes: int
    writers: tuple[str, ...] = ()


class AsyncBuffers(Struct, frozen=True, kw_only=True):
    """An asynchronous operation whose operand shares memory with its result or another value.

    `in_place`: operand and result overlap. `overwritten_by`: instructions between start and done
    that write into an operand while it is in use.
    """

    computation: str
    start: str
    done: str
    opcode: str
    in_place: bool = False
    overwritten_by: tuple[str, ...] = ()


class MemoryEstimate(Struct, frozen=True, kw_only=True):
    """That there is no buffer assignment, and figures are reckoned from a text alone.

    `order` is what lives at a moment is told from: the `schedule`, or the mere order of the `text`.
    `divided` is False where sizes are those of whole arrays, before partitioning. `limits` say in
    words what is not foreseen.
    """

    order: Literal["schedule", "text"]
    divided: bool = True
    limits: tuple[str, ...] = ()


class Memory(Struct, frozen=True, kw_only=True):
    """Where the bytes of one module go, from its buffer assignment (`file`) and live ranges.

    `total_bytes` are all allocations in all `spaces`. `reserved` are those of the default space by
    role: `parameter`, `donated` (a parameter whose place an output takes), `output`, `constant`,
    `thread_local`, `temp`. The `temp` ones hold `temp_values` values of `temp_value_bytes`, one
    after the other. `peak` and `curve` are None where no live ranges are known. `loop_buffers` are
    the largest, and `async_buffers` the first that share memory. With `estimate` there is no
    assignment: `file` is the text that all figures are reckoned from.
    """

    module: str
    dump: int
    file: str
    total_bytes: int
    spaces: tuple[MemorySpace, ...] = ()
    reserved: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    temp_values: int = 0
    temp_value_bytes: int = 0
    peak: MemoryPeak | None = None
    stated_peak: StatedPeak | None = None
    curve: MemoryCurve | None = None
    loop_buffers: tuple[LoopBuffer, ...] = ()
    async_buffers: tuple[AsyncBuffers, ...] = ()
    estimate: MemoryEstimate | None = None
