"""Words shared by all renderings."""

import io

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from app.model.report import Dump
from app.report.loops import is_rewritten, loop_story, loop_views
from app.report.markdown import escaped, report_markdown
from app.report.terminal import print_report
from app.report.wording import (
    counted,
    counts_text,
    cut_list,
    file_name,
    gravity,
    legible,
    numbered_pass,
    operations_text,
    pass_label,
    size_text,
    visible,
)
from report import builders


@given(st.text())
def test_visible_text_is_printable_and_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert visible(shown) == shown
    assert "\n".join(visible(line) for line in text.split("\n")) == visible(
        text, keep_newlines=True
    ).replace("\t", "\\t")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("größe 大", "größe 大"),
        ("a\nb", "a\\nb"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\u202eb", "a\\u202eb"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("a\u00a0b", "a b"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_report_without_odd_text_is_not_copied() -> None:
    report = builders.crash_report()
    assert legible(report) is report


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1.0 KiB"),
        (14_680_064, "14.0 MiB"),
        (1 << 50, "1,024.0 TiB"),
    ],
)
def test_sizes(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("flops", "text"), [(0, "0 FLOP"), (999, "999 FLOP"), (8_589_934_592, "8.6 GFLOP")]
)
def test_operations(flops: int, text: str) -> None:
    assert operations_text(flops) == text


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/me/prog.py", "prog.py"),
        ("C:\\work\\prog.py", "prog.py"),
        ("\\\\host\\share\\prog.py", "prog.py"),
        ("dir/odd\\x1bname.py", "odd\\x1bname.py"),
        ("prog.py", "prog.py"),
        ("dir/", "dir/"),
    ],
)
def test_file_names(path: str, name: str) -> None:
    assert file_name(path) == name


@pytest.mark.parametrize(
    ("file", "after", "words"),
    [
        ("d/module_0000.jit_f.0071.opt.after_cse.before_dce.txt", "cse", "0071 cse"),
        ("d/module_0000.jit_f.before_optimizations.txt", None, "before optimizations"),
        ("module_1.jit_f.sm_9.0_gpu_after_optimizations.txt", None, "after optimizations"),
        ("d/module_0000.jit_f.cl_1004524046.after_codegen.txt", None, "after codegen"),
        ("d.0001.x/lone.hlo", None, "lone.hlo"),
    ],
)
def test_passes_are_named_by_number_and_pass(file: str, after: str | None, words: str) -> None:
    assert numbered_pass(Dump(index=0, file=file, bytes=1, after=after)) == words


@pytest.mark.parametrize(
    ("pipeline", "words"),
    [("simplification", "0071 start of simplification"), (None, "0071 start of a pipeline")],
)
def test_the_first_text_of_a_pipeline_is_named_as_its_start(
    pipeline: str | None, words: str
) -> None:
    file = "d/module_0000.jit_f.0071.simplification.after_pipeline-start.before_dce.txt"
    dump = Dump(index=0, file=file, bytes=1, pipeline=pipeline, after="pipeline-start")
    assert numbered_pass(dump) == words


def test_counts_and_lists() -> None:
    assert counted(1, "loop") == "1 loop"
    assert counted(10_000, "loop") == "10,000 loops"
    assert counts_text({"a": 1, "b": 3, "c": 0}) == "b 3, a 1"
    assert cut_list(["a", "b", "c"], 2) == "a, b and 1 more"


def test_what_is_ruled_out_ranks_last_whatever_its_severity() -> None:
    best_first = [
        gravity("error", "certain"),
        gravity("error", "likely"),
        gravity("note", "possible", leads=True),
        gravity("note", "likely"),
        gravity("error", "ruled_out"),
    ]
    assert sorted(reversed(best_first)) == best_first


def test_loops_are_told_in_the_same_words_everywhere() -> None:
    rewritten = builders.loop(
        "jit_train/while.9",
        ("while.9",),
        line=55,
        events=((16, "pipelined_backward", "4 collectives"), (16, "trip_count_changed", "4 -> 3")),
    )
    crash = builders.crash_report()
    report = msgspec.structs.replace(crash, loops=(*crash.loops, rewritten))
    told = [loop_story(loop) for loop in report.loops if is_rewritten(loop)]
    assert told == ["pipelined backward, trips 4 \u2192 3"]
    terminal = io.StringIO()
    print_report(report, Console(width=400, file=terminal))
    markdown = report_markdown(report)
    page = {row.story for row in loop_views(report, comparable=False).first}
    for story in told:
        assert story in terminal.getvalue()
        assert escaped(story) in markdown
        assert story in page


@pytest.mark.parametrize(
    ("file", "label"),
    [
        ("d/module_0000.jit_f.cpu_after_optimizations.hlo.pb", "after optimizations"),
        ("d/module_0000.jit_f.cpu_after_optimizations.hlo.pb.gz", "after optimizations"),
        ("module_0000.jit_f.before_optimizations.txt", "before optimizations"),
        ("module_0000.jit_f.after_a.before_b-c.txt", "module_0000.jit_f.after_a.before_b-c.txt"),
        ("some.txt", "some.txt"),
    ],
)
def test_a_text_that_no_pass_wrote_goes_by_its_point_in_the_compile(file: str, label: str) -> None:
    assert pass_label(Dump(index=0, file=file, bytes=1)) == label
