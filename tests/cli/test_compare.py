"""`hloscope compare` over real dumps: the samples, and programs that JAX compiles here."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.cli.main import main
from compiled import LINE_OF_RESHARDING, RESHARDED, compile_program
from samples import SAMPLE_DUMPS, unpack

Compare = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_program(tmp_path_factory.mktemp("one"))


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str]) -> Compare:
    def answer(*words: str | Path, code: int = 0) -> dict[str, Any]:
        assert main(["compare", *map(str, words), "--json", "-"]) == code
        return json.loads(capsys.readouterr().out)

    return answer


def sample(name: str) -> Path:
    return next(SAMPLE_DUMPS.joinpath(name).glob("dump.*"))


def unpacked(name: str, folder: Path) -> Path:
    return unpack(sample(name), folder)


def rewritten(folder: Path, target: Path, change: Callable[[str, str], str]) -> Path:
    """A copy of the dump in which `change(file name, text)` stands in every text."""
    shutil.copytree(folder, target)
    for path in sorted(target.rglob("*.txt")):
        path.write_text(change(path.name, path.read_text(encoding="utf-8")), encoding="utf-8")
    return target


def test_one_program_compiled_in_two_folders_is_equal(
    step: Path, tmp_path: Path, compare: Compare
) -> None:
    other = compile_program(tmp_path / "another" / "place")
    found = compare(step, other)["comparison"]
    assert found["verdict"].endswith("the same graphs after every pass and the same flags.")
    assert {pair["outcome"] for pair in found["modules"]} == {"equal"}
    assert all(pair["equal_texts"] == pair["texts_a"] for pair in found["modules"])


def test_a_line_more_in_the_program_is_named(step: Path, tmp_path: Path, compare: Compare) -> None:
    found = compare(step, compile_program(tmp_path / "resharded", RESHARDED))
    comparison = found["comparison"]
    (user,) = (pair for pair in comparison["modules"] if pair["role"] == "user")
    assert user["outcome"] == "differ"
    assert f"(step.py:{LINE_OF_RESHARDING})" in comparison["verdict"]
    assert user["parting"]["b"]["source"]["line"] == LINE_OF_RESHARDING
    assert (user["parting"]["dump_a"], user["parting"]["dump_b"]) == (0, 0)
    in_loop = [s for s in user["collectives"] if s.get("loop") is not None]
    assert {s["opcode"] for s in in_loop} >= {"all-gather"}
    assert found["diffs"][0]["diff"]["totals"]["instructions_added"] >= 1


def test_other_names_numbers_paths_and_order_of_compiles_are_equal(
    tmp_path: Path, compare: Compare
) -> None:
    here = unpacked("ring_local_p2p", tmp_path / "here")

    def change(name: str, text: str) -> str:
        text = re.sub(r"%(?=[a-z])", "%r_", text).replace("/home/me/job", "/scratch/7")
        text = re.sub(r"stack_frame_id=\d+", "stack_frame_id=1", text)
        return re.sub(r"channel_id=(\d+)", lambda m: f"channel_id={int(m[1]) + 40}", text)

    there = rewritten(here, tmp_path / "there", change)
    for path in [p for p in there.rglob("module_*") if p.is_file()]:
        path.rename(path.with_name(re.sub(r"^module_\d+", "module_0977", path.name)))
    comparison = compare(here, there)["comparison"]
    assert {pair["outcome"] for pair in comparison["modules"]} == {"equal"}


def test_where_one_pass_does_something_else_the_graphs_part(
    tmp_path: Path, compare: Compare
) -> None:
    here = unpacked("ring_local_p2p", tmp_path / "here")
    texts = sorted(here.rglob("module_*.[0-9][0-9][0-9][0-9].*.txt"))
    changed = texts[len(texts) // 2]
    later = {path.name for path in texts[len(texts) // 2 :]}
    later |= {path.name for path in here.rglob("*after_optimizations.txt")}

    def change(name: str, text: str) -> str:
        return re.sub(r" = (\S+) negate\(", r" = \1 abs(", text) if name in later else text

    assert " negate(" in changed.read_text()
    found = compare(here, rewritten(here, tmp_path / "there", change))["comparison"]
    parting = found["modules"][0]["parting"]
    assert parting["file_a"] == parting["file_b"] == changed.name
    assert (parting["a"]["opcode"], parting["b"]["opcode"]) == ("negate", "abs")
    assert parting["a"]["instruction"] == parting["b"]["instruction"]


def test_reports_are_compared_by_their_figures(
    step: Path, tmp_path: Path, compare: Compare, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    assert main(["analyze", str(step), "--json", str(report)]) == 0
    capsys.readouterr()
    found = compare(report, step)
    assert {pair["outcome"] for pair in found["comparison"]["modules"]} == {"unknown"}
    assert found["diffs"] == []
    amounts = found["comparison"]["modules"][0]["amounts"]
    assert amounts
    assert all(amount["a"] == amount["b"] for amount in amounts)


def test_what_is_no_report_is_refused(
    step: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"schema_version": 1}')
    assert main(["compare", str(other), str(step)]) == 3
    assert "no report" in capsys.readouterr().err
    assert main(["compare", str(tmp_path / "none.json"), str(step)]) == 3


def test_the_terminal_says_it_all_in_one_sentence_first(
    step: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(step), str(step)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].strip() == "EQUAL"
    assert lines[1].startswith("All")


def test_flags_and_logs_of_the_runs_may_be_given(
    step: Path, tmp_path: Path, compare: Compare
) -> None:
    log = tmp_path / "run.log"
    log.write_text("F0412 10:11:12.345678 4242 shape_util.cc:7] Check failed: one == two\n")
    words = ["--flags-a=--xla_one=1", "--flags-b=--xla_one=2", "--log-b", str(log)]
    found = compare(step, step, *words)["comparison"]
    assert [(f["name"], f["a"], f["b"]) for f in found["flags"]] == [("xla_one", "1", "2")]
    assert found["a"].get("failure") is None
    assert "one == two" in found["b"]["failure"]


def without_texts(folder: Path, target: Path, kept: str) -> Path:
    """A copy of the dump with those texts alone whose names match."""
    shutil.copytree(folder, target)
    for path in sorted(target.rglob("module_*.txt")):
        if not re.search(kept, path.name):
            path.unlink()
    return target


def test_a_dump_that_ends_early_is_the_same_as_far_as_it_came(
    tmp_path: Path, compare: Compare
) -> None:
    here = unpacked("ring_local_p2p", tmp_path / "here")
    started = without_texts(here, tmp_path / "started", r"\.(before_optimizations|00[0-2]\d\.)")
    first = without_texts(here, tmp_path / "first", r"\.before_optimizations")
    for short, whole, side in ((started, here, "a"), (first, started, "a"), (here, first, "b")):
        (pair,) = compare(short, whole)["comparison"]["modules"]
        assert (pair["outcome"], pair["passes"]["stops"]) == ("stopped", side)


def test_a_dump_without_texts_of_passes_blames_none(tmp_path: Path, compare: Compare) -> None:
    here = unpacked("ring_local_p2p", tmp_path / "here")
    ends = without_texts(here, tmp_path / "ends", r"\.(before|\w+_after)_optimizations\.txt")
    (pair,) = compare(ends, here)["comparison"]["modules"]
    assert pair["outcome"] == "equal_in_the_end"

    def change(name: str, text: str) -> str:
        return text.replace(" negate(", " abs(") if "after_optimizations" in name else text

    found = compare(rewritten(ends, tmp_path / "other", change), here)["comparison"]
    parting = found["modules"][0]["parting"]
    assert parting["file_a"].endswith("after_optimizations.txt")
    assert parting["file_a"] == parting["file_b"]
    assert "a pass that no file names" in found["verdict"]
