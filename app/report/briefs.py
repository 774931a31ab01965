"""Memory and lines of the program as the report's own page tells them, in the offline file too.

Takes a report and the address of the server ("" offline) and gives small sections: the curve with
what holds most at the peak, and the figures of lines. The views have the whole.
"""

from collections.abc import Iterator
from urllib.parse import urlencode

from app.model.memory import Memory, MemoryPeak, PeakShare
from app.model.program import ProgramLines, SourceLine
from app.model.report import Report
from app.model.source import Source
from app.report.brief_views import LineBrief, MemoryBrief, ProgramBrief, ShareBrief
from app.report.loops import loop_anchors
from app.report.memory_drawing import CANVASES, Band, curve_drawing
from app.report.rows import rows_of
from app.report.verdict import main_module, module_labels
from app.report.wording import (
    counted,
    file_name,
    legible,
    operations_text,
    place_text,
    size_text,
)

_MOST_MODULES = 6
_MOST_SHARES = 5
_FIRST_LINES = 6


def memory_briefs(report: Report, server: str) -> tuple[MemoryBrief, ...]:
    """The modules whose memory is known, the one that matters most first."""
    known = [*report.memory, *report.memory_estimates]
    chosen = sorted(known, key=lambda memory: not _is_main(report, memory.module))
    return tuple(_memory_brief(report, memory, server) for memory in chosen[:_MOST_MODULES])


def program_briefs(report: Report, server: str) -> tuple[ProgramBrief, ...]:
    """The modules whose instructions state lines, the one that matters most first."""
    known = [program for program in report.programs if program.files]
    chosen = sorted(known, key=lambda program: not _is_main(report, program.module))
    return tuple(_program_brief(report, program, server) for program in chosen[:_MOST_MODULES])


def _is_main(report: Report, module_id: str) -> bool:
    main = main_module(report)
    return main is not None and main.id == module_id


def _memory_brief(report: Report, memory: Memory, server: str) -> MemoryBrief:
    curve, peak = memory.curve, memory.peak
    names = {loop.id: legible(loop.name) for loop in report.loops}
    anchors = loop_anchors(report)
    bands = {
        span.loop: Band(
            name=names.get(span.loop, ""),
            label=names.get(span.loop, ""),
            href=f"#{anchors[span.loop]}" if span.loop in anchors else "",
        )
        for span in (() if curve is None else curve.loops)
    }
    return MemoryBrief(
        module=legible(module_labels(report).get(memory.module, memory.module)),
        lead=_memory_lead(memory),
        label="" if curve is None else f"Bytes in use over {curve.positions:,} positions",
        curves=()
        if curve is None
        else tuple(curve_drawing(curve, bands, canvas) for canvas in CANVASES),
        shares=tuple(
            ShareBrief(
                line=_share_word(share),
                href=_line_href(server, memory.module, share.source),
                size=size_text(share.bytes),
                part=_part_text(share.bytes, peak.bytes),
            )
            for share in (() if peak is None else peak.shares)[:_MOST_SHARES]
            if peak is not None and peak.bytes
        ),
        note="" if peak is None else _rest_text(peak),
        href=f"{server}/memory?{urlencode({'module': memory.module}, errors='replace')}"
        if server
        else "",
    )


def _share_word(share: PeakShare) -> str:
    if share.source is not None:
        return legible(place_text(share.source))
    return "smaller lines" if share.rest else "no line known"


def _rest_text(peak: MemoryPeak) -> str:
    """What the rows leave out: `Also 7 more lines: 1.2 MiB, 4% of the peak.`; "" for nothing."""
    rest = peak.shares[_MOST_SHARES:]
    size = sum(share.bytes for share in rest)
    if not size or not peak.bytes:
        return ""
    lines = sum(share.source is not None for share in rest)
    parts = [counted(lines, "more line", "more lines")] if lines else []
    parts += ["smaller lines" if s.rest else "what has no line" for s in rest if s.source is None]
    words = " and ".join(parts)
    return f"Also {words}: {size_text(size)}, {_part_text(size, peak.bytes)} of the peak."


def modules_left_out(report: Report) -> tuple[str, str]:
    """That the memory, or the lines, of more modules are known than have a part; "" where not."""
    known = (
        len(report.memory) + len(report.memory_estimates),
        sum(bool(program.files) for program in report.programs),
    )
    words = [
        f"{counted(number - _MOST_MODULES, 'more module')} not shown here."
        if number > _MOST_MODULES
        else ""
        for number in known
    ]
    return words[0], words[1]


def _part_text(size: int, total: int) -> str:
    return "under 1%" if 100 * size < total else f"{size / total:.0%}"


def _memory_lead(memory: Memory) -> str:
    peak = memory.peak
    reserved = f"{size_text(memory.total_bytes)} reserved in all"
    told = "; an estimate, for want of a buffer assignment" if memory.estimate else ""
    if peak is None:
        return f"{reserved}{told}."
    where = f", where {peak.instruction} runs" if peak.instruction else ""
    at = f" ({place_text(peak.source)})" if peak.source else ""
    return legible(f"{size_text(peak.bytes)} at the peak{where}{at}; {reserved}{told}.")


def _program_brief(report: Report, program: ProgramLines, server: str) -> ProgramBrief:
    every = [(file.file, line) for file in program.files for line in file.lines]
    every = [(file, line) for file, line in every if line.instructions or line.inferred]
    every.sort(key=lambda item: (-item[1].flops, -item[1].collective_bytes, -item[1].bytes))
    lines = rows_of(
        tuple(_line_brief(program.module, file, line, server) for file, line in every),
        first=_FIRST_LINES,
    )
    return ProgramBrief(
        module=legible(module_labels(report).get(program.module, program.module)),
        lead="; ".join(_program_words(program)),
        first=lines.first,
        more=lines.more,
        more_label=lines.more_label,
        note=" ".join(filter(None, (lines.note, _lines_left_out(program)))),
        href=f"{server}/source?{urlencode({'module': program.module}, errors='replace')}"
        if server
        else "",
    )


def _lines_left_out(program: ProgramLines) -> str:
    number = program.lines_left_out
    return f"{counted(number, 'line')} with few instructions left out." if number else ""


def _program_words(program: ProgramLines) -> Iterator[str]:
    stated = sum(line.instructions for file in program.files for line in file.lines)
    inferred = sum(line.inferred for file in program.files for line in file.lines)
    yield f"{counted(stated, 'instruction')} of the last text state a line"
    yield f"the line of {inferred:,} more is inferred"
    if program.unplaced:
        yield f"{program.unplaced:,} have none"


def _line_brief(module: str, file: str, line: SourceLine, server: str) -> LineBrief:
    least = "≥ " if line.at_least else ""
    sent = f"{line.collectives:,} · {least}{size_text(line.collective_bytes)}"
    return LineBrief(
        line=legible(f"{file_name(file)}:{line.line}"),
        href=_line_href(server, module, Source(file=file, line=line.line)),
        function=legible(line.function or ""),
        instructions=f"{line.instructions:,}",
        inferred=f"+{line.inferred:,}" if line.inferred else "",
        flops=f"{least}{operations_text(line.flops)}" if line.flops else "",
        bytes=f"{least}{size_text(line.bytes)}" if line.bytes else "",
        collectives=sent if line.collectives else "",
    )


def _line_href(server: str, module: str, source: Source | None) -> str:
    if not server or source is None:
        return ""
    query = {"module": module, "file": source.file, "line": source.line}
    return f"{server}/source?{urlencode(query, errors='replace')}#L{source.line}"
