"""The experiments of a replay in every form of the report."""

import io
from collections.abc import Callable

import msgspec
import pytest
from rich.console import Console

from app.model.codec import report_from_json, report_to_json
from app.model.experiments import Effects, Experiment, ReducedModule, Replay
from app.model.report import Finding, Input, Report, RuledOut, Tool, Workaround
from app.report.experiments import replay_view
from app.report.html import report_page
from app.report.markdown import report_markdown
from app.report.redact import Choice, Redactor
from app.report.terminal import print_report
from app.report.terminal_experiments import print_replay
from app.report.verdict import verdict_of

HOSTILE = "</script><img src=x> [x](http://evil)"
REPLAY = Replay(
    module="m",
    file="before.txt",
    release="0.4.31",
    signature="a.cc|check",
    flags_known=False,
    needed=("--xla_a=true",),
    experiments=(
        Experiment(
            question="baseline",
            name="as the run had it",
            release="0.4.30",
            outcome="same signature",
            words="a.cc:1: Check failed",
        ),
        Experiment(
            question="flags",
            name=f"--xla_a=false {HOSTILE}",
            release="0.4.30",
            outcome="compiles",
            effects=Effects(flops=2_000_000, collectives=3, collective_bytes=2048, peak_bytes=4096),
        ),
        Experiment(
            question="flags",
            name="--xla_b=false",
            release="0.4.30",
            outcome="compiles",
            dropped=("xla_c",),
            effects=Effects(
                flops=4_100_000, collectives=6, at_least=True, peak_bytes=1, is_estimate=True
            ),
        ),
    ),
    reduced=ReducedModule(
        name="/home/me/small.hlo",
        text="HloModule small\n",
        instructions_before=500,
        instructions_after=70,
        is_minimal=False,
        commands=("hlo-opt small.hlo",),
    ),
)
REPORT = Report(
    tool=Tool(name="hloscope", version="0"),
    input=Input(name="x", bytes=0, sha256=""),
    replay=REPLAY,
    findings=(
        Finding(
            rule="PIP001",
            class_="c",
            severity="error",
            confidence="likely",
            title="It died",
            message="Here.",
            workarounds=(
                Workaround(text="Do less.", flags=("--xla_a=false",), verified=True, experiment=1),
                Workaround(text="Do more.", flags=("--xla_d=false",), verified=False),
            ),
            ruled_out=(
                RuledOut(hypothesis="It is b", why="No.", flags=("--xla_b=false",), verified=True),
            ),
        ),
    ),
)


def test_what_costs_much_more_than_the_leanest_is_told() -> None:
    view = replay_view(REPLAY)
    lean, heavy = view.groups[1].rows
    assert lean.notes == ()
    assert heavy.notes[0] == "2.0 times the work of the leanest variant here"
    assert (heavy.work, heavy.peak) == ("at least 4.1 MFLOP", "1 B (estimate)")
    assert "xla_c" in heavy.notes[1]


@pytest.mark.parametrize(
    ("verdicts", "shown"), [((None, True), 1), ((False, None), 1), ((None, None), 0)]
)
def test_what_works_is_to_be_tried_before_what_nobody_tried(
    verdicts: tuple[bool | None, ...], shown: int
) -> None:
    advice = tuple(
        Workaround(text="t", flags=(f"--xla_{number}=false",), verified=verdict)
        for number, verdict in enumerate(verdicts)
    )
    finding = msgspec.structs.replace(REPORT.findings[0], workarounds=advice)
    verdict = verdict_of(msgspec.structs.replace(REPORT, findings=(finding,)))
    assert verdict.flags == advice[shown].flags


def test_unknown_flags_and_the_time_that_was_up_are_told() -> None:
    view = replay_view(REPLAY)
    assert any("not known" in line for line in view.lines)
    assert "the time was up" in view.reduced
    assert view.reduced_name == "small.hlo"


def test_the_first_release_that_is_good_and_lean_is_told() -> None:
    outcomes = {"1": "same signature", "2": "compiles", "3": "compiles"}
    flops = {"2": 200, "3": 100}
    tried = tuple(
        Experiment(
            question="releases",
            name=name,
            release=name,
            outcome="compiles" if outcome == "compiles" else "same signature",
            effects=Effects(flops=flops[name]) if name in flops else None,
        )
        for name, outcome in outcomes.items()
    )
    lines = replay_view(msgspec.structs.replace(REPLAY, experiments=tried)).lines
    assert any("2.0 times the work; the first that does not: 3." in line for line in lines)


def in_terminal() -> str:
    out = io.StringIO()
    print_report(REPORT, Console(file=out, width=160))
    return out.getvalue()


@pytest.mark.parametrize(
    "form",
    [in_terminal, lambda: report_markdown(REPORT), lambda: report_page(REPORT, offline=True)],
    ids=["terminal", "markdown", "page"],
)
def test_every_form_shows_the_table(form: Callable[[], str]) -> None:
    text = form()
    for words in ("same signature", "2.0 times", "tried: works", "does not help", "never runs"):
        assert words in text


def test_a_command_is_one_line_however_narrow_the_terminal() -> None:
    out = io.StringIO()
    command = f"hlo-opt {'--xla_a=true ' * 20}small.hlo"
    assert REPLAY.reduced is not None
    reduced = msgspec.structs.replace(REPLAY.reduced, commands=(command,))
    replay = msgspec.structs.replace(REPLAY, reduced=reduced)
    print_replay(replay, Console(file=out, width=60))
    assert f"    {command}\n" in out.getvalue()


def test_hostile_names_stay_text() -> None:
    assert HOSTILE not in report_page(REPORT, offline=True)
    assert f"`--xla_a=false {HOSTILE}`" in report_markdown(REPORT)


def test_a_report_without_a_replay_shows_none() -> None:
    plain = msgspec.structs.replace(REPORT, replay=None)
    assert "recompiling" not in report_page(plain, offline=True).lower()
    assert "recompiling" not in report_markdown(plain)


def test_json_keeps_the_experiments() -> None:
    assert report_from_json(report_to_json(REPORT)) == REPORT


def test_a_redacted_copy_keeps_outcomes_and_no_text_of_the_program() -> None:
    copy = Redactor(REPORT, Choice()).report()
    assert copy.replay is not None
    assert copy.replay.reduced is None
    assert [e.outcome for e in copy.replay.experiments] == [e.outcome for e in REPLAY.experiments]


@pytest.mark.parametrize("width", [80, 160])
def test_a_flag_stays_whole_in_a_narrow_terminal(width: int) -> None:
    out = io.StringIO()
    name = "--xla_gpu_enable_approx_costly_collectives=true"
    tried = msgspec.structs.replace(REPLAY.experiments[1], name=name)
    print_replay(
        msgspec.structs.replace(REPLAY, experiments=(tried,)), Console(file=out, width=width)
    )
    assert name in out.getvalue()
    assert "2.0 MFLOP" in out.getvalue()
    assert "3, 2.0 KiB" in out.getvalue()


def test_columns_of_figures_that_no_row_has_are_left_out() -> None:
    groups = replay_view(REPLAY).groups
    assert [group.is_weighed for group in groups] == [False, True]
    replayed = Report(
        tool=Tool(name="hloscope", version="1"), input=Input(name="d", bytes=1), replay=REPLAY
    )
    page = report_page(replayed, offline=True)
    assert page.count('<th scope="col">Outcome</th>') == 2
    assert page.count('<th scope="col" class="number">Work</th>') == 1
