"""`hloscope replay DUMP`: compiles its module again, with no GPU, and bisects its failure."""

import argparse
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import msgspec

from app.cli.analyze import log_of
from app.cli.arguments import Commands, seconds
from app.cli.commands import COMMANDS
from app.cli.complaints import complain
from app.cli.inputs import text_or_file
from app.cli.output import console_for_report, write_json, write_output
from app.cli.output_files import check_outputs
from app.errors import UsageError
from app.ingest.flags import parse_flags
from app.model.codec import report_to_json
from app.model.dump import DumpContents
from app.model.experiments import Replay
from app.model.report import Report
from app.replay.bisecting import Bisection
from app.replay.compiling import flags_for
from app.replay.outcome import Attempt, Kind
from app.replay.plan import Examine, Plan
from app.replay.releases import ReleaseTable
from app.replay.search import OutOfBudget
from app.replay.session import Session
from app.replay.subject import Subject, subject_of
from app.replay.toolchains import (
    GIGABYTES,
    TPU_GIGABYTES,
    Toolchain,
    install,
    installed,
    packages_of,
    toolchain,
)
from app.report.html import report_page
from app.report.markdown import report_markdown
from app.report.releases_tried import span_words
from app.report.terminal_experiments import print_replay
from app.report.wording import legible
from app.service import Question, examine
from app.settings import Settings

