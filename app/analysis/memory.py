"""Memory of the compiled modules: totals, the peak and what is live there, who shares a place.

Read from the buffer assignment and the live ranges that XLA wrote beside its last text. The peak is
found anew: what is held for the whole run (parameters, outputs, constants) and the most bytes of
temporaries that live at one position, each byte once. Without live ranges no peak is given. Where
no buffer assignment was written at all, the same can be told of an estimated one, and says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.analysis.buffer_classes import BufferSorter, Definition
from app.analysis.buffer_sharing import find_async_buffers, find_loop_buffers
from app.analysis.buffers import Place, Placement
from app.analysis.collectives import enclosing_loops
from app.analysis.dataflow import Value
from app.analysis.memory_curve import curve_of
from app.analysis.memory_estimate import estimate_assignment
from app.analysis.occupancy import Level, Stay, busiest, levels_of
from app.analysis.peak_shares import shares_of
from app.analysis.source_repair import SourceRepairer
from app.analysis.sources import op_name_of
from app.model.dump import (
    Allocation,
    BufferAssignment,
    DumpContents,
    LiveRanges,
    ModuleHistory,
    PassDump,
    ValuePositions,
)
from app.model.facts import LoopHistory, MemoryProfile
from app.model.memory import (
    AsyncBuffers,
    BufferClass,
    LiveBuffer,
    LoopBuffer,
    Memory,
    MemoryCurve,
    MemoryEstimate,
    MemoryPeak,
    MemorySpace,
    StatedPeak,
)
from app.model.source import Source, SourceHow

SHOWN_BUFFERS = 100
_SHOWN_SHARING = 50
# Shapes of tuples may be as long as a page.
_SHOWN_CHARACTERS = 200
_SIDE_FILES = (
    "-buffer-assignment.txt",
    "-live-range.txt",
    "-buffer-assignment-values.txt",
    "-memory-usage-report.txt",
)
_TEXTS = (".txt", ".txt.gz", ".txt.zst")
_PROTOS = (".hlo.pb", ".hlo.pb.gz", ".hlo.pb.zst")


def find_memory(
    contents: DumpContents, history: ModuleHistory, loops: Sequence[LoopHistory]
) -> tuple[MemoryProfile, ...]:
    """One profile for each buffer assignment of the module, mostly one or none."""
    return tuple(
        _Profiler(history, loops, _files_of(contents, history, assignment)).profile()
        for assignment in contents.buffer_assignments
        if assignment.module_id == history.id and assignment.allocations
    )


def estimate_memory(history: ModuleHistory, loops: Sequence[LoopHistory]) -> MemoryProfile | None:
    """A profile of the last text as if XLA had assigned its buffers; see `memory_estimate.py`.

    None for a text that is not worth the work.
    """
    found = estimate_assignment(history, history.last)
    if found is None:
        return None
    files = _Files(history.last, found.assignment, found.live, found.positions, {}, found.estimate)
    return _Profiler(history, loops, files).profile()


@dataclass(frozen=True, slots=True)
class _Files:
    """What a profile is made from: the text, and what stands beside it or in its stead."""

    dump: PassDump
    assignment: BufferAssignment
    live: LiveRanges | None
    positions: ValuePositions | None
    spaces: Mapping[int, str]
    estimate: MemoryEstimate | None = None


def _files_of(
    contents: DumpContents, history: ModuleHistory, assignment: BufferAssignment
) -> _Files:
    stem = _stem(assignment.file)
    return _Files(
        dump=_text_of(history, stem),
        assignment=assignment,
        live=next((e for e in contents.live_ranges if _stem(e.file) == stem), None),
        positions=next((e for e in contents.value_positions if _stem(e.file) == stem), None),
        spaces={
            space.color: space.name
            for report in contents.memory_reports
            if _stem(report.file) == stem
            for space in report.spaces
        },
    )


@dataclass(frozen=True, slots=True)
class _Held:
    """What lies in some bytes at the peak: `bytes` are those that nothing before it covers."""

    class_: BufferClass
    bytes: int
    allocation: Allocation
    place: Place | None


class _Profiler:
    """The profile of one assignment."""

    def __init__(self, history: ModuleHistory, loops: Sequence[LoopHistory], files: _Files) -> None:
        self._history = history
        self._tracked = loops
        assignment = self._assignment = files.assignment
        self._dump = files.dump
        self._module = self._dump.module
        self._live = files.live
        self._names = files.spaces
        self._estimate = files.estimate
        # XLA's default memory space is 0; texts that were edited may have none.
        self._color = min((allocation.color for allocation in assignment.allocations), default=0)
        self._main = [a for a in assignment.allocations if a.color == self._color]
        self._placement = Placement(assignment, files.positions)
        here = self._dump.index
        self._loops = {
            loop.id: loop.occurrences[here] for loop in loops if here in loop.occurrences
        }
        self._sorter = BufferSorter(self._module, self._placement, self._loops)
        self._parameters = {
            parameter.parameter_number: parameter.name
            for parameter in self._module.entry.parameters
        }
        self._around = enclosing_loops(self._module, loops, here)
        self._repairer = SourceRepairer(history, loops)

    def profile(self) -> MemoryProfile:
        loop_buffers: tuple[LoopBuffer, ...] = ()
        async_buffers: tuple[AsyncBuffers, ...] = ()
        # Where values lie is a guess in an estimate: it knows nothing of who shares memory.
        if self._estimate is None:
            loop_buffers = find_loop_buffers(self._module, self._placement, self._loops)
            async_buffers = find_async_buffers(self._module, self._placement)
        temp_values = [v for a in self._main if a.role == "temp" for v in a.values]
        live = self._live
        stays = [] if live is None else list(self._stays(live))
        levels = levels_of([stay for stay, _ in stays])
        memory = Memory(
            module=self._history.id,
            dump=self._dump.index,
            file=self._assignment.file,
            total_bytes=sum(allocation.size for allocation in self._assignment.allocations),
            spaces=self._spaces(),
            reserved=_sums((allocation.role, allocation.size) for allocation in self._main),
            temp_values=len(temp_values),
            temp_value_bytes=sum(value.size for value in temp_values),
            peak=None if live is None else self._peak(live, stays, levels),
            stated_peak=None if live is None else _stated(live),
            curve=None if live is None else self._curve(live, levels),
            loop_buffers=tuple(
                sorted(loop_buffers, key=lambda buffer: -buffer.bytes)[:_SHOWN_SHARING]
            ),
            async_buffers=async_buffers[:_SHOWN_SHARING],
            estimate=self._estimate,
        )
        return MemoryProfile(memory, loop_buffers, async_buffers)

    def _spaces(self) -> tuple[MemorySpace, ...]:
        sizes: dict[int, int] = {}
        for allocation in self._assignment.allocations:
            sizes[allocation.color] = sizes.get(allocation.color, 0) + allocation.size
        return tuple(
            MemorySpace(color=color, name=self._names.get(color, ""), bytes=size)
            for color, size in sorted(sizes.items())
        )

    # ---- the peak --------------------------------------------------------------------------------

    def _stays(self, live: LiveRanges) -> Iterator[tuple[Stay, Place]]:
        bases = self._bases()
        for entry in live.ranges:
            place = self._placement.of_value(Value(entry.name, entry.path))
            base = None if place is None else bases.get(place.allocation.number)
            if place is not None and base is not None:
                low = base + place.buffer.offset
                yield Stay(entry.start, entry.end, low, low + place.buffer.size), place

    def _curve(self, live: LiveRanges, levels: Sequence[Level]) -> MemoryCurve | None:
        definitions = {name: self._sorter.definition(name) for name in live.sequence}
        return curve_of(
            live,
            levels,
            sum(allocation.size for allocation in self._main if allocation.role != "temp"),
            self._tracked,
            {
                name: self._around.get(found.computation.name)
                for name, found in definitions.items()
                if found is not None
            },
        )

    def _peak(
        self, live: LiveRanges, stays: Sequence[tuple[Stay, Place]], levels: Sequence[Level]
    ) -> MemoryPeak:
        most = busiest(levels)
        ends = {Value(entry.name, entry.path): entry.end for entry in live.ranges}
        held = [self._fixed(a, ends) for a in self._main if a.role != "temp"]
        if most is not None:
            held += self._temporaries(
                [(s, place) for s, place in stays if s.start <= most.position <= s.end]
            )
        held.sort(key=lambda one: (-one.bytes, one.allocation.number, _first_byte(one)))
        at = None if most is None else self._running(live, most.position)
        return MemoryPeak(
            bytes=sum(one.bytes for one in held),
            position=None if most is None else most.position,
            computation=None if at is None else at.computation.name,
            instruction=None if at is None else at.instruction.name,
            source=None if at is None else self._source_of(at.instruction.name)[0],
            classes=_sums((one.class_, one.bytes) for one in held),
            buffers=len(held),
            largest=tuple(self._shown(one) for one in held[:SHOWN_BUFFERS]),
            shares=shares_of((one.class_, one.bytes, self._origin(one)[0]) for one in held),
        )

    def _bases(self) -> dict[int, int]:
        """Where the allocations of temporaries begin when they are laid one behind the other."""
        bases: dict[int, int] = {}
        end = 0
        for allocation in self._main:
            if allocation.role == "temp":
                bases[allocation.number] = end
                end += allocation.size
        return bases

    def _running(self, live: LiveRanges, position: int) -> Definition | None:
        if position >= len(live.sequence):
            return None
        return self._sorter.definition(live.sequence[position])

    def _temporaries(self, live: list[tuple[Stay, Place]]) -> Iterator[_Held]:
        """Those that live at the peak; bytes that several share go to the largest or latest."""
        end = 0
        for stay, place in sorted(live, key=lambda one: (one[0].low, -one[0].high, -one[0].start)):
            fresh = stay.high - max(stay.low, end)
            if fresh > 0:
                yield _Held(self._sorter.of(place), fresh, place.allocation, place)
                end = stay.high

    def _fixed(self, allocation: Allocation, ends: Mapping[Value, int]) -> _Held:
        """An allocation that is held for the whole run, with the value it is held for.

        That is the parameter; of an output the value that lives longest.
        """
        role = allocation.role
        values = [
            place
            for value in allocation.values
            if (place := self._placement.of_value(Value(value.name, value.path))) is not None
        ]
        if allocation.parameter is not None:
            name = self._parameters.get(allocation.parameter)
            values = [place for place in values if place.buffer.name == name]
        elif role == "output":
            values.sort(key=lambda place: -ends.get(place.value, -1))
        class_: BufferClass = "temporary" if role == "temp" else role
        return _Held(class_, allocation.size, allocation, values[0] if values else None)

    # ---- how a buffer is shown -------------------------------------------------------------------

    def _shown(self, held: _Held) -> LiveBuffer:
        place = held.place
        if place is None:
            return LiveBuffer(
                class_=held.class_, bytes=held.bytes, allocation=held.allocation.number
            )
        definition = self._sorter.definition(place.buffer.name)
        source, how, loop = self._origin(held)
        return LiveBuffer(
            class_=held.class_,
            bytes=held.bytes,
            allocation=held.allocation.number,
            offset=place.buffer.offset,
            shape=place.buffer.shape[:_SHOWN_CHARACTERS],
            instruction=place.buffer.name,
            index=place.buffer.index,
            computation=None if definition is None else definition.computation.name,
            opcode=None if definition is None else definition.instruction.opcode,
            op_name=None
            if definition is None
            else op_name_of(self._module, definition.instruction),
            loop=loop,
            source=source,
            source_how=how,
        )

    def _origin(self, held: _Held) -> tuple[Source | None, SourceHow | None, str | None]:
        """The line that a buffer is held for, how it is known, and the loop that it belongs to."""
        if held.place is None:
            return None, None, None
        name = held.place.buffer.name
        carried = self._sorter.carried(held.place.value)
        if carried is not None:
            element = carried.element
            if element.source is not None:
                return element.source, "loop_body", carried.loop
            return *self._source_of(element.instruction), carried.loop
        definition = self._sorter.definition(name)
        if definition is None:
            return None, None, None
        return *self._source_of(name), self._around.get(definition.computation.name)

    def _source_of(self, name: str | None) -> tuple[Source | None, SourceHow | None]:
        """The place of the instruction of that name, and how it is known."""
        at = None if name is None else self._sorter.definition(name)
        if at is None:
            return None, None
        found = self._repairer.of(self._dump.index, at.computation, at.instruction)
        return (None, None) if found is None else (found.source, found.how)


def _text_of(history: ModuleHistory, stem: str) -> PassDump:
    """The text that the assignment was written beside; the last where it is not there."""
    names = {f"{stem}{ending}" for ending in (*_TEXTS, *_PROTOS)}
    return next((dump for dump in reversed(history.dumps) if dump.file in names), history.last)


def _stem(file: str) -> str:
    ending = next((each for each in (*_SIDE_FILES, *_PROTOS) if file.endswith(each)), "")
    return file.removesuffix(ending)


def _stated(live: LiveRanges) -> StatedPeak | None:
    position = live.peak_position
    if position is None:
        return None
    return StatedPeak(
        position=position,
        instruction=live.sequence[position] if position < len(live.sequence) else None,
        bytes=live.peak_bytes,
    )


def _first_byte(held: _Held) -> int:
    return 0 if held.place is None else held.place.buffer.offset


def _sums(pairs: Iterator[tuple[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for key, size in pairs:
        sums[key] = sums.get(key, 0) + size
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))
