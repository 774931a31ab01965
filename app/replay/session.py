"""One module on one release, and all that is asked of it: the one door to replays.

Given a dump as read and the report on it; gives the report with the experiments, verdicts and the
reduced module in it. Command line and jobs share it. How a variant's own dump is analysed is the
caller's, as `examine`, since that stands above this room.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from app.errors import UsageError
from app.model.dump import DumpContents, ModuleHistory
from app.model.experiments import (
    Effects,
    Experiment,
    InferredFlag,
    Question,
    ReducedModule,
    Replay,
    Sameness,
)
from app.model.report import Report
from app.replay.bisecting import Bisection, bisect_flags, bisect_passes
from app.replay.compiling import Budget, compile_once
from app.replay.experiments import Flags, Laboratory, Result, Variant, compared
from app.replay.implied import inferred_flags, untimed_flags
from app.replay.older import OF_TEXT
from app.replay.outcome import Attempt, Kind
from app.replay.passes import last_pass, names_in_folder, names_of_history, suspect_passes
from app.replay.plan import Plan
from app.replay.proving import prove
from app.replay.reading import Reader
from app.replay.recording import (
    BASELINE,
    DEFAULTS,
    IMPLIED,
    experiment_of,
    reduced_module,
    target_words,
)
from app.replay.reduction import Reduction, blamed_lines, reduce_module
from app.replay.reference import FEWEST_TEXTS, Reference
from app.replay.releases import ReleaseTable, try_releases
from app.replay.sameness import is_wordless, with_last_pass
from app.replay.search import OutOfBudget
from app.replay.silent import compile_to_the_last_pass
from app.replay.subject import Subject
from app.replay.toolchains import Toolchain, installed, toolchain
from app.replay.weighing import weighed
from app.report.releases_tried import span_of
from hlo_parser import parse_module

# Each is one more compile and an analysis.
_MOST_WEIGHED = 8


@dataclass(slots=True)
class _Found:
    experiments: list[Experiment] = field(default_factory=list[Experiment])
    needed: tuple[str, ...] | None = None
    together: tuple[str, ...] | None = None
    remarks: list[str] = field(default_factory=list[str])
    reduced: ReducedModule | None = None
    inferred: tuple[InferredFlag, ...] = ()


class Session:
    """What is asked of one subject, step by step; `report` holds all that was found until then."""

    def __init__(
        self,
        root: Path,
        tool: Toolchain,
        subject: Subject,
        report: Report,
        contents: DumpContents,
        plan: Plan,
    ) -> None:
        self.tool = tool
        self.subject = subject
        self._root = root
        self._report = report
        self._contents = contents
        self._plan = plan
        self._budget = Budget(wall_s=max(1, round(plan.timeout_s)))
        self._found = _Found()
        self._flags_known = bool(subject.flags)
        self._name = BASELINE
        self._reference = Reference(report, self._history, tool.release)
        self._dumped = subject
        self._reader = self._reader_of(tool)
        self._compiles: list[Laboratory] = []
        self.laboratory = self._laboratory_with(self._reader, tool.release)

    @property
    def signature(self) -> str:
        """The failure looked for: the log's, else the first that a compile showed, else ""."""
        return self._reference.signature

    @property
    def same(self) -> Sameness | None:
        """How sure it is that the failure looked for came back; None where it did not."""
        return self._reference.same

    @property
    def report(self) -> Report:
        """The report with what was found."""
        subject, found = self.subject, self._found
        done = Replay(
            module=subject.module,
            file=subject.file,
            release=self.tool.release,
            signature=self.signature,
            same=self.same,
            target=target_words(self.tool, self.subject),
            flags=tuple(f"--{name}={value}" for name, value in subject.flags.items()),
            flags_known=self._flags_known,
            experiments=tuple(found.experiments),
            needed=found.needed,
            together=found.together,
            reduced=found.reduced,
            releases=span_of(found.experiments),
            inferred=found.inferred,
            remarks=self.remarks,
        )
        return msgspec.structs.replace(self._report, replay=done)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What could not be done, or was done in another way."""
        return tuple(self._found.remarks)

    @property
    def compiled(self) -> int:
        """How many variants were compiled in this session, and not known from before."""
        return sum(laboratory.compiled for laboratory in self._compiles)

    def remark(self, words: str) -> None:
        """Have the report say what could not be done."""
        self._found.remarks.append(words)

    def settle_flags(self) -> tuple[Experiment, ...]:
        """Where the run's flags are not known, find some to go on with; what was tried for that.

        The defaults are tried, then those that the passes of the dump imply, which are taken for
        the run's where the failure comes back with them.
        """
        if self._flags_known or self.subject.backend != "GPU":
            return ()
        plain = untimed_flags(self.tool.release)
        inferred = inferred_flags(
            names_of_history(self._history), self._report.failure, self.tool.release
        )
        implied = plain | {each.flag: "true" for each in inferred}
        first = len(self._found.experiments)
        for name, flags in ((DEFAULTS, plain), (IMPLIED, implied)):
            if name == IMPLIED:
                if not inferred:
                    break
                self._found.inferred = inferred
            variant = Variant(name, flags, self.subject)
            attempt = self._met(variant)
            self._note("baseline", [Result(variant, attempt)])
            if name == DEFAULTS or attempt.kind == Kind.SAME:
                self.subject, self._name = replace(self.subject, flags=flags), name
        return tuple(self._found.experiments[first:])

    def compile(self, keep: Path | None = None) -> Attempt:
        """The module with the flags of the run, its log and dump kept where told."""
        if keep is None:
            return self._baseline()
        attempt = self._kept(keep)
        if attempt.kind == Kind.REFUSED and self._baseline().kind != Kind.REFUSED:
            attempt = self._kept(keep)  # in the form that this release reads
        variant = Variant(self._name, self.subject.flags, self.subject)
        self._note("baseline", [Result(variant, attempt)])
        return attempt

    def _kept(self, keep: Path) -> Attempt:
        subject = self.subject
        attempt = compile_once(
            self.tool,
            subject,
            subject.flags,
            budget=self._budget,
            signature=self._reference.of_log,
            keep=keep,
        )
        name = last_pass(names_in_folder(keep / "dump"))
        if is_wordless(attempt.signature):
            attempt = replace(attempt, signature=with_last_pass(attempt.signature, name))
        return self._reference.meet(attempt, _flags_called(self._name), lambda: name)

    def prove(self) -> tuple[Result, ...]:
        """Try what the report's workarounds and suspicions name; the run's own flags first."""
        self._baseline()
        self._report, results = prove(
            self.laboratory,
            self.subject,
            self.subject.flags,
            self._report,
            signature=self.signature,
            first=len(self._found.experiments),
        )
        self._note("workaround", results[1:])
        return results

    def bisect_flags(self, more: Flags) -> Bisection:
        """Each flag turned or left out, and what `more` adds."""
        self._baseline()
        found = bisect_flags(
            self.laboratory, self.subject, self.subject.flags, signature=self.signature, more=more
        )
        self._note_bisection("flags", found)
        return found

    def bisect_passes(self) -> Bisection:
        """Each pass switched off, the likeliest first."""
        self._baseline()
        found = bisect_passes(
            self.laboratory,
            self.subject,
            self.subject.flags,
            self._passes(),
            signature=self.signature,
        )
        self._note_bisection("passes", found)
        return found

    def try_releases(self) -> ReleaseTable:
        """Every installed release; the failure is the log's, or that of the session's release."""
        self._baseline()
        # Each release reads what the dump has, or is given what it reads itself.
        subject = replace(self._dumped, flags=self.subject.flags)
        laboratories = {
            release: self._laboratory_with(self._reader_of(toolchain(self._root, release)), release)
            for release in installed(self._root)
        }
        table = try_releases(
            tuple(laboratories), laboratories.__getitem__, subject, subject.flags, self.signature
        )
        for row in table.rows:
            result = Result(Variant(row.release, subject.flags, subject), row.attempt)
            self._note("releases", [result], laboratories[row.release])
        return table

    def reduce(self, name: str, told: Callable[[str, int], None] | None = None) -> Reduction | None:
        """A small module with the same failure; None where the failure does not come back.

        Lines of the program that the report blames stay.

        Raises:
            UsageError: the module is not understood in full, or fails no more as we print it.
            OutOfBudget: the time was up before anything was tried.
        """
        if self._baseline().kind != Kind.SAME:
            return None
        subject, flags, signature = self.subject, self.subject.flags, self.signature

        def fails(texts: Sequence[bytes]) -> list[bool]:
            subjects = (replace(subject, data=text, form="text") for text in texts)
            variants = [Variant(f"{len(x.data)} bytes", flags, x) for x in subjects]
            attempts = [result.attempt for result in self.laboratory.try_all(variants)]
            if any(attempt is None for attempt in attempts):
                raise OutOfBudget
            return [compared(a, signature).kind == Kind.SAME for a in attempts if a is not None]

        found = reduce_module(
            parse_module(subject.data),
            fails,
            told,
            at_once=self.laboratory.jobs,
            lines=blamed_lines(self._report),
        )
        if found is None:
            raise UsageError("the module as hloscope prints it does not fail so")
        self._found.reduced = reduced_module(
            found, name=name, release=self.tool.release, subject=subject
        )
        return found

    @property
    def _history(self) -> ModuleHistory:
        return next(h for h in self._contents.modules if h.id == self.subject.module)

    def _baseline(self) -> Attempt:
        subject = self.subject
        variant = Variant(self._name, subject.flags, subject)
        attempt = self._met(variant)
        self._note("baseline", [Result(variant, attempt)])
        return attempt

    def _met(self, variant: Variant) -> Attempt:
        """The module as the run had it, as far as is known; its failure is looked for henceforth.

        Raises:
            OutOfBudget: the time is up.
        """

        def ends() -> str:
            readable = self._reader.readable(variant.subject)
            return compile_to_the_last_pass(
                self.tool, readable, variant.flags, budget=self._budget
            )[1]

        attempt = self.laboratory.try_one(variant)
        self._read_from_here_on(attempt)
        return self._reference.meet(attempt, _flags_called(variant.name), ends)

    def _note_bisection(self, question: Question, found: Bisection) -> None:
        variant = Variant(self._name, self.subject.flags, self.subject)
        self._note("baseline", [Result(variant, found.baseline)])
        self._note(question, found.results)
        if found.needed is not None:
            self._found.needed = found.needed.items
        if found.together is not None:
            self._found.together = found.together.items

    def _note(
        self, question: Question, results: Sequence[Result], laboratory: Laboratory | None = None
    ) -> None:
        used = laboratory or self.laboratory
        known = {e.name for e in self._found.experiments if e.question == "baseline"}
        if question == "baseline" and any(r.variant.name in known for r in results):
            return
        left = 0 if question == "baseline" else _MOST_WEIGHED
        for result in results:
            effects = None
            if result.attempt and result.attempt.kind == Kind.COMPILES and left:
                effects, left = used.effects(result.variant), left - 1
            self._found.experiments.append(
                experiment_of(
                    question,
                    result,
                    release=used.release,
                    flags=self.subject.flags,
                    effects=effects,
                )
            )

    def _read_from_here_on(self, attempt: Attempt) -> None:
        """Where the release reads an older form alone, all that follows is made from that."""
        gone = tuple(name for name in attempt.dropped if name.startswith(OF_TEXT))
        if self.subject.data != self._dumped.data or not gone:
            return
        readable = self._reader.in_older_form()
        self.subject = replace(self.subject, data=readable.data)
        listed = ", ".join(name.removeprefix(OF_TEXT) for name in gone)
        self.remark(
            f"jaxlib {self.tool.release} does not read this text; it was given the same module in"
            f" an older form, without: {listed}."
        )

    def _tell(self, name: str, attempt: Attempt) -> None:
        # Without a log, the first failure is the one that is looked for.
        self._plan.told(name, compared(attempt, self.signature or attempt.signature))

    def _reader_of(self, tool: Toolchain) -> Reader:
        return Reader(tool, self._dumped, self._budget, self._reference.of_log)

    def _laboratory_with(self, reader: Reader, release: str) -> Laboratory:
        def weigh(subject: Subject, flags: Flags) -> Effects | None:
            examine = self._plan.examine
            if examine is None:
                return None
            return weighed(reader, subject, flags, budget=self._budget, examine=examine)

        made = Laboratory(
            release,
            reader.compile,
            self._root / "answers",
            seconds=self._plan.budget_s,
            jobs=self._plan.jobs,
            signature=self._reference.of_log,
            told=self._tell,
            weigh=weigh,
        )
        self._compiles.append(made)
        return made

    def _passes(self) -> tuple[str, ...]:
        """Those of the dump; of one without pass files, those of a replay that writes them."""
        names = names_of_history(self._history)
        if len(names) < FEWEST_TEXTS:
            with tempfile.TemporaryDirectory(prefix="hloscope-replay-") as folder:
                keep, flags = Path(folder), self.subject.flags
                compile_once(self.tool, self.subject, flags, budget=self._budget, keep=keep)
                names = names_in_folder(keep / "dump")
        return suspect_passes(self._report.failure, names)


def _flags_called(name: str) -> str:
    return "the flags of the run" if name == BASELINE else name
