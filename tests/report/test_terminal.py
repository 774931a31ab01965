"""The terminal text: verdict first, plain where it must be, and never markup from a dump."""

import io
import re

import msgspec
import pytest
from rich.console import Console
from rich.text import Text

from app.model.device import TargetDevice
from app.model.memory import AsyncBuffers, LiveBuffer, Memory, MemoryEstimate, MemoryPeak
from app.model.report import Coverage, Report, Source
from app.model.source_lines import Snippet, SourceLines
from app.report.inventory import coverage_view
from app.report.loops import collective_sums
from app.report.page import CollectiveSum
from app.report.program_facts import (
    device_text,
    memory_text,
    sends_text,
    sources_text,
    sum_text,
    total_text,
)
from app.report.terminal import print_report
from app.report.terminal_columns import table_of
from app.report.wording import file_name, legible
from report import builders


def printed(
    report: Report, *, width: int = 80, colour: bool = False, lines: SourceLines | None = None
) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=colour, no_color=not colour)
    print_report(report, console, source_lines=lines or {})
    return out.getvalue()


def test_verdict_names_pass_loop_line_and_certainty_on_the_first_screen() -> None:
    first = "\n".join(printed(builders.crash_report()).splitlines()[:24])
    assert "already cloned" in first
    assert "last_cloned != nullptr" in first
    assert "collective-pipeliner-backward (certain)" in first
    assert "while.17, prog1.py:55" in first
    assert "likely" in first
    assert "0.4.29, 0.4.30" in first


@pytest.mark.parametrize("width", [80, 200, 100_000])
def test_no_line_is_filled_up_with_blanks(width: int) -> None:
    lines = printed(builders.crash_report(), width=width).splitlines()
    assert [line for line in lines if line != line.rstrip()] == []


def test_everything_a_finding_holds_is_told() -> None:
    text = printed(builders.crash_report(), width=200)
    for part in (
        "loop at fault: while.17  prog1.py:55",
        "all-gather.29  prog1.py:25  (line inferred)",
        "841: all-gather.20 = bf16",
        "Double buffering of while loops: it runs after the pass that died",
        "which clone's turn it was",
        "--xla_gpu_enable_pipelined_all_gather=false",
        "jaxlib 0.4.14 and later",
        "(tried: works)",
        "openxla/xla#14332, affects 0.4.29 to 0.4.30, fixed in 0.4.31",
    ):
        assert part in text


def test_collectives_say_axis_runs_and_bytes_in_one_run() -> None:
    text = printed(builders.crash_report(), width=200)
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "all-gather.20 fsdp 44 x 14.0 MiB 616.0 MiB prog1.py:38" in rows
    inferred = "all-gather.29 axis_0, axis_1 (inferred) 2 x 3.5 KiB at most 7.0 KiB"
    assert f"{inferred} prog1.py:25 (inferred)" in rows
    assert "reduce-scatter.4 - ? x 28.0 MiB ? -" in rows
    assert any(row.startswith("devices mesh fsdp=8") for row in rows)


def test_loops_and_collectives_of_small_modules_are_counted_and_not_listed() -> None:
    report = builders.crash_report()
    small = builders.small_module(7, "jit__normal")
    loop = msgspec.structs.replace(
        report.loops[0], id=f"{small.id}/threefry.1", module=small.id, name="threefry.1"
    )
    collective = msgspec.structs.replace(
        report.collectives[0], module=small.id, instruction="threefry.1"
    )
    text = printed(
        msgspec.structs.replace(
            report,
            modules=(*report.modules, small),
            loops=(*report.loops, loop),
            collectives=(*report.collectives, collective),
        ),
        width=200,
    )
    assert "threefry.1" not in text
    assert f"Loops ({len(report.loops)})" in text
    assert "1 loop more in small modules" in text
    assert "1 collective more in small modules" in text


def test_what_only_receives_has_no_bytes_that_it_sends() -> None:
    one = msgspec.structs.replace(
        builders.crash_report().collectives[0], opcode="recv", bytes=0, total_bytes=0, executions=23
    )
    assert (sends_text(one), total_text(one)) == ("receives 23 x", "")
    report = msgspec.structs.replace(builders.crash_report(), collectives=(one,))
    assert collective_sums(report) == (CollectiveSum(number="1 recv", size=""),)


def test_bytes_of_a_run_are_at_most_those_where_a_collective_stands_in_a_branch() -> None:
    collectives = builders.crash_report().collectives
    always, never_known = (
        tuple(msgspec.structs.replace(each, **change) for each in collectives)
        for change in ({"conditional": False}, {"executions": None, "total_bytes": None})
    )
    in_branch = msgspec.structs.replace(always[0], conditional=True)
    assert not sum_text(always).startswith("at most")
    assert sum_text((in_branch, *always[1:])) == f"at most {sum_text(always)}"
    assert sum_text(never_known) == ""


