"""The page of a module's memory: over the schedule, at the peak, and what shares a place.

Takes the memory facts of a report and gives HTML that needs no script: drawings have tables beside
them, names lead to the graph, lines to the page of sources. Reads no bundle.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

from app.errors import NotFound
from app.model.memory import (
    LiveBuffer,
    LoopBuffer,
    Memory,
    MemoryEstimate,
    PeakShare,
)
from app.model.report import CarriedElement, Loop, Report, Source
from app.report.graph import OptionView
from app.report.html import page_environment
from app.report.loops import loop_anchors
from app.report.memory_drawing import (
    CANVASES,
    Band,
    Part,
    bands_note,
    curve_drawing,
    map_drawing,
)
from app.report.memory_views import (
    AsyncView,
    BufferView,
    MemoryPage,
    ShareView,
    SharingView,
)
from app.report.memory_words import CLASS_WORDS, PLURALS, classes_of, classes_text
from app.report.rows import rows_of
from app.report.verdict import module_labels
from app.report.views import view_links
from app.report.wording import counted, cut_list, legible, place_text, size_text

_CARRY_WORDS = {"double_buffer": "double buffer"}
_MOST_TILES = 60
_SHOWN_ROLES = 3
_SHOWN_WRITERS = 6
_FIRST_LINES = 25


def memory_page(
    report: Report,
    *,
    here: str,
    module: str = "",
    base_context: Mapping[str, object] | None = None,
) -> str:
    """The page of a module, by its id; of the first one with memory facts where that is "".

    Raises:
        NotFound: the report knows nothing of that module's memory.
    """
    known = (*report.memory, *report.memory_estimates)
    memory = next((m for m in known if m.module == module or not module), None)
    if memory is None and module:
        raise NotFound(f"nothing is known of the memory of module {module!r}")
    page = _empty_page(here) if memory is None else _Pager(report, memory, here).page()
    return page_environment().get_template("memory.html").render(page=page, **(base_context or {}))


def _part_text(size: int, total: int) -> str:
    return "under 0.1%" if size and 1_000 * size < total else f"{size / total:.1%}"


def _estimate_note(estimate: MemoryEstimate | None) -> str:
    """That the figures are reckoned from the text, and what they do not foresee; "" for others."""
    if estimate is None:
        return ""
    limits = "".join(f" {limit[:1].upper()}{limit[1:]}." for limit in estimate.limits)
    return (
        " An estimate: the dump has no buffer assignment for this module, so who lives when is "
        f"told from its last text.{limits} XLA's own figures stand in the -buffer-assignment.txt "
        "that it writes beside the text after all optimizations."
    )


def _stated_note(memory: Memory) -> str:
    """Why the peak and the one that XLA states are two figures; "" where they are not."""
    peak, stated = memory.peak, memory.stated_peak
    if peak is None or stated is None or stated.bytes in (None, peak.bytes):
        return ""
    return (
        "The peak is what is held for the whole run and the temporaries alive at one position, "
        "each byte once. The figure that XLA states, in its live ranges, is another: a sum over "
        "the values alive at a position that it chooses by sizes without what is inside tuples, "
        "with bytes that several values share counted several times. It may be more or less."
    )


class _Pager:
    """Makes the page of one module: names are shown legible, addresses hold them as they are."""

    def __init__(self, report: Report, memory: Memory, here: str) -> None:
        self._report = report
        self._memory = memory
        self._here = here
        self._loops = {loop.id: loop for loop in report.loops}
        self._anchors = loop_anchors(report)
        self._labels = module_labels(report)

    def page(self) -> MemoryPage:
        memory, curve = self._memory, self._memory.curve
        bands = {} if curve is None else {s.loop: self._band(s.loop) for s in curve.loops}
        parts = self._parts()
        label = legible(self._labels.get(memory.module, memory.module))
        buffers = () if memory.peak is None else memory.peak.largest
        return MemoryPage(
            title=f"Memory of {label}",
            heading=f"Memory of {label}",
            lead=self._lead(),
            views=view_links(self._here, "memory"),
            action=f"{self._here}/memory",
            modules=self._modules(),
            facts=tuple(self._facts()),
            facts_note=_stated_note(memory),
            curves=()
            if curve is None
            else tuple(curve_drawing(curve, bands, canvas) for canvas in CANVASES),
            curve_title=self._curve_title(),
            curve_label=self._curve_label(),
            curve_note="" if curve is None else bands_note(curve, bands),
            maps=tuple(map_drawing(parts, canvas) for canvas in CANVASES) if parts else (),
            kinds=_kinds_of(parts),
            shares=rows_of(tuple(self._shares()), first=_FIRST_LINES),
            buffers=rows_of(tuple(map(self._buffer, buffers))),
            buffers_note=self._buffers_note(),
            sharing=rows_of(tuple(map(self._sharing, memory.loop_buffers))),
            operations=rows_of(tuple(self._operations())),
            data=self._data(bands),
        )

    # ---- words -----------------------------------------------------------------------------------

    def _lead(self) -> str:
        peak = self._memory.peak
        if peak is None:
            return (
                "XLA's buffer assignment says what is reserved; without its live ranges the peak "
                "is not known."
            )
        note = _estimate_note(self._memory.estimate)
        if peak.instruction is None:
            return f"{size_text(peak.bytes)} for the whole run; there are no temporaries.{note}"
        where = f" ({place_text(peak.source)})" if peak.source else ""
        return legible(
            f"{size_text(peak.bytes)} at the peak, where {peak.instruction}{where} runs.{note}"
        )

    def _facts(self) -> Iterator[tuple[str, str]]:
        memory, peak = self._memory, self._memory.peak
        if peak is not None:
            yield "Peak", size_text(peak.bytes)
            if peak.position is not None and memory.curve is not None:
                yield "at position", f"{peak.position:,} of {memory.curve.positions:,}"
        yield "Reserved in all", size_text(memory.total_bytes)
        roles = sorted(memory.reserved.items(), key=lambda item: -item[1])
        for role, size in roles[:_SHOWN_ROLES]:
            yield f"for {PLURALS.get(role, role)}", size_text(size)
        if roles[_SHOWN_ROLES:]:
            rest = ", ".join(PLURALS.get(role, role) for role, _ in roles[_SHOWN_ROLES:])
            yield f"for {rest}", size_text(sum(size for _, size in roles[_SHOWN_ROLES:]))
        if len(memory.spaces) > 1:
            for space in memory.spaces:
                yield f"Space {legible(space.name) or space.color}", size_text(space.bytes)
        stated = memory.stated_peak
        if stated is not None and stated.bytes is not None:
            yield "Peak as XLA states it", size_text(stated.bytes)
        yield "Read from", legible(memory.file)

    def _curve_title(self) -> str:
        estimate = self._memory.estimate
        if estimate is not None and estimate.order == "text":
            return "Over the text, in its order"
        return "Over the schedule"

    def _curve_label(self) -> str:
        curve = self._memory.curve
        if curve is None:
            return ""
        return (
            f"Bytes in use over the {curve.positions:,} positions of the schedule, from "
            f"{size_text(min(curve.bytes))} to {size_text(max(curve.bytes))}; "
            f"{size_text(curve.held)} of them for the whole run"
        )

    def _buffers_note(self) -> str:
        peak = self._memory.peak
        left_out = 0 if peak is None else peak.buffers - len(peak.largest)
        return f"{counted(left_out, 'smaller buffer')} not listed." if left_out > 0 else ""

    def _modules(self) -> tuple[OptionView, ...]:
        known = (*self._report.memory, *self._report.memory_estimates)
        ids = dict.fromkeys(memory.module for memory in known)
        return tuple(
            OptionView(each, legible(self._labels.get(each, each)), each == self._memory.module)
            for each in ids
        )

    # ---- the parts of the peak -------------------------------------------------------------------

    def _parts(self) -> list[Part]:
        """The lines that hold most; what has no line is told apart by what it is for."""
        peak = self._memory.peak
        parts: list[Part] = []
        for share in () if peak is None else peak.shares:
            if share.source is not None:
                parts.append(self._part_of_line(share, share.source))
            else:
                parts += _parts_without_line(share)
        parts.sort(key=lambda part: -part.bytes)
        small = parts[_MOST_TILES:]
        if small:
            rest = sum(part.bytes for part in small)
            parts[_MOST_TILES:] = [Part(rest, f"{len(small):,} smaller", "", "other", "")]
            parts.sort(key=lambda part: -part.bytes)
        return parts

    def _part_of_line(self, share: PeakShare, source: Source) -> Part:
        return Part(
            bytes=share.bytes,
            label=legible(place_text(source)),
            words=classes_text(share),
            kind=next(iter(classes_of(share)), "other"),
            href=self._line_href(source),
        )

    def _shares(self) -> Iterator[ShareView]:
        peak = self._memory.peak
        for share in () if peak is None else peak.shares:
            source = share.source
            nothing = "smaller lines" if share.rest else "no line known"
            yield ShareView(
                line=legible(place_text(source)) if source else nothing,
                file=legible(source.file) if source else "",
                href=self._line_href(source) if source else "",
                bytes=share.bytes,
                size=size_text(share.bytes),
                part=_part_text(share.bytes, peak.bytes) if peak and peak.bytes else "",
                buffer_count=share.buffers,
                buffers=f"{share.buffers:,}",
                classes=classes_text(share),
            )

    # ---- buffers ---------------------------------------------------------------------------------

    def _buffer(self, buffer: LiveBuffer) -> BufferView:
        name = f"{buffer.instruction or ''}{buffer.index}"
        return BufferView(
            name=legible(name) or "unnamed",
            href=self._graph_href(buffer.computation, buffer.instruction),
            kind=buffer.class_,
            word=CLASS_WORDS[buffer.class_],
            bytes=buffer.bytes,
            size=size_text(buffer.bytes),
            shape=legible(buffer.shape),
            op_name=legible(buffer.op_name or ""),
            line=legible(place_text(buffer.source)) if buffer.source else "",
            line_href=self._line_href(buffer.source) if buffer.source else "",
            loop=self._loop_name(buffer.loop),
            loop_href=self._loop_href(buffer.loop),
            place=f"{buffer.allocation}+{buffer.offset:,}",
        )

    def _sharing(self, buffer: LoopBuffer) -> SharingView:
        loop = self._loops.get(buffer.loop)
        carried = _element_of(loop, buffer.element)
        kind = "" if carried is None else carried.kind
        return SharingView(
            loop=self._loop_name(buffer.loop),
            loop_href=self._loop_href(buffer.loop),
            element=f"{buffer.element}"
            + (f" · {legible(carried.shape)}" if carried is not None else ""),
            kind=_CARRY_WORDS.get(kind, kind.replace("_", " ")),
            bytes=buffer.bytes,
            size=size_text(buffer.bytes),
            place=f"{buffer.allocation}+{buffer.offset:,}",
            writers=legible(cut_list(buffer.writers, _SHOWN_WRITERS)),
        )

    def _operations(self) -> Iterator[AsyncView]:
        for found in self._memory.async_buffers:
            what = ["operand and result overlap"] if found.in_place else []
            if found.overwritten_by:
                what.append(f"overwritten meanwhile by {cut_list(found.overwritten_by, 4)}")
            yield AsyncView(
                name=legible(found.start),
                href=self._graph_href(found.computation, found.start),
                opcode=legible(found.opcode),
                what=legible("; ".join(what)),
            )

    # ---- addresses -------------------------------------------------------------------------------

    def _graph_href(self, computation: str | None, instruction: str | None) -> str:
        if computation is None or instruction is None:
            return ""
        return self._href(
            "graph",
            module=self._memory.module,
            text=self._memory.dump,
            computation=computation,
            instruction=instruction,
        )

    def _line_href(self, source: Source) -> str:
        return self._href("source", module=self._memory.module, file=source.file, line=source.line)

    def _href(self, view: str, **query: object) -> str:
        return f"{self._here}/{view}?{urlencode(query, errors='replace')}"

    def _loop_href(self, loop: str | None) -> str:
        anchor = self._anchors.get(loop or "")
        return f"{self._here}#{anchor}" if anchor else ""

    def _loop_name(self, loop: str | None) -> str:
        known = self._loops.get(loop or "")
        return "" if known is None else legible(known.name)

    def _band(self, loop: str) -> Band:
        known = self._loops.get(loop)
        place = f" {place_text(known.source)}" if known is not None and known.source else ""
        name = self._loop_name(loop)
        return Band(name, legible(f"{name}{place}"), self._loop_href(loop))

    def _data(self, bands: Mapping[str, Band]) -> dict[str, object]:
        curve = self._memory.curve
        if curve is None:
            return {"curve": None}
        # The lookup of an instruction needs its name as it is; what is shown is made legible.
        return {
            "curve": {
                "positions": curve.positions,
                "step": curve.step,
                "bytes": curve.bytes,
                "at": curve.at,
                "names": legible(curve.instructions),
                "loops": [
                    {"name": bands[span.loop].label, "first": span.first, "last": span.last}
                    for span in curve.loops
                ],
            }
        }


def _empty_page(here: str) -> MemoryPage:
    return MemoryPage(
        title="Memory",
        heading="Memory",
        lead=(
            "The dump holds no buffer assignment, from which memory is read. XLA writes one beside "
            "the last text of a compile that finishes: *-buffer-assignment.txt, and beside that "
            "*-live-range.txt, from which the peak is read."
        ),
        views=view_links(here, "memory"),
        action=f"{here}/memory",
        modules=(),
        facts=(),
        facts_note="",
        curves=(),
        curve_title="",
        curve_label="",
        curve_note="",
        maps=(),
        kinds=(),
        shares=rows_of(()),
        buffers=rows_of(()),
        buffers_note="",
        sharing=rows_of(()),
        operations=rows_of(()),
        data={"curve": None},
    )


def _parts_without_line(share: PeakShare) -> Iterator[Part]:
    where = "smaller lines" if share.rest else "no line known"
    for class_, size in classes_of(share).items():
        yield Part(size, PLURALS.get(class_, class_), where, class_, "")


def _kinds_of(parts: list[Part]) -> tuple[tuple[str, str], ...]:
    used = {part.kind for part in parts}
    return tuple((kind, word) for kind, word in CLASS_WORDS.items() if kind in used)


def _element_of(loop: Loop | None, index: int) -> CarriedElement | None:
    carry = () if loop is None else loop.carry
    return next((element for element in carry if element.index == index), None)