_TIMED_OUT = 5
_Step = Callable[[argparse.Namespace, Session], int]
_NOTHING = Replay(module="", file="", release="")


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "replay",
        help=COMMANDS["replay"],
        description="Compiles a module of a dump again, under other flags or another release, for "
        "GPUs that need not be there. Each compile is a process of its own, with limits.",
    )
    parser.add_argument("path", nargs="?", metavar="DUMP")
    parser.add_argument("--log", action="append", default=[], metavar="FILE", help="repeatable")
    parser.add_argument("--flags", default="", metavar="TEXT|@FILE", help="the run's XLA_FLAGS")
    parser.add_argument("--release", metavar="R", help="the jaxlib release to compile with")
    parser.add_argument("--module", metavar="M", help="another module than the one that failed")
    parser.add_argument("--text", type=int, metavar="N", help="its N-th text instead of the first")
    parser.add_argument("--target", metavar="FILE", help="a GPU target config instead of an H100")
    parser.add_argument("--bisect", choices=("flags", "passes", "releases"), help="what to search")
    parser.add_argument(
        "--try", default="", dest="more", metavar="FLAGS", help="further candidates"
    )
    parser.add_argument("--reduce", action="store_true", help="make a small module that fails so")
    parser.add_argument("--out", default="reduced.hlo", metavar="FILE", help="where it goes")
    parser.add_argument("--prove", action="store_true", help="try the report's workarounds")
    parser.add_argument("--keep", metavar="DIR", help="keep the log and XLA's dump of one replay")
    parser.add_argument("--json", metavar="FILE", help="write results, or the report with --prove")
    parser.add_argument("--html", metavar="FILE", help="write the report with what was tried")
    parser.add_argument("--markdown", metavar="FILE", help="the same for a bug thread")
    limits = parser.add_argument_group("limits")
    limits.add_argument(
        "--budget",
        type=seconds,
        default=600.0,
        metavar="SECONDS",
        help="begin no compile after this time (default: 600)",
    )
    limits.add_argument(
        "--timeout",
        type=seconds,
        default=300.0,
        metavar="SECONDS",
        help="end a compile after this time (default: 300)",
    )
    limits.add_argument("--jobs", type=int, default=0, metavar="N", help="compiles at once")
    tools = parser.add_argument_group("releases to compile with")
    tools.add_argument("--install", metavar="RELEASE", help="install one, and do nothing else")
    tools.add_argument("--tpu", action="store_true", help="install libtpu with it")
    tools.add_argument("--list", action="store_true", help="those that are installed")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 where the module compiles, 1 where it fails or something was found, 5 for a time-out."""
    root = settings.replay_dir.expanduser()
    if arguments.list:
        releases = installed(root)
        for release in releases:
            print(release)
        if not releases:
            complain(f"{root}: no release is installed. hloscope replay --install R installs one.")
        return 0
    if arguments.install:
        return _install(root, arguments.install, tpu=arguments.tpu)
    if arguments.path is None:
        raise UsageError("no dump to replay", next_step="hloscope replay DUMP --release R")
    check_outputs(arguments.json, arguments.html, arguments.markdown)
    if arguments.reduce:
        check_outputs(arguments.out)
    # Which release compiles says nothing of the run's.
    question = Question(
        logs=tuple(log_of(name) for name in arguments.log), flags=text_or_file(arguments.flags)
    )
    analysis = examine(Path(arguments.path), settings, question=question)
    if analysis.contents is None:
        raise UsageError("the dump holds no module", place=arguments.path)
    tool = toolchain(root, _release(arguments.release, analysis.report, root))
    target = text_or_file(f"@{arguments.target}") if arguments.target else ""
    subject = subject_of(
        analysis.contents,
        analysis.report,
        module=arguments.module,
        dump=arguments.text,
        target=target,
    )
    _announce(tool, subject)
    plan = Plan(
        timeout_s=arguments.timeout,
        budget_s=arguments.budget,
        jobs=arguments.jobs,
        told=_tell,
        examine=_examiner(settings),
    )
    session = Session(root, tool, subject, analysis.report, analysis.contents, plan)
    return _act(arguments, session)


def _examiner(settings: Settings) -> Examine:
    def examined(folder: Path, release: str) -> tuple[Report, DumpContents | None]:
        analysis = examine(folder, settings, question=Question(release=release))
        return analysis.report, analysis.contents

    return examined


def _write_report(arguments: argparse.Namespace, report: Report) -> None:
    """The report with the experiments, in the forms asked for."""
    if arguments.html:
        write_output(arguments.html, report_page(report, offline=True).encode())
    if arguments.markdown:
        write_output(arguments.markdown, report_markdown(report).encode())


def _act(arguments: argparse.Namespace, session: Session) -> int:
    """Do all that was asked for, the cheapest first; the exit code is that of the module."""
    steps: tuple[tuple[str, _Step, bool], ...] = (
        ("--prove", _prove, arguments.prove),
        ("--bisect", _bisect, arguments.bisect in ("flags", "passes")),
        ("--bisect releases", _releases, arguments.bisect == "releases"),
        ("--reduce", _reduce, arguments.reduce),
    )
    asked = [(name, step) for name, step, is_asked in steps if is_asked]
    codes = [
        _in_time(name, step, arguments, session)
        for name, step in (("the flags", _settle), *(asked or [("the module", _replay)]))
    ]
    report = session.report
    if asked:
        print_replay(legible(report.replay or _NOTHING), console_for_report(stdout_is_taken=False))
        complain(f"{session.compiled} variants compiled now, the rest was known")
    _write_report(arguments, report)
    return max(codes)


def _in_time(name: str, step: _Step, arguments: argparse.Namespace, session: Session) -> int:
    """Take a step; that the time was up before it is told, and what was found until then stands."""
    try:
        return step(arguments, session)
    except OutOfBudget:
        words = f"the time was up before this was tried: {name}"
        session.remark(words)
        complain(f"{words} (--budget)")
        return _TIMED_OUT


def _settle(_: argparse.Namespace, session: Session) -> int:
    for tried in session.settle_flags():
        print(f"{tried.name}: {' '.join(tried.flags)}")
        print(f"  {tried.outcome} {_safe(tried.words)}")
    return 0


def _replay(arguments: argparse.Namespace, session: Session) -> int:
    attempt = session.compile(Path(arguments.keep) if arguments.keep else None)
    _print_attempt(attempt, session)
    if arguments.json:
        same = session.same and msgspec.to_builtins(session.same)
        write_json(arguments.json, asdict(attempt) | {"same": same})
    if attempt.kind == Kind.TIME:
        return _TIMED_OUT
    return int(attempt.kind != Kind.COMPILES)


def _bisect(arguments: argparse.Namespace, session: Session) -> int:
    if arguments.bisect == "flags":
        found = session.bisect_flags(parse_flags(_dashed(arguments.more)))
    else:
        found = session.bisect_passes()
    _print_bisection(found)
    if arguments.json and not arguments.prove:
        write_json(arguments.json, _bisection_as_json(found, session))
    return int(found.baseline.kind != Kind.COMPILES)


def _reduce(arguments: argparse.Namespace, session: Session) -> int:
    found = session.reduce(arguments.out, lambda kind, size: complain(f"{size} left: {kind}"))
    if found is None:
        attempt = session.compile()
        _print_attempt(attempt, session)
        print("nothing to reduce: the failure does not come back")
        return int(attempt.kind != Kind.COMPILES)
    write_output(arguments.out, found.text.encode("utf-8", "surrogateescape"))
    rest = "" if found.is_minimal else " (the time was up: more may go)"
    print(f"{found.before} instructions before, {found.after} after{rest}: {arguments.out}")
    return 1


def _releases(arguments: argparse.Namespace, session: Session) -> int:
    """Every installed release; the failure is the log's, or that of the release chosen."""
    table = session.try_releases()
    complain("tried are the releases installed; hloscope replay --install R adds one")
    if arguments.json and not arguments.prove:
        write_json(arguments.json, _releases_as_json(table, session))
    return int(bool(table.bad))