def test_device_and_known_lines_stand_among_the_first_facts() -> None:
    text = " ".join(printed(builders.crash_report(), width=300).split())
    assert (
        "Device NVIDIA H100: 132 cores, 1.98 GHz, 80.0 GiB of memory, 3.35 TB/s (stated); "
        "989 TFLOP/s, 450 GB/s to others (by its data sheet)"
    ) in text
    assert (
        "Lines known 96 % of 908 instructions lead to a line of the program, 36 % by inference; "
        "at first 60 %"
    ) in text


def test_an_estimate_of_memory_is_said_to_be_one() -> None:
    report = builders.crash_report()
    peak = MemoryPeak(bytes=3 << 30, instruction="dot.4", source=report.loops[0].source)
    limits = ("there is no schedule yet",)
    memory = Memory(
        module=builders.MODULE,
        dump=0,
        file="m.txt",
        total_bytes=3 << 30,
        peak=peak,
        estimate=MemoryEstimate(order="text", limits=limits),
    )
    told = msgspec.structs.replace(report, memory_estimates=(memory,))
    module = report.modules[0]
    assert memory_text(told, module) == (
        "estimate: 3.0 GiB at the peak, dot.4 (prog1.py:55); no buffer assignment in the dump; "
        "there is no schedule yet"
    )
    assigned = msgspec.structs.replace(memory, estimate=None)
    told = msgspec.structs.replace(report, memory=(assigned,), memory_estimates=(memory,))
    assert memory_text(told, module) == "3.0 GiB at the peak, dot.4 (prog1.py:55)"
    assert memory_text(report, module) == memory_text(told, None) == ""
    assert "Memory 3.0 GiB at the peak" in " ".join(printed(told, width=200).split())


def test_the_peak_is_told_by_class_and_buffer() -> None:
    report = builders.crash_report()
    line = report.loops[0].source
    big = LiveBuffer(
        class_="thread_local", bytes=3 << 20, allocation=1, instruction="f.1", source=line
    )
    small = LiveBuffer(
        class_="copy",
        bytes=2048,
        allocation=1,
        instruction="c",
        index="{1}",
        source=line,
        source_how="operand",
    )
    peak = MemoryPeak(bytes=4 << 20, classes={"copy": 1 << 20}, buffers=9, largest=(big, small))
    shared = (
        AsyncBuffers(computation="e", start="s.1", done="d.1", opcode="copy", in_place=True),
        AsyncBuffers(computation="e", start="s", done="d", opcode="copy", overwritten_by=("w",)),
    )
    memory = Memory(
        module=builders.MODULE, dump=0, file="m", total_bytes=1, peak=peak, async_buffers=shared
    )
    told = printed(msgspec.structs.replace(report, memory=(memory,)), width=120)
    rows = [" ".join(row.split()) for row in told.splitlines()]
    for row in (
        "Memory at the peak (4.0 MiB)",
        "copy 1.0 MiB",
        "3.0 MiB thread-local f.1 prog1.py:55",
        "2.0 KiB copy c{1} prog1.py:55 (inferred)",
        "and 7 more buffers",
        "s: its operand is overwritten before d by w",
        "1 asynchronous operation puts its result over the operand: s.1",
    ):
        assert row in rows


def test_a_stand_in_is_no_device_of_the_dump() -> None:
    device = TargetDevice(name="H100", standing="assumed", origin="stand-in for any GPU")
    assert device_text(device) == "H100 (a stand-in: the dump names none)"
    assert device_text(None) == sources_text(None) == ""


def test_lines_of_the_program_stand_below_the_place_they_belong_to() -> None:
    lines = {(builders.PROGRAM, 55): Snippet(54, ("before", "\tfori_loop(\x1b[1m)", "after"))}
    text = printed(builders.crash_report(), lines=lines)
    assert "       54 | before" in text
    assert "    >    55 |     fori_loop(\\x1b[1m)" in text


def test_a_line_of_a_thousand_columns_is_cut_where_nothing_else_ends_it() -> None:
    lines = {(builders.PROGRAM, 55): Snippet(55, ("x = " + "1" * 5_000,))}
    told = printed(builders.crash_report(), lines=lines, width=100_000)
    [shown] = [line for line in told.splitlines() if "55 | x = 111" in line]
    assert len(shown) < 300
    assert shown.endswith("…")


