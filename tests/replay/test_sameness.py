"""Which failures are one, and how sure that is, with a log, without one, and without words."""

import dataclasses
import shutil
from pathlib import Path

import msgspec
import pytest

from app.ingest.log import read_log
from app.model.dump import DumpContents
from app.model.experiments import Sameness
from app.model.report import Failure, Report
from app.replay import experiments
from app.replay.experiments import Laboratory, Variant, compared
from app.replay.outcome import Attempt, Kind
from app.replay.plan import Plan
from app.replay.sameness import crash_signature, is_same, sameness_of, with_last_pass
from app.replay.session import Session
from app.replay.subject import Subject, subject_of
from app.service import examine
from app.settings import Settings
from replay.fake_toolchain import CHECK, OTHER, dies, make_toolchain

SAMPLE = Path(__file__).parents[2] / "sample_dumps" / "pipeliner_crash"
SEGV = crash_signature("SIGSEGV")
OWN = Sameness(confidence="likely", how="no log")
LAST = "reduce-scatter-creator"


def segfault_after(name: str) -> str:
    """Code of a fake compiler that leaves the text of a pass, where asked to, and dies."""
    return f"""
if 'xla_dump_to' in flags:
    dump = pathlib.Path(flags['xla_dump_to'])
    dump.mkdir(exist_ok=True)
    (dump / 'module_0000.m.0001.p.after_{name}.before_dce.txt').write_text('')
os.kill(os.getpid(), 11)
"""


@pytest.fixture(scope="module")
def analysis() -> tuple[Report, DumpContents]:
    """The sample without its log: a dump that ends after `LAST`."""
    found = examine(SAMPLE / "dump.tar.gz", Settings())
    assert found.contents is not None
    assert found.report.failure is None
    return found.report, found.contents


def session(folder: Path, analysis: tuple[Report, DumpContents], answers: str) -> Session:
    report, contents = analysis
    folder.mkdir(exist_ok=True)
    tool = make_toolchain(folder, answers)
    return Session(folder, tool, subject_of(contents, report), report, contents, Plan(jobs=1))


def logged(text: str) -> Failure:
    (found,) = read_log(text, name="log").failures
    return Failure(text=found.text, signature=found.signature, kind=found.kind)


@pytest.mark.parametrize(
    ("found", "wanted", "answer"),
    [
        (SEGV, SEGV, True),
        (SEGV, crash_signature("SIGABRT"), False),
        (with_last_pass(SEGV, "dce"), with_last_pass(SEGV, "dce"), True),
        (with_last_pass(SEGV, "dce"), with_last_pass(SEGV, "cse"), False),
        (with_last_pass(SEGV, "dce"), SEGV, True),
        (f"{SEGV} xla::A", f"{SEGV} xla::B", False),
        (with_last_pass(f"{SEGV} xla::A", "dce"), f"{SEGV} xla::A", True),
        (with_last_pass(f"{SEGV} xla::A", "dce"), with_last_pass(SEGV, "cse"), False),
        (SEGV, "check:a.cc:x", False),
        ("", "", False),
        ("check:a.cc:x", "check:a.cc:x", True),
    ],
)
def test_what_one_side_does_not_know_tells_nothing_apart(
    found: str, wanted: str, answer: bool
) -> None:
    assert is_same(found, wanted) is answer
    kind = Kind.SAME if answer else Kind.ANOTHER
    assert compared(Attempt(Kind.ANOTHER, found), wanted).kind == kind


@pytest.mark.parametrize(
    ("found", "wanted", "confidence", "how"),
    [
        (SEGV, SEGV, "possible", "crashes without words count as one"),
        (with_last_pass(SEGV, "dce"), SEGV, "possible", "nothing but the same signal"),
        (with_last_pass(SEGV, "dce"), with_last_pass(SEGV, "dce"), "likely", "after the same pass"),
        (f"{SEGV} xla::A", f"{SEGV} xla::A", "likely", "the same function of XLA (xla::A)"),
        ("status::no %x", "status::no %x", "likely", "the same message"),
    ],
)
def test_how_sure_it_is(found: str, wanted: str, confidence: str, how: str) -> None:
    failure = Failure(text="", signature=wanted, kind="signal")
    same = sameness_of(
        found, wanted, failure=failure, release="0.4.30", of_run=["0.4.30"], reference=OWN
    )
    assert same.confidence == confidence
    assert how in same.how
    assert same.how.endswith("as the log has it")


@pytest.mark.parametrize(
    ("release", "of_run", "confidence", "how"),
    [
        ("0.4.30", ["0.4.30"], "certain", "0.4.30 checks at one place alone, as the log has it"),
        ("0.4.30", ["0.4.29", "0.4.30"], "certain", "as does each release that fits the run, as"),
        ("0.0.1", ["0.4.30"], "likely", "the same file and condition, as the log has it"),
        # That it is at one place in the release that replays says nothing of the run's.
        ("0.4.30", [], "likely", "of which release the run is, is not known"),
        ("0.4.30", ["0.0.1"], "likely", "the run may be of 0.0.1, of which that is not so"),
        ("0.4.30", ["0.4.30", "0.0.1"], "likely", "the run may be of 0.0.1, of which"),
    ],
)
def test_a_check_at_one_place_alone_in_both_releases_is_certain(
    release: str, of_run: list[str], confidence: str, how: str
) -> None:
    failure = logged(CHECK)
    found = sameness_of(
        failure.signature,
        failure.signature,
        failure=failure,
        release=release,
        of_run=of_run,
        reference=OWN,
    )
    assert found.confidence == confidence
    assert how in found.how


