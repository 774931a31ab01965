"""A session on a sample of the project: what it finds out stands in the report it gives."""

import dataclasses
from pathlib import Path

import msgspec
import pytest

from app.model.dump import DumpContents
from app.model.experiments import Effects, Experiment
from app.model.report import Confidence, Report
from app.replay.implied import inferred_flags, untimed_flags
from app.replay.outcome import Attempt
from app.replay.plan import Plan
from app.replay.recording import changed_words
from app.replay.reduction import blamed_lines
from app.replay.session import Session
from app.replay.subject import subject_of
from app.service import Log, Question, examine
from app.settings import Settings
from replay.fake_toolchain import CHECK, dies, make_toolchain

SAMPLE = Path(__file__).parents[2] / "sample_dumps" / "pipeliner_crash"
ANSWERS = f"""
if 'xla_dump_to' in flags:
    dump = pathlib.Path(flags['xla_dump_to'])
    dump.mkdir()
    (dump / 'module_0000.m.before_optimizations.txt').write_text(text)
if flags.get('xla_gpu_enable_pipelined_all_gather') == 'true':
    {dies(CHECK)}
"""


@pytest.fixture(scope="module")
def analysis() -> tuple[Report, DumpContents]:
    question = Question(logs=(Log("run.log", file=SAMPLE / "run.log"),))
    found = examine(SAMPLE / "dump.tar.gz", Settings(), question=question)
    assert found.contents is not None
    return found.report, found.contents


def session(
    folder: Path, analysis: tuple[Report, DumpContents], plan: Plan | None = None
) -> Session:
    report, contents = analysis
    tool = make_toolchain(folder, ANSWERS)
    subject = subject_of(contents, report)
    return Session(folder, tool, subject, report, contents, plan or Plan(jobs=2))


def experiments(session: Session) -> tuple[Experiment, ...]:
    replay = session.report.replay
    assert replay is not None
    return replay.experiments


def test_without_flags_the_passes_tell_some(
    tmp_path: Path, analysis: tuple[Report, DumpContents]
) -> None:
    made = session(tmp_path, analysis)
    defaults, implied = made.settle_flags()
    assert (defaults.outcome, implied.outcome) == ("compiles", "same signature")
    assert "--xla_gpu_enable_pipelined_all_gather=true" in implied.flags
    assert made.subject.flags["xla_gpu_enable_pipelined_all_gather"] == "true"
    found = made.bisect_flags({})
    assert "--xla_gpu_enable_pipelined_all_gather=false" in found.cures
    replay = made.report.replay
    assert replay is not None
    assert not replay.flags_known
    # The run itself is not told twice.
    assert [e.question for e in replay.experiments].count("baseline") == 2


def test_verdicts_lead_to_their_experiments(
    tmp_path: Path, analysis: tuple[Report, DumpContents]
) -> None:
    made = session(tmp_path, analysis)
    made.settle_flags()
    made.prove()
    tried = experiments(made)
    advice = [w for f in made.report.findings for w in f.workarounds if w.experiment is not None]
    assert advice
    for each in advice:
        assert each.experiment is not None
        assert tried[each.experiment].name == " ".join(each.flags)
        assert each.verified == (tried[each.experiment].outcome == "compiles")
    suspicions = [r for f in made.report.findings for r in f.ruled_out if r.verified is not None]
    assert [r.verified for r in suspicions] == [True]
    assert "double_buffering" in suspicions[0].flags[0]


def test_what_cures_is_weighed_once(tmp_path: Path, analysis: tuple[Report, DumpContents]) -> None:
    asked: list[Path] = []

    def examined(folder: Path, release: str) -> tuple[Report, DumpContents | None]:
        asked.append(folder)
        found = examine(folder, Settings(), question=Question(release=release))
        return found.report, found.contents

    for _ in range(2):
        made = session(tmp_path, analysis, Plan(jobs=2, examine=examined))
        made.settle_flags()
        made.bisect_flags({})
        (cure,) = (e for e in experiments(made) if e.question == "flags" and e.effects)
        assert cure.outcome == "compiles"
        assert cure.effects is not None
        assert isinstance(cure.effects, Effects)
        assert cure.effects.flops > 0
    assert len(asked) == 1


def test_lines_that_are_blamed_stay_in_the_reduced_module(
    tmp_path: Path, analysis: tuple[Report, DumpContents]
) -> None:
    lines: list[tuple[str, int]] = []

    def told(name: str, attempt: Attempt) -> None:
        del attempt
        lines.append((name, 0))

    made = session(tmp_path, analysis, Plan(jobs=2, budget_s=5, told=told))
    made.settle_flags()
    found = made.reduce("small.hlo")
    assert found is not None
    assert found.after < found.before
    blamed = {line for _, line in blamed_lines(analysis[0])}
    kept = {line for line in blamed if f"source_line={line}" in found.text}
    assert kept
    replay = made.report.replay
    assert replay is not None
    assert replay.reduced is not None
    assert replay.reduced.text == found.text
    assert all("small.hlo" in command for command in replay.reduced.commands)


def test_flags_implied_are_those_that_the_release_has(
    analysis: tuple[Report, DumpContents],
) -> None:
    names = [
        dataclasses.replace(analysis[1].modules[0].dumps[0].name, after=name)
        for name in ("collective-pipeliner-forward", "p2p-schedule-preparation", "dce")
    ]
    found = inferred_flags(names, None, "0.4.30")
    (forward,) = found
    assert forward.why == "the dump has a text from after collective-pipeliner-forward"
    assert forward.flag == "xla_gpu_enable_pipelined_all_reduce"
    assert "xla_gpu_enable_pipelined_reduce_scatter" in forward.others
    assert inferred_flags(names, None, "0.0.1") == ()
    assert "xla_gpu_autotune_level" in untimed_flags("0.4.30")


@pytest.mark.parametrize(("confidence", "is_implied"), [("likely", True), ("possible", False)])
def test_a_pass_that_only_may_have_run_implies_no_flag(
    analysis: tuple[Report, DumpContents], confidence: Confidence, is_implied: bool
) -> None:
    assert analysis[0].failure is not None
    failure = msgspec.structs.replace(analysis[0].failure, confidence=confidence)
    found = inferred_flags((), failure, "0.4.30")
    flags = ["xla_gpu_enable_pipelined_all_gather"] if is_implied else []
    assert [each.flag for each in found] == flags
    assert all("collective-pipeliner-backward (likely)" in each.why for each in found)


def test_changes_are_told_with_what_was_left_out() -> None:
    changed = changed_words({"a": "1", "b": "2"}, {"a": "3", "c": "4"})
    assert changed == ("--a=3", "--c=4", "without --b")
