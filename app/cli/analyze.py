"""`hloscope analyze PATH`: the report on a dump, a log, or both, in the terminal and as files."""

import argparse
import shlex
import sys
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from app.cli.arguments import Commands
from app.cli.commands import COMMANDS
from app.cli.complaints import complain
from app.cli.inputs import text_or_file
from app.cli.output import console_for_report
from app.cli.output_files import check_outputs, write_all
from app.errors import AppError, NotADump, UsageError
from app.ingest.log_text import log_text
from app.ingest.source_lines import read_source_lines
from app.model.report import Report
from app.model.source_lines import SourceLines
from app.report.forms import ReportForm, in_form
from app.report.terminal import print_report
from app.report.wording import AT_OR_ABOVE
from app.service import Analysis, Log, Question, examine
from app.settings import Settings

_CHUNK_BYTES = 1 << 20
FORMS: dict[str, ReportForm] = {
    "json": "json",
    "html": "html",
    "markdown": "md",
    "thread": "thread",
    "sarif": "sarif",
    "junit": "junit",
    "github": "github",
    "gitlab": "gitlab",
}
"""Options that name a file, and what goes into it."""


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "analyze",
        help=COMMANDS["analyze"],
        description="Explains a dump (folder, .tar, .tar.gz, .tar.zst, .zip, one text, or - for "
        "standard input) and the log of the failed run.",
    )
    parser.add_argument("path", nargs="?", metavar="PATH", help="may be left out with --log")
    parser.add_argument("--log", action="append", default=[], metavar="FILE", help="repeatable")
    parser.add_argument("--flags", default="", metavar="TEXT|@FILE", help="the run's XLA_FLAGS")
    parser.add_argument("--release", metavar="R", help="the run's jaxlib release")
    parser.add_argument("--hung", action="store_true", help="the run was killed because it hung")
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON (- is stdout)")
    parser.add_argument("--html", metavar="FILE", help="write one self-contained page")
    parser.add_argument("--markdown", metavar="FILE", help="write a summary")
    parser.add_argument("--thread", metavar="FILE", help="write the first post of a bug thread")
    for_ci = parser.add_argument_group("for CI")
    for_ci.add_argument("--sarif", metavar="FILE", help="write SARIF 2.1.0 for code scanning")
    for_ci.add_argument("--junit", metavar="FILE", help="write JUnit XML, one test case a rule")
    for_ci.add_argument("--github", metavar="FILE", help="write annotations of GitHub Actions")
    for_ci.add_argument("--gitlab", metavar="FILE", help="write a code quality report of GitLab")
    for_ci.add_argument(
        "--root",
        default="",
        metavar="DIR",
        help="where the repository was when the program ran; paths are shown relative to it",
    )
    parser.add_argument(
        "--fail-on",
        choices=tuple(AT_OR_ABOVE),
        default="error",
        help="exit with 1 from this severity on (default: error)",
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with 3 if any text was not understood"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Analyse, write what was asked for, print the rest; 1 when findings reach `--fail-on`."""
    targets: list[str] = [t for t in map(vars(arguments).get, FORMS) if t]
    if targets.count("-") > 1:
        raise UsageError("only one output can go to standard output")
    check_outputs(*targets)
    question = Question(
        logs=tuple(log_of(name) for name in arguments.log),
        flags=text_or_file(arguments.flags),
        release=arguments.release,
        hung=arguments.hung,
    )
    with _source(arguments.path) as source:
        name = "stdin" if arguments.path == "-" else ""
        with _log_told_apart(arguments.path, arguments.log):
            analysis = examine(source, settings, question=question, name=name)
        near = [source.parent] if source is not None and arguments.path != "-" else []
    report = analysis.report
    for log in question.logs:
        if not (log.text or (log.file is not None and log.file.stat().st_size)):
            complain(f"{log.name}: the log is empty")
    snippets = read_source_lines(report, [*near, *(Path(log).parent for log in arguments.log)])
    console = console_for_report(stdout_is_taken="-" in targets)
    try:
        write_all(_outputs(arguments, analysis, snippets))
    finally:
        print_report(report, console, source_lines=snippets)
    return exit_code(report, fail_on=arguments.fail_on, strict=arguments.strict)


def _outputs(
    arguments: argparse.Namespace, analysis: Analysis, snippets: SourceLines
) -> Iterator[tuple[str, bytes]]:
    """The files asked for, each with what it is to hold, which is made only then."""
    for name, form in FORMS.items():
        if target := vars(arguments)[name]:
            text, _ = in_form(
                analysis.report,
                form,
                root=arguments.root,
                fail_on=arguments.fail_on,
                source_lines=snippets,
                diffs=analysis.event_diffs() if form == "html" else (),
            )
            yield target, text.encode("utf-8", "backslashreplace")


def exit_code(report: Report, *, fail_on: str, strict: bool) -> int:
    """0, or 1 for a finding at or above `fail_on` that is not ruled out.

    Raises:
        NotADump: `strict` was asked for and some text was not understood.
    """
    if strict and report.coverage.unparsed_lines:
        first = report.coverage.unparsed[0]
        raise NotADump(
            f"{report.coverage.unparsed_lines} lines were not understood",
            place=f"{first.file}:{first.line}",
            next_step="Run without --strict to have the report all the same.",
            code="not_understood",
        )
    unknown = [r for r in report.coverage.remarks if r.startswith("unknown_")]
    if strict and unknown:
        raise NotADump(
            unknown[0],
            next_step="Run without --strict to have the report all the same.",
            code="not_understood",
        )
    failed = any(
        f.severity in AT_OR_ABOVE[fail_on] and f.confidence != "ruled_out" for f in report.findings
    )
    return int(failed)


@contextmanager
def _log_told_apart(path: str | None, logs: Sequence[str]) -> Generator[None]:
    """Say how the file `path` is given as a log where it, and none of `logs`, is refused."""
    try:
        yield
    except NotADump as error:
        if error.code != NotADump.default_code or path in (None, "-") or error.place in logs:
            raise
        command = f"hloscope analyze --log {shlex.quote(str(path))}"
        raise NotADump(
            error.cause,
            place=error.place,
            next_step=f"Give the folder of --xla_dump_to; if this is the log of a run: {command}",
        ) from error


@contextmanager
def _source(path: str | None) -> Generator[Path | None]:
    """The dump to read; standard input is kept in a file, for a zip must be read from its end.

    Errors name standard input, and not that file.
    """
    if path != "-":
        yield Path(path) if path is not None else None
        return
    with tempfile.NamedTemporaryFile(prefix="hloscope-") as kept:
        while chunk := sys.stdin.buffer.read(_CHUNK_BYTES):
            kept.write(chunk)
        kept.flush()
        try:
            yield Path(kept.name)
        except AppError as error:
            for name in (kept.name, Path(kept.name).name):
                error.place = error.place.replace(name, "stdin")
            raise


def log_of(name: str) -> Log:
    """The log in a file, or on standard input for `-`."""
    if name == "-":
        return Log(name, log_text(sys.stdin.buffer.read(), name))
    return Log(name, file=Path(name))