@pytest.mark.parametrize("width", [60, 80, 132])
def test_no_line_but_what_is_copied_is_wider_than_the_terminal(width: int) -> None:
    for report in (builders.crash_report(), builders.healthy_report(), builders.hostile_report()):
        shown = legible(report)
        copied = {flag for f in shown.findings for w in f.workarounds for flag in w.flags}
        copied |= {file_name(each.file) for f in shown.findings for each in f.evidence}
        copied |= {
            file_name(each.file) for f in shown.findings for r in f.ruled_out for each in r.evidence
        }
        lines = printed(report, width=width).splitlines()
        assert max(len(line) for line in lines if line.strip() not in copied) <= width


def test_what_is_copied_stays_on_one_line() -> None:
    report = builders.crash_report()
    file = f"module_0001.{'jit_train_step.' * 8}txt"
    evidence = (msgspec.structs.replace(report.findings[0].evidence[0], file=file),)
    finding = msgspec.structs.replace(report.findings[0], evidence=evidence)
    told = printed(msgspec.structs.replace(report, findings=(finding,)), width=60).splitlines()
    assert f"  {file}" in told


@pytest.mark.parametrize("width", [80, 1_000])
def test_a_line_of_evidence_that_is_cut_shows_it(width: int) -> None:
    report = builders.crash_report()
    long = f"while.17 = (s32[], {'f32[8,128], ' * 40})"
    evidence = (msgspec.structs.replace(report.findings[0].evidence[0], line=919, text=long),)
    finding = msgspec.structs.replace(report.findings[0], evidence=evidence)
    told = printed(msgspec.structs.replace(report, findings=(finding,)), width=width).splitlines()
    line = next(line for line in told if line.strip().startswith("919: while.17"))
    assert line.rstrip().endswith("…")


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("file", ["a.py", "pipeline_parallel.py", f"{'long_' * 30}.py"])
def test_no_place_of_a_table_breaks_before_its_line_number(width: int, file: str) -> None:
    report = builders.crash_report()
    place = Source(file=f"/home/u/{file}", line=12_345)
    loops = tuple(msgspec.structs.replace(each, source=place) for each in report.loops)
    sends = tuple(msgspec.structs.replace(each, source=place) for each in report.collectives)
    told = printed(msgspec.structs.replace(report, loops=loops, collectives=sends), width=width)
    tables = told[told.index("\nLoops") :]
    assert tables.count(".py:12345") >= len(loops) + len(sends)
    if width == 80 and len(file) < 40:
        assert tables.count(f" {file}:12345") >= len(loops) + len(sends)


def test_a_table_breaks_words_only_where_the_longest_do_not_fit() -> None:
    cells = ("reduce-scatter", "x" * 30, "prog.py:8 (inferred)", "some words of prose " * 4)
    out = io.StringIO()
    console = Console(file=out, width=84)
    console.print(table_of(("a", "b", "c", "d"), [tuple(map(Text, cells))], console.width))
    words = out.getvalue().split()
    assert {"reduce-scatter", "x" * 30, "prog.py:8", "(inferred)"} <= set(words)
    assert max(map(len, out.getvalue().splitlines())) <= 84


def test_without_colour_there_is_no_escape_and_with_it_only_richs_own() -> None:
    report = builders.hostile_report()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e\u2028]", printed(report))
    coloured = re.sub(r"\x1b\[[\d;]*m", "", printed(report, colour=True))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e\u2028]", coloured)
    assert "\\x1b[31mred" in coloured


def test_markup_in_a_dump_is_text() -> None:
    report = builders.hostile_report()
    assert "[a](b)" in printed(report, width=400)


def test_a_healthy_dump_is_told_modestly() -> None:
    text = printed(builders.healthy_report())
    assert "No known fault was found" in text
    assert "does not prove" in " ".join(text.split())
    assert "Everything was read and understood." in text


def test_of_a_log_alone_it_is_not_said_that_all_of_it_was_understood() -> None:
    report = msgspec.structs.replace(builders.log_only_report(), coverage=Coverage(lines=7))
    text = printed(report)
    assert "understood" not in text
    assert "The log was read to its end." in text
    assert "understood" not in coverage_view(report.coverage).told


def test_a_log_alone_gives_a_verdict_without_a_place() -> None:
    text = printed(builders.log_only_report())
    assert "possible" in text
    assert "Where" not in text


def test_long_lists_are_cut_and_counted() -> None:
    text = printed(builders.huge_report(1_000))
    assert len(text.splitlines()) < 600
    assert "and 990 more findings" in text
    assert "and 980 more loops" in text
    assert "and 995 more files" in text
