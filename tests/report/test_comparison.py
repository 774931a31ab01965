"""Comparisons, ranks and policies as sheets: what is told, what is counted, and hostile names."""

import io
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from rich.console import Console

from app.analysis.diff import diff_modules
from app.model.comparison import (
    Amount,
    BufferPair,
    CollectiveSum,
    Comparison,
    FlagChange,
    InstructionPlace,
    LoopPair,
    ModulePair,
    NextPass,
    Parting,
    PassLists,
    Side,
)
from app.model.policy import PolicyPlace, PolicyResult, PolicyRow
from app.model.ranks import Rank, RankComparison, RankFlag, RankModule
from app.model.report import Source, Tool
from app.report.comparison import comparison_sheet, figure
from app.report.comparison_policy import policy_markdown, policy_sheet
from app.report.comparison_ranks import ranks_sheet
from app.report.comparison_sheet import Grid, Sheet, grid
from app.report.comparison_text import print_sheet
from app.views.comparison import ComparisonView, PartingDiff
from app.views.pass_diff import diff_view
from hlo_parser import parse_module

TOOL = Tool(name="hloscope", version="0")
HOSTILE = "jit_[red]f\x1b[31m\u202e<b>"


def sheet_of(*modules: ModulePair, **parts: Any) -> Sheet:
    comparison = Comparison(
        tool=TOOL, verdict="v.", a=Side(name="one"), b=Side(name="two"), modules=modules, **parts
    )
    return comparison_sheet(ComparisonView(comparison=comparison))


def module(**parts: Any) -> ModulePair:
    return ModulePair(**{"name": "jit_f", "a": "m", "b": "n", "outcome": "equal", **parts})


