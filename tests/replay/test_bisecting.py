"""Bisecting with a compiler that answers by the flags it is given."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from app.model.report import Finding, Input, Report, RuledOut, Tool, Workaround
from app.replay.bisecting import DISABLED, bisect_flags, bisect_passes, switches_of, without_pass
from app.replay.compiling import Budget, compile_once
from app.replay.experiments import Flags, Laboratory
from app.replay.outcome import Attempt, Kind
from app.replay.proving import prove
from app.replay.subject import Subject
from replay.fake_toolchain import CHECK, OTHER, dies, make_toolchain

SUBJECT = Subject(b"HloModule m\n", "text", partitions=8)
FLAGS = {
    "xla_gpu_enable_pipelined_all_gather": "true",
    "xla_gpu_enable_pipelined_all_reduce": "true",
    "xla_gpu_enable_while_loop_double_buffering": "true",
}
AG, AR, DB = (f"--{name}=false" for name in FLAGS)
NEEDS_BOTH = f"""
both = ('xla_gpu_enable_pipelined_all_gather', 'xla_gpu_enable_pipelined_all_reduce')
off = flags.get('xla_disable_hlo_passes', '').split(',')
if all(flags.get(name) == 'true' for name in both) and 'collective-pipeliner-backward' not in off:
    {dies(CHECK)}
if 'dce' in off:
    {dies(OTHER)}
"""
NEEDS_EITHER = f"""
if 'true' in (flags.get('xla_gpu_enable_pipelined_all_gather'),
              flags.get('xla_gpu_enable_pipelined_all_reduce')):
    {dies(CHECK)}
