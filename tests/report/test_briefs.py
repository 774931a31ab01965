"""Memory and lines on the report's own page, served and as one file."""

import msgspec

from app.model.memory import LoopSpan, Memory, MemoryCurve, MemoryPeak, PeakShare
from app.model.program import ProgramLines, SourceFile, SourceLine
from app.model.report import Report, Source
from app.report.briefs import memory_briefs, program_briefs
from app.report.html import PageLinks, report_page
from report import builders

HOSTILE = "</script><script>alert(1)</script>\u202e.py"
LINKS = PageLinks(report="/r/abc", json="/r/abc/report.json", markdown="/r/abc/report.md")


def with_memory_and_lines() -> Report:
    report = builders.crash_report()
    curve = MemoryCurve(
        positions=9,
        step=3,
        held=1 << 20,
        bytes=(1 << 20, 5 << 20, 2 << 20),
        at=(0, 4, 6),
        instructions=("a", "b", "c"),
        loops=(LoopSpan(loop=report.loops[0].id, first=2, last=5),),
    )
    share = PeakShare(source=Source(file=HOSTILE, line=3), bytes=4 << 20, buffers=2)
    peak = MemoryPeak(bytes=5 << 20, position=4, instruction="b", shares=(share,))
    lines = (
        SourceLine(line=3, function="<b>f", instructions=5, inferred=2, bytes=7 << 20),
        SourceLine(line=4, instructions=1, flops=10**9, at_least=True),
        SourceLine(line=5, texts=((0, 4), (3, 0))),
    )
    return msgspec.structs.replace(
        report,
        memory=(
            Memory(
                module=builders.MODULE,
                dump=0,
                file="m-buffer-assignment.txt",
                total_bytes=8 << 20,
                peak=peak,
                curve=curve,
            ),
        ),
        programs=(
            ProgramLines(
                module=builders.MODULE,
                dump=0,
                files=(SourceFile(file=HOSTILE, lines=lines),),
                unplaced=12,
            ),
        ),
    )


def test_memory_is_told_with_its_curve_and_the_lines_that_hold_most() -> None:
    (brief,) = memory_briefs(with_memory_and_lines(), "/r/abc")
    assert brief.lead == "5.0 MiB at the peak, where b runs; 8.0 MiB reserved in all."
    assert [curve.name for curve in brief.curves] == ["wide", "narrow"]
    assert brief.curves[0].bands[0].href == "#loop-0"
    assert [(share.size, share.part) for share in brief.shares] == [("4.0 MiB", "80%")]
    assert brief.shares[0].href.startswith("/r/abc/source?module=")


def test_lines_stand_in_the_order_of_their_work() -> None:
    (brief,) = program_briefs(with_memory_and_lines(), "")
    assert brief.lead == (
        "6 instructions of the last text state a line; the line of 2 more is inferred; 12 have none"
    )
    rows = [(line.line[-2:], line.instructions, line.inferred, line.flops) for line in brief.first]
    # A line of earlier texts alone has no figures.
    assert rows == [(":4", "1", "", "≥ 1.0 GFLOP"), (":3", "5", "+2", "")]


def test_one_file_holds_the_figures_and_leads_nowhere() -> None:
    page = report_page(with_memory_and_lines(), offline=True)
    assert "5.0 MiB at the peak" in page
    assert 'class="memory-curve wide"' in page
    assert "≥ 1.0 GFLOP" in page
    assert "/source?" not in page
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert len(page) - len(report_page(builders.crash_report(), offline=True)) < 20_000


def test_the_served_page_leads_to_the_views() -> None:
    page = report_page(with_memory_and_lines(), links=LINKS)
    assert "/r/abc/memory?module=" in page
    assert "/r/abc/source?module=" in page
    assert "<script>alert" not in page


def test_what_the_rows_of_memory_leave_out_is_told() -> None:
    report = with_memory_and_lines()
    (memory,) = report.memory
    assert memory.peak is not None
    lines = tuple(
        PeakShare(source=Source(file="train.py", line=n), bytes=1 << 18, buffers=1)
        for n in range(7)
    )
    rest = PeakShare(rest=True, bytes=1 << 17, buffers=3)
    peak = msgspec.structs.replace(memory.peak, shares=(*lines, rest))
    many = msgspec.structs.replace(report, memory=(msgspec.structs.replace(memory, peak=peak),) * 8)
    briefs = memory_briefs(many, "/r/abc")
    assert briefs[0].note == "Also 2 more lines and smaller lines: 640.0 KiB, 12% of the peak."
    assert len(briefs) == 6
    page = report_page(many, links=LINKS)
    assert briefs[0].note in page
    assert "2 more modules not shown here." in page
    assert memory_briefs(report, "")[0].note == ""


def test_lines_that_the_report_left_out_are_told() -> None:
    report = with_memory_and_lines()
    (program,) = report.programs
    cut = msgspec.structs.replace(program, lines_left_out=3)
    (brief,) = program_briefs(msgspec.structs.replace(report, programs=(cut,)), "")
    assert brief.note == "3 lines with few instructions left out."
