"""`hloscope run -- python train.py`: runs a program with XLA's dump on, and explains how it failed.

The program's output and exit code stay its own. XLA_FLAGS are added to, never changed. A dump that
nobody asked to keep goes when the program succeeds.
"""

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.cli.arguments import Commands, seconds
from app.cli.complaints import complain
from app.cli.output import console_for_report
from app.cli.output_files import check_outputs, write_all
from app.errors import AppError, InputError, NotADump, UsageError
from app.ingest.flags import DumpFlags, with_dump_flags
from app.ingest.log_frames import TIME_IS_UP
from app.ingest.source_lines import read_source_lines
from app.model.codec import report_to_json
from app.model.source_lines import SourceLines
from app.report.html import report_page
from app.report.terminal import print_report
from app.sandbox import ProgramEnd, run_program
from app.service import Analysis, Log, Question, examine
from app.settings import Settings

_TIMED_OUT = 5
_CANNOT_RUN = 126
_NOT_FOUND = 127
_PYTHON = re.compile(r"python[\d.]*")
_ASK_JAXLIB = "from importlib.metadata import version; print(version('jaxlib'))"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where dump and log of a run go; `is_kept` when the user asked for it or named the folder."""

    root: Path
    log: Path
    flags: DumpFlags
    is_kept: bool

    @property
    def dump(self) -> Path | None:
        return None if self.flags.folder is None else Path(self.flags.folder)


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "run",
        help="run a program with XLA's dump on, and explain how it failed",
        description="Runs a program with XLA's dump on. Its output and its exit code stay its own; "
        "when it fails, crashes, is killed or takes too long, dump and output are explained.",
        usage="hloscope run [--keep DIR] [--timeout SECONDS] [--json FILE] [--html FILE] "
        "-- PROGRAM ...",
    )
    parser.add_argument("--keep", metavar="DIR", help="keep the dump and the log there")
    parser.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help="end the program after this time, exit with 5 and explain the hang, with the stacks "
        "of Python",
    )
    parser.add_argument("--json", metavar="FILE", help="write the report of a failure as JSON")
    parser.add_argument("--html", metavar="FILE", help="write it as one self-contained page")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="-- PROGRAM ...")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Run the program; its exit code, 128 + the number of the signal that ended it, or 5."""
    program: list[str] = arguments.program
    command = program[1:] if program[:1] == ["--"] else program
    if not command:
        raise UsageError("no program to run", next_step="hloscope run -- python train.py")
    environ = dict(os.environ)
    given = _given_flags(environ)
    place = _checked_place(arguments, given)
    _announce(place)
    environ["XLA_FLAGS"] = place.flags.text
    environ.setdefault("PYTHONFAULTHANDLER", "1")
    try:
        log = place.log.open("wb", buffering=0)
    except OSError as error:
        raise UsageError(f"cannot write it: {error.strerror}", place=str(place.log)) from error
    with log:
        try:
            end = run_program(
                command,
                environ=environ,
                log=log,
                timeout_s=arguments.timeout,
                time_is_up=f"{TIME_IS_UP}; what has a handler for it shows its stacks (SIGABRT)",
            )
        except OSError as error:
            _discard(place)
            complain(f"{command[0]}: {error.strerror}")
            return _NOT_FOUND if isinstance(error, FileNotFoundError) else _CANNOT_RUN
    for words in end.lost:
        complain(f"{words}: what the program printed is not all there")
    failed = end.timed_out or (end.status != 0 and not end.interrupted)
    complain(_ending(end))
    logs = _logs(place, end)
    dump, release = _dump_left(place), None
    if dump is None and not logs:
        if failed:
            words = "the log is empty" if end.lost else "it printed nothing"
            complain(f"{words}, and XLA left no dump: there is nothing to explain")
        _discard(place)
        return _exit_code(end)
    try:
        if failed:
            release = _jaxlib_of(command, environ)
            question = Question(
                logs=logs,
                flags=given,
                release=release,
                release_how="asked of the program's own Python",
                hung=end.timed_out,
            )
            dump = _explain(dump, question, settings, arguments)
    finally:
        if failed or end.interrupted or place.is_kept:
            _say_where(place, end, dump, _told(given, release))
    if not (failed or end.interrupted):
        _discard(place)
    return _exit_code(end)