def test_without_a_log_a_check_is_no_surer_than_what_is_looked_for() -> None:
    wanted = logged(CHECK).signature
    found = sameness_of(
        wanted, wanted, failure=None, release="0.4.30", of_run=["0.4.30"], reference=OWN
    )
    assert (found.confidence, found.how.endswith("; no log")) == ("likely", True)


def test_a_crash_without_words_is_told_by_the_pass_after_which_it_came(
    tmp_path: Path, analysis: tuple[Report, DumpContents]
) -> None:
    made = session(tmp_path, analysis, segfault_after(LAST))
    made.settle_flags()
    attempt = made.compile()
    assert (attempt.kind, attempt.signature) == (Kind.SAME, with_last_pass(SEGV, LAST))
    assert made.same is not None
    assert made.same.confidence == "likely"
    assert f"the dumps of both end after {LAST}" in made.same.how


def test_a_crash_in_another_pass_than_the_run_s_is_told(
    tmp_path: Path, analysis: tuple[Report, DumpContents]
) -> None:
    made = session(tmp_path, analysis, segfault_after("algsimp"))
    made.settle_flags()
    made.compile()
    assert made.same is not None
    assert made.same.confidence == "possible"
    assert f"the run's dump ends after {LAST}, the replay's after algsimp" in made.same.how


def test_without_a_log_the_failure_with_default_flags_is_looked_for(
    tmp_path: Path, analysis: tuple[Report, DumpContents]
) -> None:
    answers = f"""
if flags.get('xla_gpu_enable_pipelined_all_reduce') == 'true':
    {dies(OTHER)}
{dies(CHECK)}
"""
    report, contents = analysis
    history = contents.modules[0]
    name = dataclasses.replace(history.last.name, after="collective-pipeliner-forward")
    dumps = (*history.dumps[:-1], dataclasses.replace(history.last, name=name))
    module = dataclasses.replace(history, dumps=dumps)
    other = dataclasses.replace(contents, modules=(module, *contents.modules[1:]))
    made = session(tmp_path, (report, other), answers)
    defaults, implied = made.settle_flags()
    assert (defaults.outcome, implied.outcome) == ("same signature", "another failure")
    # What the passes imply fails in another way, so it is not taken for the run's.
    assert "xla_gpu_enable_pipelined_all_reduce" not in made.subject.flags
    assert made.signature == logged(CHECK).signature
    assert made.same is not None
    assert "the replay's own failure with the default flags" in made.same.how


def test_the_log_of_a_silent_crash_is_met_by_signal_and_last_pass(
    tmp_path: Path, analysis: tuple[Report, DumpContents]
) -> None:
    report, contents = analysis
    failure = logged("Segmentation fault (core dumped)\n")
    assert failure.signature == SEGV
    with_log = (msgspec.structs.replace(report, failure=failure), contents)
    assert session(tmp_path, with_log, segfault_after(LAST)).compile().kind == Kind.SAME
    other = session(tmp_path / "other", with_log, segfault_after("algsimp"))
    attempt = other.compile()
    assert attempt.kind == Kind.ANOTHER
    assert "the last pass to leave a text is algsimp" in attempt.words
    assert other.same is None


def test_an_answer_is_kept_as_long_as_no_file_that_may_decide_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = tmp_path / "replay"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(experiments.__file__).parent, room, ignore=ignored)
    monkeypatch.setattr(experiments, "files", lambda _: room)

    def compiled_anew() -> int:
        laboratory = Laboratory("0.4.30", lambda *_: Attempt(Kind.COMPILES), tmp_path / "kept")
        laboratory.try_one(Variant("v", {}, Subject(b"", "text")))
        return laboratory.compiled

    assert [compiled_anew(), compiled_anew()] == [1, 0]
    for name in ("draft.py", "kinds.py", "sameness.py", "passes.py", "stand_in_driver.c"):
        with (room / name).open("ab") as file:
            file.write(b"\n")
        assert [compiled_anew(), compiled_anew()] == [1, 0], name
    (room / "__pycache__").mkdir()
    (room / "__pycache__" / "draft.pyc").write_bytes(b"compiled by Python, and no file of ours")
    assert compiled_anew() == 0


def test_an_answer_during_which_hloscope_changed_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = iter("aabbc")
    monkeypatch.setattr("app.replay.experiments._digest_of_room", lambda: next(scripts))

    def compiles(*_: object) -> Attempt:
        return Attempt(Kind.COMPILES)

    variant = Variant("v", {}, Subject(b"", "text"))
    assert Laboratory("0.4.30", compiles, tmp_path).try_one(variant).kind == Kind.COMPILES
    assert Laboratory("0.4.30", compiles, tmp_path).try_one(variant).kind == Kind.COMPILES
    kept = list(tmp_path.iterdir())
    monkeypatch.setattr("app.replay.experiments._digest_of_room", iter("cddd").__next__)
    changed = Laboratory("0.4.30", compiles, tmp_path).try_one(variant)
    assert changed.kind == Kind.INTERRUPTED
    assert "hloscope was changed" in changed.words
    assert list(tmp_path.iterdir()) == kept


def test_what_was_interrupted_is_tried_once_more_and_not_kept(tmp_path: Path) -> None:
    answers = iter([Attempt(Kind.INTERRUPTED), Attempt(Kind.COMPILES)])
    laboratory = Laboratory("0.4.30", lambda *_: next(answers), tmp_path)
    assert laboratory.try_one(Variant("v", {}, Subject(b"", "text"))).kind == Kind.COMPILES
    always = Laboratory("0.4.31", lambda *_: Attempt(Kind.INTERRUPTED), tmp_path)
    assert always.try_one(Variant("v", {}, Subject(b"", "text"))).kind == Kind.INTERRUPTED
    assert (always.compiled, len(list(tmp_path.iterdir()))) == (2, 1)