"""


def laboratory(folder: Path, answers: str, seconds: float = 600.0) -> Laboratory:
    tool = make_toolchain(folder, answers)

    def compile(subject: Subject, flags: Flags) -> Attempt:
        return compile_once(tool, subject, flags, budget=Budget(wall_s=60))

    return Laboratory(tool.release, compile, folder / "answers", seconds=seconds, jobs=2)


def counting(attempt: Attempt) -> tuple[list[Flags], Callable[[Subject, Flags], Attempt]]:
    asked: list[Flags] = []

    def compile(subject: Subject, flags: Flags) -> Attempt:
        del subject
        asked.append(flags)
        return attempt

    return asked, compile


def test_each_single_switch_that_cures_is_found(tmp_path: Path) -> None:
    found = bisect_flags(laboratory(tmp_path, NEEDS_BOTH), SUBJECT, FLAGS)
    assert found.baseline.kind == Kind.SAME
    assert found.cures == (AG, AR)
    assert found.irrelevant == (DB,)
    assert found.needed is not None
    assert found.needed.items == tuple(f"--{name}=true" for name in tuple(FLAGS)[:2])


def test_switches_that_cure_only_together_are_found(tmp_path: Path) -> None:
    found = bisect_flags(laboratory(tmp_path, NEEDS_EITHER), SUBJECT, FLAGS)
    assert found.cures == ()
    assert found.together is not None
    assert (found.together.items, found.together.is_minimal) == ((AG, AR), True)


def test_a_pass_that_breaks_something_else_cures_nothing(tmp_path: Path) -> None:
    passes = ("collective-pipeliner-backward", "collective-pipeliner-forward", "dce")
    found = bisect_passes(laboratory(tmp_path, NEEDS_BOTH), SUBJECT, FLAGS, passes)
    assert found.cures == passes[:1]
    assert found.irrelevant == passes[1:]  # the run's own check is met before `dce` is missed


def test_a_healthy_module_is_not_bisected(tmp_path: Path) -> None:
    found = bisect_flags(laboratory(tmp_path, "pass"), SUBJECT, FLAGS)
    assert (found.baseline.kind, found.results) == (Kind.COMPILES, ())


def test_a_failure_with_another_signature_is_not_bisected(tmp_path: Path) -> None:
    found = bisect_flags(
        laboratory(tmp_path, dies(OTHER)), SUBJECT, FLAGS, signature="check:elsewhere.cc:x"
    )
    assert (found.baseline.kind, found.results) == (Kind.ANOTHER, ())


def test_what_was_answered_is_not_asked_again(tmp_path: Path) -> None:
    first, second = (laboratory(tmp_path, NEEDS_BOTH) for _ in range(2))
    found = bisect_flags(first, SUBJECT, FLAGS)
    assert first.compiled > 0
    assert bisect_flags(second, SUBJECT, FLAGS) == found
    assert second.compiled == 0


def test_running_out_of_time_is_said_and_taken_up_again(tmp_path: Path) -> None:
    asked, compile = counting(Attempt(Kind.ANOTHER, "check:a.cc:x"))
    lab = Laboratory("0.4.30", compile, tmp_path, jobs=1)
    bisect_passes(lab, SUBJECT, FLAGS, ())
    late = Laboratory("0.4.30", compile, tmp_path, seconds=-1, jobs=1)
    found = bisect_passes(late, SUBJECT, FLAGS, ("dce",))
    assert (found.untried, len(asked)) == (("dce",), 1)


@pytest.mark.parametrize("kind", [Kind.TIME, Kind.MEMORY, Kind.REFUSED])
def test_an_answer_that_hung_on_the_machine_is_not_kept(tmp_path: Path, kind: Kind) -> None:
    asked, compile = counting(Attempt(kind))
    for _ in range(2):
        bisect_passes(Laboratory("0.4.30", compile, tmp_path), SUBJECT, FLAGS, ())
    assert len(asked) == 2


def test_an_answer_is_kept_for_the_failure_that_was_looked_for(tmp_path: Path) -> None:
    # Where a log states several failures it is told with the one looked for.
    asked, compile = counting(Attempt(Kind.ANOTHER, "check:a.cc:x"))
    for sought in ("check:a.cc:x", "check:b.cc:y", "check:a.cc:x"):
        lab = Laboratory("0.4.30", compile, tmp_path, signature=sought)
        bisect_passes(lab, SUBJECT, FLAGS, ())
    assert len(asked) == 2


def test_a_torn_answer_is_asked_again(tmp_path: Path) -> None:
    asked, compile = counting(Attempt(Kind.COMPILES))
    bisect_passes(Laboratory("0.4.30", compile, tmp_path), SUBJECT, FLAGS, ())
    for kept in tmp_path.iterdir():
        kept.write_text('{"kind": "comp')
    bisect_passes(Laboratory("0.4.30", compile, tmp_path), SUBJECT, FLAGS, ())
    assert len(asked) == 2


def test_switches_turn_booleans_and_take_others_away() -> None:
    flags = {"xla_a": "true", "xla_b": "False", "xla_c": "7", "xla_d": "", "xla_dump_to": "/d"}
    switches = switches_of(flags, {"xla_e": "true", "xla_a": "true"})
    assert [switch.words for switch in switches] == [
        "--xla_e=true",
        "--xla_a=false",
        "--xla_b=true",
        "without --xla_c",
        "without --xla_d",
    ]
    assert switches[3].applied(flags) == {n: v for n, v in flags.items() if n != "xla_c"}


def test_a_pass_is_added_to_those_that_are_off_already() -> None:
    assert without_pass({DISABLED: "a,b"}, "c") == {DISABLED: "a,b,c"}
    assert without_pass({DISABLED: "a,b"}, "a") == {DISABLED: "a,b"}
    assert without_pass({}, "c") == {DISABLED: "c"}


def report_with(*workarounds: Workaround) -> Report:
    finding = Finding(
        rule="PIP001",
        class_="collective-pipeliner",
        severity="error",
        confidence="likely",
        title="t",
        message="m",
        fingerprint="f",
        workarounds=workarounds,
    )
    return Report(
        tool=Tool(name="hloscope", version="0"),
        input=Input(name="dump", bytes=0),
        findings=(finding,),
    )


def test_workarounds_are_proved_or_refuted_or_left_open(tmp_path: Path) -> None:
    report = report_with(
        Workaround(text="all-gather", flags=(AG,)),
        Workaround(text="double buffering", flags=(DB,)),
        Workaround(text="change the program"),
    )
    proved, results = prove(laboratory(tmp_path, NEEDS_BOTH), SUBJECT, FLAGS, report)
    verdicts = [each.verified for each in proved.findings[0].workarounds]
    assert verdicts == [True, False, None]
    assert [r.attempt and r.attempt.kind for r in results] == [
        Kind.SAME,
        Kind.COMPILES,
        Kind.SAME,
    ]


def test_advice_whose_flag_the_release_does_not_know_stays_open(tmp_path: Path) -> None:
    unknown = "--xla_gpu_no_release_has_this=true"
    report = report_with(Workaround(text="both", flags=(AG, unknown)))
    suspicion = RuledOut(hypothesis="h", why="w", flags=(unknown,))
    finding = msgspec.structs.replace(report.findings[0], ruled_out=(suspicion,))
    report = msgspec.structs.replace(report, findings=(finding,))
    proved, results = prove(laboratory(tmp_path, NEEDS_BOTH), SUBJECT, FLAGS, report)
    found = proved.findings[0]
    tried = (*found.workarounds, *found.ruled_out)
    assert [each.verified for each in tried] == [None, None]
    assert [each.experiment for each in tried] == [0, 1]
    # The second compiles the same as the run itself, whose kept answer knows of no flag left out.
    assert [r.attempt and r.attempt.dropped for r in results] == [
        (),
        ("xla_gpu_no_release_has_this",),
        ("xla_gpu_no_release_has_this",),
    ]


def test_nothing_is_proved_of_a_failure_that_does_not_come_back(tmp_path: Path) -> None:
    report = report_with(Workaround(text="all-gather", flags=(AG,)))
    proved, results = prove(laboratory(tmp_path, "pass"), SUBJECT, FLAGS, report)
    assert proved == report
    assert len(results) == 1