def _logs(place: _Place, end: ProgramEnd) -> tuple[Log, ...]:
    """What was printed, if anything; of a death by a signal as a shell would have told it."""
    printed = (Log(str(place.log), file=place.log),) if _has_log(place) else ()
    if end.timed_out or end.status is None or end.status >= 0:
        return printed
    # Two blanks, as a shell has them before what it adds.
    line = f"{_name_of(-end.status)}  (noted by hloscope run: {_word_of(-end.status)})\n"
    try:
        with place.log.open("ab") as file:
            file.write(line.encode())
    except OSError:
        # The disk is full, but the report shall know.
        return *printed, Log("exit", line)
    return (Log(str(place.log), file=place.log),)


def _given_flags(environ: Mapping[str, str]) -> str:
    """The user's own flags; XLA_FLAGS may name a file (xla/parse_flags_from_env.cc)."""
    value = environ.get("XLA_FLAGS", "").strip()
    if not value or value.startswith("-"):
        return value
    try:
        return " ".join(Path(value).read_text("utf-8").split())
    except OSError as error:
        raise UsageError(
            f"XLA_FLAGS names a file that cannot be read: {error.strerror}", place=value
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError("XLA_FLAGS names a file that is not UTF-8", place=value) from error


def _place(keep: str | None, given: str) -> _Place:
    if keep is None:
        root = Path(tempfile.mkdtemp(prefix="hloscope-run-"))
    else:
        root = Path(keep).absolute()
        try:
            root.mkdir(parents=True, exist_ok=True)
            is_used = any(root.iterdir())
        except OSError as error:
            raise UsageError(f"cannot make or read it: {error.strerror}", place=keep) from error
        if is_used:
            raise UsageError(
                "the folder is not empty", place=keep, next_step="Name a new one for each run."
            )
    flags = with_dump_flags(given, str(root / "dump"))
    return _Place(root, root / "run.log", flags, keep is not None)


def _checked_place(arguments: argparse.Namespace, given: str) -> _Place:
    """The place, once it is there that the files asked for can be written: they may go into it."""
    place = _place(arguments.keep, given)
    try:
        check_outputs(arguments.json, arguments.html)
    except UsageError:
        _discard(place)
        raise
    return place


def _announce(place: _Place) -> None:
    own = place.dump is not None and not place.dump.is_relative_to(place.root)
    complain(
        f"XLA_FLAGS += {' '.join(place.flags.added) or 'nothing, a dump is on already'}\n"
        "  XLA writes the program's text after each pass: some seconds for each compile and, for\n"
        "  a large model, a few hundred megabytes. Once it is compiled nothing is slower. Python\n"
        "  prints its stacks if it crashes or its time is up (PYTHONFAULTHANDLER=1)."
    )
    if place.dump is None:
        complain("your XLA_FLAGS send the dump to standard output: only the log can be explained")
    elif own and place.dump.is_dir() and any(place.dump.iterdir()):
        complain(f"{place.dump}: holds files already; what other runs left is read, too")


def _ending(end: ProgramEnd) -> str:
    after = f"after {end.seconds:.1f} s"
    if end.timed_out and end.left:
        pids = ", ".join(map(str, end.left))
        return (
            f"the program's time was up {after}, but what runs as another user cannot be ended: "
            f"process {pids} runs on. End it as that user, such as by sudo kill"
        )
    if end.timed_out:
        return f"the program was ended {after}: its time was up"
    if end.interrupted:
        return f"the program was interrupted {after}"
    if end.status is not None and end.status < 0:
        return f"the program died {after}: {_word_of(-end.status)}"
    return f"the program ended {after} with exit code {end.status}"


def _explain(
    dump: Path | None, question: Question, settings: Settings, arguments: argparse.Namespace
) -> Path | None:
    """Print the report, and write the files asked for; the dump, if it could be read.

    What cannot be explained or written is complained of: the exit code stays the program's.
    """
    try:
        analysis = _analysis(dump, question, settings)
    except AppError as error:
        complain(f"it cannot be explained: {error}")
        return None if isinstance(error, NotADump) else dump
    near = [Path.cwd(), *(log.file.parent for log in question.logs if log.file is not None)]
    snippets = read_source_lines(analysis.report, near)
    try:
        write_all(_outputs(arguments, analysis, snippets))
    except UsageError as error:
        complain(str(error))
    finally:
        # Standard output is the program's.
        console = console_for_report(stdout_is_taken=True)
        print_report(analysis.report, console, source_lines=snippets)
    return None if analysis.contents is None else dump


def _outputs(
    arguments: argparse.Namespace, analysis: Analysis, snippets: SourceLines
) -> Iterator[tuple[str, bytes]]:
    if arguments.json:
        yield arguments.json, report_to_json(analysis.report, indent=1) + b"\n"
    if arguments.html:
        page = report_page(
            analysis.report, offline=True, source_lines=snippets, diffs=analysis.event_diffs()
        )
        yield arguments.html, page.encode("utf-8", "backslashreplace")


def _analysis(dump: Path | None, question: Question, settings: Settings) -> Analysis:
    if dump is None:
        complain("XLA left no dump: nothing was compiled, or it died before")
        return examine(None, settings, question=question)
    try:
        return examine(dump, settings, question=question)
    except InputError as error:
        if not question.logs:
            raise
        complain(f"the dump cannot be read, so only the log is explained: {error}")
        return examine(None, settings, question=question)


def _jaxlib_of(command: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """The release that the program's own Python has, None where it is not that simple."""
    if not _PYTHON.fullmatch(Path(command[0]).name):
        return None
    try:
        asked = subprocess.run(
            [command[0], "-c", _ASK_JAXLIB],
            env=dict(environ),
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout.strip() or None if asked.returncode == 0 else None


def _dump_left(place: _Place) -> Path | None:
    """The folder of the dump, if there is anything in it."""
    dump = place.dump
    return dump if dump is not None and dump.is_dir() and any(dump.iterdir()) else None


def _has_log(place: _Place) -> bool:
    # The program may have taken it away.
    return place.log.is_file() and place.log.stat().st_size > 0


def _told(flags: str, release: str | None) -> list[str]:
    """What the run knew beside dump and log, as options."""
    # In one word: a flag by itself would be taken for one of our own.
    words = [f"--flags={flags}"] if flags else []
    return [*words, "--release", release] if release else words


def _say_where(place: _Place, end: ProgramEnd, dump: Path | None, told: Sequence[str]) -> None:
    """The command that explains it again, as a shell takes it, of what is there."""
    words = ["hloscope", "analyze"]
    if dump is not None:
        words.append(str(dump))
    if _has_log(place):
        words += ["--log", str(place.log)]
    elif dump is None:
        return
    if end.timed_out:
        words.append("--hung")
    words += told
    complain(f"kept for another look: {shlex.join(words)}")
    if end.interrupted:
        complain("add --hung if it hung")


def _discard(place: _Place) -> None:
    if not place.is_kept:
        shutil.rmtree(place.root, ignore_errors=True)


def _exit_code(end: ProgramEnd) -> int:
    if end.timed_out or end.status is None:
        return _TIMED_OUT
    return 128 - end.status if end.status < 0 else end.status


def _word_of(number: int) -> str:
    """`SIGKILL`; of the real-time signals only the first and the last have a name."""
    known = [entry.name for entry in signal.Signals if entry == number]
    return known[0] if known else f"signal {number}"


def _name_of(number: int) -> str:
    return signal.strsignal(number) or _word_of(number)
