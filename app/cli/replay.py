"""`hloscope replay DUMP`: compiles its module again, with no GPU, and bisects its failure."""

import argparse
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from app.cli.analyze import log_of, text_or_file
from app.cli.arguments import Commands
from app.cli.output import complain, write_json, write_output
from app.errors import UsageError
from app.ingest.flags import parse_flags
from app.model.codec import report_to_json
from app.model.dump import DumpContents
from app.model.report import Report
from app.replay.bisecting import Bisection, bisect_flags, bisect_passes, reproduce
from app.replay.compiling import Attempt, Budget, Kind, compile_once, flag_words, flags_for
from app.replay.experiments import Flags, Laboratory, Result, Variant, compared
from app.replay.passes import names_in_folder, names_of_history, suspect_passes
from app.replay.proving import prove
from app.replay.reduction import Reduction, reduce_module
from app.replay.releases import ReleaseTable, try_releases
from app.replay.search import OutOfBudget
from app.replay.subject import Subject, subject_of
from app.replay.toolchains import GIGABYTES, Toolchain, install, installed, packages_of, toolchain
from app.service import Question, examine
from app.settings import Settings
from hlo_parser import parse_module

_TIMED_OUT = 5
# A dump with fewer texts was made without a filter for passes.
_FEWEST_TEXTS = 3


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "replay",
        help="compile a dump's module again, with no GPU, and bisect its failure",
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
    limits = parser.add_argument_group("limits")
    limits.add_argument("--budget", type=_seconds, default=600.0, metavar="SECONDS")
    limits.add_argument("--timeout", type=_seconds, default=300.0, metavar="SECONDS")
    limits.add_argument("--jobs", type=int, default=0, metavar="N", help="compiles at once")
    tools = parser.add_argument_group("releases to compile with")
    tools.add_argument("--install", metavar="RELEASE", help="install one, and do nothing else")
    tools.add_argument("--list", action="store_true", help="those that are installed")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 where the module compiles, 1 where it fails or something was found, 5 for a time-out."""
    root = settings.replay_dir.expanduser()
    if arguments.list:
        for release in installed(root):
            print(release)
        return 0
    if arguments.install:
        return _install(root, arguments.install)
    if arguments.path is None:
        raise UsageError("no dump to replay", next_step="hloscope replay DUMP --release R")
    question = Question(
        logs=tuple(log_of(name) for name in arguments.log),
        flags=text_or_file(arguments.flags),
        release=arguments.release,
    )
    analysis = examine(Path(arguments.path), settings, question=question)
    if analysis.contents is None:
        raise UsageError("the dump holds no module", place=arguments.path)
    tool = toolchain(root, _release(arguments.release, analysis.report, root))
    target = Path(arguments.target).read_text("utf-8") if arguments.target else ""
    subject = subject_of(
        analysis.contents,
        analysis.report,
        module=arguments.module,
        dump=arguments.text,
        target=target,
    )
    _announce(tool, subject)
    return _Session(arguments, root, tool, subject, analysis.report, analysis.contents).act()


class _Session:
    """One subject on one release, and what the command line asks of it."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        root: Path,
        tool: Toolchain,
        subject: Subject,
        report: Report,
        contents: DumpContents,
    ) -> None:
        self._arguments = arguments
        self._tool = tool
        self._subject = subject
        self._report = report
        self._contents = contents
        self._root = root
        self._signature = report.failure.signature if report.failure else ""
        self._budget = Budget(wall_s=max(1, round(arguments.timeout)))
        self._laboratory = self._laboratory_with(tool)

    def act(self) -> int:
        """Do what was asked for; the exit code."""
        if self._arguments.prove:
            return self._prove()
        if self._arguments.reduce:
            return self._reduce()
        if self._arguments.bisect == "releases":
            return self._releases()
        if self._arguments.bisect:
            return self._bisect()
        return self._replay()

    def _laboratory_with(self, tool: Toolchain) -> Laboratory:
        def compile(subject: Subject, flags: Flags) -> Attempt:
            return compile_once(
                tool, subject, flags, budget=self._budget, signature=self._signature
            )

        return Laboratory(
            tool.release,
            compile,
            self._root / "answers",
            seconds=self._arguments.budget,
            jobs=self._arguments.jobs,
            signature=self._signature,
            told=_tell,
        )

    def _replay(self) -> int:
        subject = self._subject
        if self._arguments.keep:
            attempt = compile_once(
                self._tool,
                subject,
                subject.flags,
                budget=self._budget,
                signature=self._signature,
                keep=Path(self._arguments.keep),
            )
        else:
            attempt, _ = reproduce(self._laboratory, subject, subject.flags, self._signature)
        _print_attempt(attempt, self._signature)
        if self._arguments.json:
            write_json(self._arguments.json, asdict(attempt))
        if attempt.kind == Kind.TIME:
            return _TIMED_OUT
        return int(attempt.kind != Kind.COMPILES)

    def _bisect(self) -> int:
        subject, flags = self._subject, self._subject.flags
        if self._arguments.bisect == "flags":
            found = bisect_flags(
                self._laboratory,
                subject,
                flags,
                signature=self._signature,
                more=parse_flags(_dashed(self._arguments.more)),
            )
        else:
            found = bisect_passes(
                self._laboratory, subject, flags, self._passes(), signature=self._signature
            )
        _print_bisection(found)
        complain(f"{self._laboratory.compiled} compiles, the rest was known")
        if self._arguments.json:
            write_json(self._arguments.json, _bisection_as_json(found, self._tool.release))
        return int(found.baseline.kind != Kind.COMPILES)

    def _reduce(self) -> int:
        subject, flags = self._subject, self._subject.flags
        baseline, signature = reproduce(self._laboratory, subject, flags, self._signature)
        if baseline.kind != Kind.SAME:
            _print_attempt(baseline, self._signature)
            print("nothing to reduce: the failure does not come back")
            return int(baseline.kind != Kind.COMPILES)

        def fails(texts: Sequence[bytes]) -> list[bool]:
            subjects = (replace(subject, data=text, form="text") for text in texts)
            variants = [Variant(f"{len(x.data)} bytes", flags, x) for x in subjects]
            attempts = [result.attempt for result in self._laboratory.try_all(variants)]
            if any(attempt is None for attempt in attempts):
                raise OutOfBudget
            return [compared(a, signature).kind == Kind.SAME for a in attempts if a is not None]

        found = reduce_module(
            parse_module(subject.data),
            fails,
            lambda kind, size: complain(f"{size} left: {kind}"),
            at_once=self._laboratory.jobs,
        )
        if found is None:
            raise UsageError("the module as hloscope prints it does not fail so")
        write_output(self._arguments.out, found.text.encode("utf-8", "surrogateescape"))
        _print_reduction(found, self._arguments.out, flags_for(self._tool.release, flags)[0])
        return 1

    def _releases(self) -> int:
        """Every installed release; the failure is the log's, or that of the release chosen."""
        subject = self._subject
        _, signature = reproduce(self._laboratory, subject, subject.flags, self._signature)
        table = try_releases(
            installed(self._root),
            lambda release: self._laboratory_with(toolchain(self._root, release)),
            subject,
            subject.flags,
            signature,
        )
        _print_releases(table)
        if self._arguments.json:
            write_json(self._arguments.json, [asdict(row) for row in table.rows])
        return int(bool(table.bad))

    def _passes(self) -> tuple[str, ...]:
        """Those of the dump; of one without pass files, those of a replay that writes them."""
        failed = self._report.failure and self._report.failure.module
        history = next((h for h in self._contents.modules if h.id == failed), None)
        names = names_of_history(history or self._contents.modules[0])
        if len(names) < _FEWEST_TEXTS:
            with tempfile.TemporaryDirectory(prefix="hloscope-replay-") as folder:
                compile_once(
                    self._tool,
                    self._subject,
                    self._subject.flags,
                    budget=self._budget,
                    keep=Path(folder),
                )
                names = names_in_folder(Path(folder) / "dump")
        return suspect_passes(self._report.failure, names)

    def _prove(self) -> int:
        report, results = prove(
            self._laboratory,
            self._subject,
            self._subject.flags,
            self._report,
            signature=self._signature,
        )
        _print_results(results)
        if self._arguments.json:
            write_output(self._arguments.json, report_to_json(report, indent=1) + b"\n")
        baseline = results[0].attempt
        return int(baseline is not None and baseline.kind != Kind.COMPILES)