def printed(sheet: Sheet, width: int = 60) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)
    print_sheet(sheet, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def headings(grids: tuple[Grid, ...]) -> list[str]:
    return [each.heading for each in grids]


def test_a_loop_goes_by_the_names_of_the_reports() -> None:
    loop = LoopPair(a="m/while.1", b="m/while.2", name="while.87", name_b="while.97")
    parting = Parting(loops_a=("m/while.1",), loops_b=("m/while.2", "m/while.3"))
    (section,) = sheet_of(module(outcome="differ", loops=(loop,), parting=parting)).sections
    facts = dict(section.facts)
    assert facts["loops changed in a"] == "while.87"
    assert facts["loops changed in b"] == "while.97, m/while.3"


def test_a_long_verdict_is_a_headline_and_what_stands_behind_it() -> None:
    sheet = Sheet(badge="DIFFERENT", tone="warning", verdict="m parts in p; flags differ: x, y.")
    assert (sheet.headline, sheet.also) == ("m parts in p", "flags differ: x, y.")
    short = replace(sheet, verdict="all is equal.")
    assert (short.headline, short.also) == ("all is equal", "")


def test_badges() -> None:
    flag = FlagChange(name="x", a="1")
    assert sheet_of(module()).badge == "EQUAL"
    assert sheet_of(module(), flags=(flag,)).badge == "SAME GRAPHS"
    assert sheet_of(module(), module(b=None)).badge == "SAME GRAPHS"
    assert sheet_of(module(outcome="differ")).badge == "DIFFERENT"
    assert sheet_of(module(outcome="stopped")).badge == "DIFFERENT"
    assert sheet_of(module(outcome="unknown")).badge == "NOT COMPARED"
    assert sheet_of().badge == "NOT COMPARED"


def test_what_differs_is_told_and_what_is_equal_is_counted() -> None:
    loop = LoopPair(
        a="l", b="k", name="while.1", name_b="while.3", what=("trip_count",), trip_count_a=4
    )
    same = LoopPair(a="x", b="y", name="while.2")
    sheet = sheet_of(
        module(
            outcome="differ",
            amounts=(
                Amount(name="peak_memory", a=1 << 20, unit="bytes"),
                Amount(name="dot", a=1, b=1),
            ),
            loops=(loop, same),
            collectives=(
                CollectiveSum(opcode="all-gather", loop=0, count_a=1),
                CollectiveSum(opcode="all-reduce", count_a=2, count_b=2),
            ),
        ),
        *(module(name=f"h{k}", role="helper") for k in range(3)),
    )
    (section,) = sheet.sections
    figures, loops, collectives = section.grids
    assert figures.rows == (("peak memory", "1.0 MiB", "-"),)
    assert [row[:3] for row in loops.rows] == [("while.1, while.3 in b", "-", "4 and ?")]
    assert [row[:4] for row in collectives.rows] == [
        ("all-gather", "while.1, while.3 in b", "1", "0")
    ]
    assert "3 small modules are equal." in sheet.notes


def test_a_side_that_ends_early_is_held_to_no_figures_of_later_texts() -> None:
    sheet = sheet_of(
        module(
            outcome="stopped",
            passes=PassLists(stops="a"),
            amounts=(Amount(name="fusion", a=0, b=220),),
            collectives=(CollectiveSum(opcode="all-gather", count_a=3, count_b=10),),
            loops=(
                LoopPair(a="l", b="k", name="while.1", what=("events",), events_b=("peeled",)),
                LoopPair(b="j", name="while.2", what=("events",), events_b=("created",)),
            ),
        )
    )
    (section,) = sheet.sections
    assert [each.rows for each in section.grids] == [(("while.1", "-", "nothing", "peeled"),)]
    assert dict(section.facts)["figures"].startswith("one side ends early")


def test_buffers_that_hardly_differ_are_counted_alone() -> None:
    sizes = ((4 << 20, 0), (1 << 20, 2 << 20), (24, 0), (0, 8))
    buffers = tuple(
        BufferPair(class_="temporary", instruction=f"f.{k}", bytes_a=a, bytes_b=b)
        for k, (a, b) in enumerate(sizes)
    )
    (section,) = sheet_of(module(outcome="differ", buffers=buffers)).sections
    (memory,) = section.grids
    assert [row[2] for row in memory.rows] == ["f.0", "f.1"]
    assert memory.note.startswith("and 2 more")
    (section,) = sheet_of(module(outcome="differ", buffers=buffers[2:])).sections
    assert [row[2] for row in section.grids[0].rows] == ["f.2", "f.3"]


@pytest.mark.parametrize(("unchanged", "told"), [(0, False), (3, True)])
def test_two_programs_are_not_shown_side_by_side(unchanged: int, told: bool) -> None:
    before, after = (
        parse_module(
            f"HloModule m\n\n%k {{\n  ROOT %p = f32[] parameter(0)\n}}\n\nENTRY %e {{\n{text}}}\n"
        )
        for text in (
            "  ROOT %c = f32[] constant(1)\n",
            "  ROOT %d = s32[2]{0} iota(), iota_dimension=0\n",
        )
    )
    diff = diff_view(before, after, diff_modules(before, after))
    totals = msgspec.structs.replace(diff.totals, computations_unchanged=unchanged)
    parting = PartingDiff(
        pair=0, a="m", b="n", dump_a=0, dump_b=0, diff=msgspec.structs.replace(diff, totals=totals)
    )
    comparison = Comparison(
        tool=TOOL,
        verdict="v.",
        a=Side(name="one"),
        b=Side(name="two"),
        modules=(module(outcome="differ"),),
    )
    (section,) = comparison_sheet(ComparisonView(comparison=comparison, diffs=(parting,))).sections
    assert ("%c" in "\n".join(section.lines)) is told
    assert told or section.lines[-1] == "the JSON holds the differences"


def test_pipelines_that_part_often_are_told_in_short() -> None:
    steps = [NextPass(pass_=f"p{k // 2}", a="q", b="r", dump_a=k, dump_b=k) for k in range(14)]
    (section,) = sheet_of(module(outcome="differ", passes=PassLists(next=tuple(steps)))).sections
    told = [value for label, value in section.facts if label in ("after", "")]
    assert told == [
        *(f"p{k}: a goes on to q, b to r" for k in range(4)),
        "and so at 3 more passes",
    ]


def test_many_modules_are_cut_and_counted() -> None:
    sheet = sheet_of(*(module(name=f"jit_{k}") for k in range(30)))
    assert len(sheet.sections) == 20
    assert "10 more modules are in the JSON alone." in sheet.notes
    rows = grid("", ("n",), ((str(k),) for k in range(50)))
    assert len(rows.rows) == 40
    assert rows.note == "and 10 more; the JSON holds them all"


def test_names_can_neither_colour_nor_turn_the_terminal() -> None:
    place = InstructionPlace(
        computation=HOSTILE,
        instruction=HOSTILE,
        opcode="dot",
        shape="f32[]",
        source=Source(file=f"/w/{HOSTILE}.py", line=3),
    )
    sheet = sheet_of(module(name=HOSTILE, outcome="differ", parting=Parting(a=place)))
    text = printed(sheet)
    assert "\x1b[31m" not in text
    assert "\u202e" not in text
    assert "[red]" in text


def test_ranks_are_shortened_and_flags_told() -> None:
    ranks = tuple(Rank(rank=k, name=f"r{k}") for k in range(40))
    sheet = ranks_sheet(
        RankComparison(
            tool=TOOL,
            verdict="v.",
            is_hlo_the_cause=True,
            ranks=ranks,
            flags=(RankFlag(name="x", values=((None, tuple(range(39))), ("1", (39,)))),),
            modules=(RankModule(name="jit_f", same=tuple(range(39)), missing=(39,)),),
        )
    )
    assert (sheet.badge, sheet.tone) == ("RANKS DIFFER", "warning")
    assert headings(sheet.grids)[:2] == ["Flags that differ", "Ranks"]
    assert sheet.grids[0].rows[0][1].endswith("and 27 more; 1 on rank 39")
    assert dict(sheet.sections[0].facts)["missing on"] == "rank 39"
    assert "rank 39" in printed(sheet)


def policy(*rows: PolicyRow) -> PolicyResult:
    passed = all(row.verdict == "pass" or row.optional for row in rows)
    return PolicyResult(tool=TOOL, passed=passed, dump="d|d", rows=rows)


def test_failures_stand_first_and_name_their_line() -> None:
    place = PolicyPlace(
        instruction="all-to-all.1", opcode="all-to-all", source=Source(file="/w/a.py", line=4)
    )
    result = policy(
        PolicyRow(check="one", verdict="pass", value=2048, unit="bytes"),
        PolicyRow(check="two", verdict="unknown", why="no such loop"),
        PolicyRow(check="three|x", verdict="fail", places=(place,)),
    )
    sheet = policy_sheet(result)
    assert [row[0] for row in sheet.grids[0].rows] == ["FAIL", "UNKNOWN", "pass"]
    assert sheet.grids[0].rows[2][sheet.grids[0].columns.index("value")] == "2.0 KiB"
    assert "1 of 3 checks fails, first three|x (a.py:4); 1 check cannot be told." in sheet.verdict
    assert sheet.sections[0].facts[0][0] == "a.py:4"
    markdown = list(policy_markdown(result))
    assert markdown[0].startswith("**FAIL** d\\|d")
    bars = len(sheet.grids[0].columns) + 1
    assert all(line.count("|") - line.count("\\|") == bars for line in markdown[2:7])


def test_markdown_of_a_policy_calls_nobody_and_links_nowhere() -> None:
    name = "@org/team #7 https://evil.example www.evil.example a&lt;b"
    place = PolicyPlace(instruction=name, opcode="copy")
    result = policy(PolicyRow(check=name, verdict="fail", why=name, places=(place,)))
    text = "\n".join(policy_markdown(result))
    assert "evil" in text
    for active in ("@", " #7", "://", "www.", "&lt;"):
        assert active not in text, active


def test_a_policy_that_passes_says_so() -> None:
    optional = PolicyRow(check="x", verdict="unknown", optional=True)
    row = PolicyRow(check="x", verdict="pass")
    assert policy_sheet(policy(row)).verdict.endswith(": the one check passes.")
    assert policy_sheet(policy(row, row)).verdict.endswith(": all 2 checks pass.")
    assert "which is let pass" in policy_sheet(policy(optional)).verdict


def test_figures() -> None:
    assert figure(None, "bytes") == "-"
    assert figure(3 << 20, "bytes") == "3.0 MiB"
    assert figure(2_500_000, "flops") == "2.5 MFLOP"
    assert figure(12.4, "us") == "12 µs"
    assert figure(12_000, "") == "12,000"


def test_what_counts_has_its_value_and_says_how_many_more_there_are() -> None:
    places = tuple(
        PolicyPlace(instruction=f"ar.{at}", opcode="all-reduce", value=value)
        for at, value in enumerate((12_500.0, 0.4))
    )
    row = PolicyRow(check="wait", verdict="fail", unit="us", places=places, places_total=40)
    sheet = policy_sheet(policy(row))
    assert sheet.sections[0].facts == (
        ("no line known", "12.5 ms, %ar.0, all-reduce"),
        ("no line known", "0.4 µs, %ar.1, all-reduce"),
        ("and 38 more", "not listed"),
    )
    assert "- and 38 more: not listed" in list(policy_markdown(policy(row)))