def _prove(arguments: argparse.Namespace, session: Session) -> int:
    baseline = session.prove()[0].attempt
    if arguments.json:
        write_output(arguments.json, report_to_json(session.report, indent=1) + b"\n")
    return int(baseline is not None and baseline.kind != Kind.COMPILES)


def _install(root: Path, release: str, *, tpu: bool) -> int:
    packages = ", ".join(packages_of(release, tpu=tpu))
    size = GIGABYTES + (TPU_GIGABYTES if tpu else 0)
    complain(f"installs into {root}, about {size:.1f} GB: {packages}")
    made = install(root, release, tpu=tpu)
    print(f"jaxlib {made.release} is ready for replays")
    return 0


def _release(given: str | None, report: Report, root: Path) -> str:
    """The release asked for, or the newest installed one that fits the dump.

    Raises:
        UsageError: none was asked for and none that fits is installed.
    """
    if given is not None:
        return given
    fitting = report.environment.jaxlib.releases
    here = [release for release in installed(root) if release in fitting]
    if here:
        return here[-1]
    fits = f"the dump fits {', '.join(fitting[-5:])}" if fitting else "the dump names none"
    raise UsageError(
        f"no release was given, and {fits}, of which none is installed",
        next_step="Give --release R; hloscope replay --install R installs one.",
    )


def _announce(tool: Toolchain, subject: Subject) -> None:
    _, dropped = flags_for(tool.release, subject.flags)
    complain(
        f"{subject.file}: {subject.replicas} x {subject.partitions} devices, {subject.backend}, "
        f"jaxlib {tool.release}"
    )
    if not subject.flags:
        complain("the run's flags are not known (--flags): the defaults are tried")
    if dropped:
        complain(f"{tool.release} does not know, so dropped: {', '.join(dropped)}")


def _tell(name: str, attempt: Attempt) -> None:
    complain(f"{attempt.seconds:6.1f} s  {attempt.kind.value:16} {name}")


def _print_attempt(attempt: Attempt, session: Session) -> None:
    print(f"{attempt.kind.value} ({attempt.seconds:.1f} s)")
    if attempt.words:
        print(f"  {_safe(attempt.words)}")
    if attempt.kind == Kind.ANOTHER and session.signature:
        print(f"  looked for: {_safe(session.signature)}")
    if attempt.kind == Kind.SAME and session.same:
        print(f"  {session.same.confidence}: {_safe(session.same.how)}")
    for remark in session.remarks:
        print(f"  {_safe(remark)}")


def _print_bisection(found: Bisection) -> None:
    print(f"as the run had it: {found.baseline.kind.value}")
    if found.baseline.words:
        print(f"  {_safe(found.baseline.words)}")
    if found.baseline.kind != Kind.SAME:
        print("nothing to bisect: the failure does not come back")
        return
    for part in (found.together, found.needed):
        if part is not None and not part.is_minimal:
            print("the time was up before the smallest set was found: perhaps fewer will do")


def _bisection_as_json(found: Bisection, session: Session) -> dict[str, object]:
    replay = session.report.replay
    return {
        "schema_version": 1,
        "release": session.tool.release,
        "signature": found.signature,
        "same": session.same and msgspec.to_builtins(session.same),
        "baseline": asdict(found.baseline),
        "cures": found.cures,
        "irrelevant": found.irrelevant,
        "untried": found.untried,
        "together": found.together and asdict(found.together),
        "needed": found.needed and asdict(found.needed),
        "variants": [
            {"name": r.variant.name, "attempt": r.attempt and asdict(r.attempt)}
            for r in found.results
        ],
        "experiments": [msgspec.to_builtins(each) for each in replay.experiments] if replay else [],
    }


def _releases_as_json(table: ReleaseTable, session: Session) -> dict[str, object]:
    replay = session.report.replay
    span = replay.releases if replay else None
    return {
        "schema_version": 1,
        "release": session.tool.release,
        "signature": session.signature,
        "same": session.same and msgspec.to_builtins(session.same),
        "releases": span and msgspec.to_builtins(span),
        "words": span_words(span) if span else (),
        "rows": [asdict(row) for row in table.rows],
    }


def _safe(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def _dashed(words: str) -> str:
    # A word that starts with dashes would be an option of ours.
    return " ".join(word if word.startswith("-") else f"--{word}" for word in words.split())