def _install(root: Path, release: str) -> int:
    packages = ", ".join(packages_of(release))
    complain(f"installs into {root}, about {GIGABYTES:.0f} GB: {packages}")
    made = install(root, release)
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
        complain("the run's flags are not known (--flags): these are the defaults")
    if dropped:
        complain(f"{tool.release} does not know, so dropped: {', '.join(dropped)}")


def _tell(name: str, attempt: Attempt) -> None:
    complain(f"{attempt.seconds:6.1f} s  {attempt.kind.value:16} {name}")


def _print_attempt(attempt: Attempt, signature: str) -> None:
    print(f"{attempt.kind.value} ({attempt.seconds:.1f} s)")
    if attempt.words:
        print(f"  {_safe(attempt.words)}")
    if attempt.kind == Kind.ANOTHER and signature:
        print(f"  looked for: {_safe(signature)}")


def _print_bisection(found: Bisection) -> None:
    print(f"as the run had it: {found.baseline.kind.value}")
    if found.baseline.words:
        print(f"  {_safe(found.baseline.words)}")
    if found.baseline.kind != Kind.SAME:
        print("nothing to bisect: the failure does not come back")
        return
    _print_results(found.results)
    for heading, part in (
        ("cures only together", found.together),
        ("fails with these flags alone", found.needed),
    ):
        if part is not None:
            mark = "" if part.is_minimal else " (the time was up: perhaps fewer)"
            print(f"{heading}{mark}: {_safe(' '.join(part.items)) or 'none'}")


