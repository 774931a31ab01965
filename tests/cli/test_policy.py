"""`hloscope policy` over programs that JAX compiles here, and over a sample."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.cli.main import main
from compiled import LINE_OF_RESHARDING, RESHARDED, compile_program
from samples import SAMPLE_DUMPS

Policy = Callable[..., dict[str, Any]]
REAL_STEP = """
[[check]]
measure = "collectives"
loop = "*while*"
opcode = "all-gather"
max = 0

[[check]]
measure = "peak_memory"
max = "1 MiB"

[[check]]
expect = "no_resharding"
lines = ["step.py"]
"""


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_program(tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="module")
def resharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_program(tmp_path_factory.mktemp("resharded"), RESHARDED)


@pytest.fixture(scope="module")
def pipelined() -> Path:
    return next(SAMPLE_DUMPS.joinpath("fsdp_pipelined").glob("dump.*"))


@pytest.fixture
def policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Policy:
    def answer(text: str, dump: Path, *words: str, code: int) -> dict[str, Any]:
        file = tmp_path / "policy.toml"
        file.write_text(text)
        assert main(["policy", str(dump), "--file", str(file), "--json", "-", *words]) == code
        return json.loads(capsys.readouterr().out)

    return answer


def test_a_real_step_passes_and_one_resharding_more_fails_at_its_line(
    step: Path, resharded: Path, policy: Policy, capsys: pytest.CaptureFixture[str]
) -> None:
    assert policy(REAL_STEP, step, code=0)["passed"]
    found = policy(REAL_STEP, resharded, code=1)
    by_name = {row["check"]: row for row in found["rows"]}
    row = by_name["no resharding"]
    assert row["verdict"] == "fail"
    assert row["places"][0]["source"]["line"] == LINE_OF_RESHARDING
    assert row["places"][0]["opcode"] == "all-to-all"
    assert by_name["collectives of all-gather in *while*"]["verdict"] == "fail"
    assert by_name["peak memory"]["verdict"] == "pass"


def test_the_table_says_pass_or_fail_first(
    resharded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, summary = tmp_path / "policy.toml", tmp_path / "summary.md"
    file.write_text(REAL_STEP)
    words = ["policy", str(resharded), "--file", str(file), "--markdown", str(summary)]
    assert main(words) == 1
    printed = capsys.readouterr().out
    assert printed.split()[0] == "FAIL"
    assert f"step.py:{LINE_OF_RESHARDING}" in printed
    assert summary.read_text().startswith("**FAIL**")
    assert f"step.py:{LINE_OF_RESHARDING}" in summary.read_text()


def test_lines_that_are_not_named_may_reshard(resharded: Path, policy: Policy) -> None:
    text = '[[check]]\nexpect = "no_resharding"\nlines = ["step.py:15-18"]'
    assert policy(text, resharded, code=0)["rows"][0]["value"] == 0


@pytest.mark.parametrize(
    ("lines", "absent"),
    [
        ('["nofile.py:3-9"]', "nofile.py:3-9"),
        ('["step.py", "other.py"]', "other.py"),
        ('["step.py:7000"]', "step.py:7000"),
    ],
)
@pytest.mark.parametrize("what", ['expect = "no_resharding"', 'measure = "collectives"\nmax = 99'])
def test_lines_that_no_text_has_are_unknown(
    what: str, lines: str, absent: str, step: Path, policy: Policy
) -> None:
    (row,) = policy(f"[[check]]\n{what}\nlines = {lines}", step, code=1)["rows"]
    assert row["verdict"] == "unknown"
    assert row["why"] == f"no text has an instruction of {absent}"
    optional = f"[[check]]\n{what}\nlines = {lines}\noptional = true"
    assert policy(optional, step, code=0)["passed"]


def test_of_a_report_the_lines_that_it_names_are_known(
    step: Path, tmp_path: Path, policy: Policy, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    assert main(["analyze", str(step), "--json", str(report), "--fail-on", "never"]) == 0
    capsys.readouterr()
    text = '[[check]]\nmeasure = "collectives"\nmax = 99\nlines = ["%s"]'
    assert policy(text % "step.py", report, code=0)["passed"]
    (row,) = policy(text % "nofile.py", report, code=1)["rows"]
    assert row["why"] == "the report names no instruction of nofile.py"


def test_more_than_the_baseline_fails(step: Path, resharded: Path, policy: Policy) -> None:
    text = """
    [[check]]
    measure = "run_bytes"
    max_increase = "10%"

    [[check]]
    measure = "copies"
    max_increase = 5

    [[check]]
    expect = "same_graph"
    """
    same = policy(text, step, "--baseline", str(step), code=0)
    assert [row["verdict"] for row in same["rows"]] == ["pass"] * 3
    found = policy(text, resharded, "--baseline", str(step), code=1)
    assert [row["verdict"] for row in found["rows"]] == ["fail", "pass", "fail"]
    sent = found["rows"][0]
    assert sent["value"] > sent["baseline"] > 0


def test_a_report_is_baseline_enough_for_figures(
    step: Path, policy: Policy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    assert main(["analyze", str(step), "--json", str(report)]) == 0
    capsys.readouterr()
    text = '[[check]]\nmeasure = "total_memory"\nmax_increase = 0'
    assert policy(text, step, "--baseline", str(report), code=0)["passed"]
    graph = '[[check]]\nexpect = "same_graph"'
    (row,) = policy(graph, step, "--baseline", str(report), code=1)["rows"]
    assert (row["verdict"], row["why"][:6]) == ("unknown", "graphs")
    (row,) = policy('[[check]]\nexpect = "no_resharding"', report, code=1)["rows"]
    assert row["verdict"] == "unknown"


def test_what_cannot_be_told_is_no_pass_unless_it_is_optional(step: Path, policy: Policy) -> None:
    text = '[[check]]\nmeasure = "collectives"\nloop = "nowhere.py:1"\nmax = 9\n'
    (row,) = policy(text, step, code=1)["rows"]
    assert row["verdict"] == "unknown"
    assert "step.py:" in row["why"]
    assert policy(f"{text}optional = true", step, code=0)["passed"]
    assert not policy(f"{text}module = 'jit_other'", step, code=1)["passed"]
    text = '[[check]]\nmeasure = "copies"\nmax_increase = 0'
    (row,) = policy(text, step, code=1)["rows"]
    assert "no baseline" in row["why"]


def test_loops_stay_pipelined(pipelined: Path, policy: Policy) -> None:
    text = """
    [[check]]
    expect = "pipelined"
    loop = "fsdp_accumulate.py:27"

    [[check]]
    measure = "collectives"
    loop = "fsdp_accumulate.py:27"
    max = 4

    [[check]]
    measure = "exposed_us"
    max = 1000000
    """
    found = policy(text, pipelined, code=0)
    loops = [row for row in found["rows"] if row["what"] == "pipelined"]
    assert len(loops) >= 2
    assert all("pipelined" in row["why"] for row in loops)
    waits = next(row for row in found["rows"] if row["what"] == "exposed_us")
    assert waits["unit"] == "us"


def test_a_loop_that_no_pass_pipelined_fails(step: Path, policy: Policy) -> None:
    text = '[[check]]\nexpect = "pipelined"\nloop = "*"\n'
    (row,) = policy(text, step, code=1)["rows"]
    assert (row["verdict"], row["why"]) == ("fail", "no pass did so")


def test_a_policy_that_cannot_be_read_is_no_pass(step: Path, tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    assert main(["policy", str(step), "--file", str(file)]) == 3
    file.write_text("[[check]]")
    assert main(["policy", str(step), "--file", str(file)]) == 2


def test_the_limit_that_needs_no_baseline_is_held_without_one(step: Path, policy: Policy) -> None:
    text = '[[check]]\nmeasure = "total_memory"\nmax = "1.5 GiB"\nmax_increase = "2 MiB"\n'
    (row,) = policy(text, step, code=1)["rows"]
    assert row["verdict"] == "unknown"
    assert row["value"] > 0
    assert row["limit"] == "at most 1.5 GiB, at most 2 MiB more than the baseline"
    assert row["why"] == "there is no baseline figure to hold it against; the other limits hold"
    (row,) = policy(text.replace("1.5 GiB", "1 B"), step, code=1)["rows"]
    assert (row["verdict"], row["why"]) == ("fail", "more than the most allowed")


def test_a_compile_that_never_finished_is_told_on_top(
    step: Path, tmp_path: Path, policy: Policy, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '[[check]]\nmeasure = "copies"\nmax = 1000\n'
    assert policy(text, step, code=0)["unfinished"] == []
    crash = next(SAMPLE_DUMPS.joinpath("pipeliner_crash").glob("dump.*"))
    found = policy(text, crash, code=0)
    assert found["unfinished"] == [found["rows"][0]["module"]]
    main(["policy", str(crash), "--file", str(tmp_path / "policy.toml")])
    printed = capsys.readouterr().out
    assert printed.index("ends before the compile does") < printed.index("copies")


def test_a_table_of_80_columns_breaks_no_word(
    step: Path,
    policy: Policy,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    policy(REAL_STEP, step, code=0)
    main(["policy", str(step), "--file", str(tmp_path / "policy.toml")])
    printed = capsys.readouterr().out
    assert "baseline" not in printed
    for word in ("all-gather", "resharding", "memory", "1 MiB"):
        assert word in printed


@pytest.mark.parametrize(
    ("content", "told"), [(None, "No such file or directory"), (b"\xff", "not UTF-8")]
)
def test_a_policy_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, told: str
) -> None:
    policy = tmp_path / "policy.toml"
    if content is not None:
        policy.write_bytes(content)
    assert main(["policy", "no-such-dump", "--file", str(policy)]) == 3
    printed = capsys.readouterr().err
    assert f"{policy}: " in printed
    assert told in printed
    assert "Errno" not in printed


def test_what_counts_is_told_with_the_largest_share_first(pipelined: Path, policy: Policy) -> None:
    text = "".join(f'[[check]]\nmeasure = "{m}"\nmax = 0\n' for m in ("exposed_us", "collectives"))
    waits, counts = policy(text, pipelined, code=1)["rows"]
    for row in (waits, counts):
        values = [place["value"] for place in row["places"]]
        assert len(values) == min(12, row["places_total"])
        assert values == sorted(values, reverse=True)
    assert counts["places_total"] == counts["value"]
    times = [place["value"] for place in waits["places"]]
    # What is hidden adds nothing and is not among them.
    assert min(times) > 0
    assert waits["places_total"] < counts["places_total"]
    assert sum(times) == pytest.approx(waits["value"]) or waits["places_total"] > len(times)