def _print_reduction(found: Reduction, file: str, flags: Flags) -> None:
    rest = "" if found.is_minimal else " (the time was up: more may go)"
    print(f"{found.before} instructions before, {found.after} after{rest}: {file}")
    words = shlex.quote(" ".join(flag_words(flags)))
    print(f"  XLA_FLAGS={words} run_hlo_module --platform=CUDA --reference_platform= {file}")
    print(f"  XLA_FLAGS={words} hlo-opt --platform=CUDA {file}")


def _print_releases(table: ReleaseTable) -> None:
    for row in table.rows:
        kind = row.attempt.kind.value if row.attempt else "not tried"
        words = row.attempt.words[:160] if row.attempt else ""
        print(f"  {row.release:8} {kind:16} {_safe(words)}")
        if row.attempt and row.attempt.dropped:
            print(f"  {'':8} without {', '.join(row.attempt.dropped)}")
    print(f"first bad: {table.first_bad or 'none'}; first good after: {table.first_good or 'none'}")
    print("(of the releases installed: hloscope replay --list)")


def _print_results(results: Sequence[Result]) -> None:
    for result in results:
        kind = result.attempt.kind.value if result.attempt else "not tried"
        print(f"  {kind:16} {_safe(result.variant.name)}")
        if result.attempt and result.attempt.kind in (Kind.ANOTHER, Kind.REFUSED):
            print(f"  {'':16}   {_safe(result.attempt.words[:160])}")


def _bisection_as_json(found: Bisection, release: str) -> dict[str, object]:
    return {
        "schema_version": 1,
        "release": release,
        "signature": found.signature,
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
    }


def _safe(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def _dashed(words: str) -> str:
    # A word that starts with dashes would be an option of ours.
    return " ".join(word if word.startswith("-") else f"--{word}" for word in words.split())


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError("must be more than 0")
    return value
