"""The one door to an analysis: the command line, the server and the workers all go through it.

Bytes come in (an archive, a folder, logs, flags as text), a `Report` goes out. What each step does
stands in its own room; here they are put in order.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from msgspec import structs

from app.analysis.bends import find_bends
from app.analysis.collectives import find_collectives
from app.analysis.comparison import Analysed, compare
from app.analysis.comparison_texts import Texts
from app.analysis.diff import Differ
from app.analysis.environment import environment_of
from app.analysis.failure_class import diagnose
from app.analysis.history import describe_dumps
from app.analysis.locate import locate_failure
from app.analysis.loop_history import LoopReaders, follow_loops
from app.analysis.memory import estimate_memory, find_memory
from app.analysis.meshes import find_meshes
from app.analysis.policy import hold_against
from app.analysis.policy_file import Check
from app.analysis.program_lines import program_lines
from app.analysis.ranks import compare_loaded
from app.analysis.release_given import remarks_on_release
from app.analysis.source_repair import SourceRepairer, source_coverage
from app.analysis.sources import renumbered_texts
from app.analysis.summaries import summarize_loops
from app.analysis.work import WorkReader, measure_work
from app.errors import NotADump, UsageError
from app.ingest import Progress, load_dump, merge_logs, quiet, read_log, read_log_file
from app.ingest.collection import collection_paused
from app.ingest.flags import parse_flags, remarks_on_flags
from app.ingest.report_file import read_report
from app.model.dump import DumpContents, LogFacts, ModuleHistory
from app.model.facts import Facts, LoopHistory, MemoryProfile
from app.model.mesh import Mesh
from app.model.policy import PolicyResult
from app.model.ranks import RankComparison
from app.model.report import Collective, Coverage, Environment, Input, Module, Report, Tool
from app.model.work import Work
from app.report.event_diffs import EventDiff, event_diffs_of_histories
from app.report.first_words import words_of_facts, words_of_input
from app.rules.frame import load_rules, run_rules
from app.settings import Settings
from app.views.comparison import ComparisonView, comparison_view

# Read with this module: the first analysis of a server is as quick as its second.
_RULES = load_rules()

_RELEASE = re.compile(r"\d{1,4}(?:\.\d{1,6}){1,3}(?:[.+-]?[A-Za-z]\w{0,20})*")


@dataclass(frozen=True, slots=True)
class Log:
    """One log as given: its name for the report, and its text or the file that holds it.

    A file is read piece by piece, whatever its size.
    """

    name: str
    text: str = ""
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What is known of the run beside the dump.

    `flags` is the text of XLA_FLAGS, `release` the jaxlib release, where neither dump nor log
    holds them, and `release_how` how that is known; `hung` says that the run was killed because it
    hung.
    """

    logs: tuple[Log, ...] = ()
    flags: str = ""
    release: str | None = None
    release_how: str = "given by the user"
    hung: bool = False


@dataclass(frozen=True, slots=True)
class Analysis:
    """A report and the contents it was made from (None when only logs were given)."""

    report: Report
    contents: DumpContents | None

    def event_diffs(self) -> tuple[EventDiff, ...]:
        """What the passes changed that rewrote loops, for a page without texts."""
        return event_diffs_of_histories(self.report, self.contents.modules if self.contents else ())


def analyze(
    source: Path | None,
    settings: Settings,
    *,
    question: Question | None = None,
    name: str = "",
    progress: Progress = quiet,
) -> Report:
    """The report on one archive, folder or text, on logs, or on both.

    `name` is shown as the input's name instead of the file's own.

    Raises:
        InputError: the input cannot be read, holds no XLA dump, or is an empty log alone.
        UsageError: neither a source nor a log was given.
    """
    return examine(source, settings, question=question, name=name, progress=progress).report


def examine(
    source: Path | None,
    settings: Settings,
    *,
    question: Question | None = None,
    name: str = "",
    progress: Progress = quiet,
    tell: Callable[[str], None] | None = None,
    takes_foreign: bool = False,
) -> Analysis:
    """Like `analyze`, and keeps the parsed contents for a bundle.

    `tell` is given sentences that can be said before the end. With `takes_foreign`, files of which
    none is XLA's get a report that says so (DMP002).
    """
    question = question or Question()
    if question.release is not None and not _RELEASE.fullmatch(question.release):
        raise UsageError(
            "no jaxlib release", place=question.release, next_step="Give one such as 0.4.30."
        )
    if source is None and not question.logs:
        raise UsageError("nothing to analyse: give a dump, a log, or both")
    with collection_paused():
        contents = (
            load_dump(
                source,
                settings=settings,
                name=name,
                progress=progress,
                takes_foreign=takes_foreign,
            )
            if source
            else None
        )
        return _examined(contents, question, progress, tell or (lambda words: None))


def _counted(
    modules: Sequence[ModuleHistory], progress: Progress, *, first: int
) -> Iterator[ModuleHistory]:
    """The modules, of which each is summed up twice: `first` sums were made before these."""
    for done, history in enumerate(modules, first):
        progress("sums", done, 2 * len(modules))
        yield history


def _examined(
    contents: DumpContents | None,
    question: Question,
    progress: Progress,
    tell: Callable[[str], None],
) -> Analysis:
    log = merge_logs([_read(entry) for entry in question.logs])
    if contents is None and not log.byte_size:
        raise NotADump(
            "the log is empty",
            place=", ".join(entry.name for entry in question.logs),
            next_step="Keep what the program prints, on standard error too: 2>&1 | tee run.log.",
            code="empty",
        )
    for words in words_of_input(contents, log):
        tell(words)
    facts = gather_facts(contents, log, question, progress)
    for words in words_of_facts(facts):
        tell(words)
    progress("rules", 0, None)
    findings = run_rules(facts, _RULES)
    repairers = {h.id: SourceRepairer(h, facts.loops.get(h.id, ())) for h in facts.modules}
    report = Report(
        tool=this_tool(),
        input=contents.input if contents else _input_of_logs(question, log),
        environment=facts.environment,
        modules=tuple(
            _module(history, facts, repairers)
            for history in _counted(facts.modules, progress, first=0)
        ),
        loops=tuple(
            loop
            for history in facts.modules
            for loop in summarize_loops(
                history,
                facts.loops.get(history.id, ()),
                facts.collectives.get(history.id, ()),
            )
        ),
        collectives=tuple(c for found in facts.collectives.values() for c in found),
        memory=tuple(profile.memory for found in facts.memory.values() for profile in found),
        memory_estimates=tuple(profile.memory for profile in facts.memory_estimates.values()),
        meshes=tuple(mesh for found in facts.meshes.values() for mesh in found),
        programs=tuple(
            program_lines(history, facts.loops.get(history.id, ()), repairers[history.id])
            for history in _counted(facts.modules, progress, first=len(facts.modules))
            if history.role == "user"
        ),
        failure=facts.failure,
        findings=findings,
        coverage=_coverage(contents, log, question),
    )
    return Analysis(report, contents)


def gather_facts(
    contents: DumpContents | None, log: LogFacts, question: Question, progress: Progress = quiet
) -> Facts:
    """Everything that rules may rest on."""
    flags = parse_flags(question.flags)
    environment = environment_of(
        contents, log, flags=flags, release=question.release, release_how=question.release_how
    )
    modules = contents.modules if contents else ()
    failure, failing = locate_failure(log, modules, environment.flags)
    loops: dict[str, tuple[LoopHistory, ...]] = {}
    collectives: dict[str, tuple[Collective, ...]] = {}
    memory: dict[str, tuple[MemoryProfile, ...]] = {}
    estimates: dict[str, MemoryProfile] = {}
    work: dict[str, tuple[Work, ...]] = {}
    meshes: dict[str, tuple[Mesh, ...]] = {}
    own = [history for history in modules if history.role != "autotuning"]
    loop_readers, work_reader = LoopReaders(), WorkReader()
    differ, compared = Differ(), ""
    for done, history in enumerate(own):
        progress("loops", done, len(own))
        if history.name != compared:
            # Modules of one name share texts; what is known of others would only take memory.
            differ, compared = Differ(), history.name
        loops[history.id] = follow_loops(history, loop_readers)
        work[history.id] = measure_work(history, loops[history.id], work_reader)
        meshes[history.id] = find_meshes(history)
        collectives[history.id] = find_collectives(
            history,
            loops[history.id],
            differ=differ,
            backend=environment.backend,
            meshes=meshes[history.id],
        )
        if contents is not None:
            memory[history.id] = find_memory(contents, history, loops[history.id])
        if not memory.get(history.id) and (estimate := estimate_memory(history, loops[history.id])):
            estimates[history.id] = estimate
    return Facts(
        dump=contents,
        log=log,
        environment=environment,
        failure=failure,
        failing=failing,
        loops=loops,
        collectives=collectives,
        hung=question.hung or log.hung,
        memory=memory,
        memory_estimates=estimates,
        work=work,
        meshes=meshes,
        diagnoses=diagnose(log, failure, environment.backend, environment.flags),
    )


def compare_dumps(
    a: Path,
    b: Path,
    settings: Settings,
    *,
    questions: tuple[Question, Question] | None = None,
    progress: Progress = quiet,
) -> ComparisonView:
    """What differs between two dumps, with the differences of the texts where they part.

    A file named `.json` is taken for a report, of which figures are compared and no graphs.
    `questions` say what is known of the two runs beside their dumps.

    Raises:
        InputError: one of them cannot be read, or is neither a dump nor a report.
    """
    of_a, of_b = questions or (None, None)
    side_a = analysed(a, settings, question=of_a, progress=progress)
    side_b = analysed(b, settings, question=of_b, progress=progress)
    return comparison_view(compare(side_a, side_b, this_tool()), side_a, side_b)


def analysed(
    path: Path,
    settings: Settings,
    *,
    question: Question | None = None,
    progress: Progress = quiet,
) -> Analysed:
    """One side of a comparison: a dump, or a report as JSON; raises as `compare_dumps`."""
    if path.suffix == ".json":
        return Analysed(read_report(path))
    found = examine(path, settings, question=question, name=str(path), progress=progress)
    modules = found.contents.modules if found.contents else ()
    kept = {history.id: history for history in modules}
    texts = Texts(lambda module_id, index: kept[module_id].dumps[index].module)
    return Analysed(found.report, texts, kept)


def check_policy(
    dump: Path,
    checks: Sequence[Check],
    settings: Settings,
    *,
    baseline: Path | None = None,
    progress: Progress = quiet,
) -> PolicyResult:
    """What the checks of a policy say of a dump, against a baseline where they ask for one.

    Both may be reports as JSON; then what only a dump tells is unknown.

    Raises:
        InputError: as `compare_dumps`.
    """
    side = analysed(dump, settings, progress=progress)
    other = analysed(baseline, settings, progress=progress) if baseline is not None else None
    return hold_against(checks, side, this_tool(), baseline=other)


def compare_rank_dumps(
    ranks: Mapping[int, Path], settings: Settings, *, progress: Progress = quiet
) -> RankComparison:
    """The dumps of the ranks of one run, by their numbers, held against one another.

    One dump is read at a time; of each kind of graphs the first rank is kept.

    Raises:
        InputError: one of them cannot be read or is no dump.
    """

    def load(rank: int) -> tuple[Sequence[ModuleHistory], Environment]:
        path = ranks[rank]
        contents = load_dump(path, settings=settings, name=str(path), progress=progress)
        environment = environment_of(contents, LogFacts(), flags={}, release=None)
        return contents.modules, environment

    names = {rank: str(path) for rank, path in ranks.items()}
    return compare_loaded(names, load, this_tool())


def this_tool() -> Tool:
    """The program, as its answers name it."""
    return Tool(name="hloscope", version=tool_version())


def tool_version() -> str:
    """The version of the installed distribution."""
    return metadata.version("hloscope")


def _read(log: Log) -> LogFacts:
    if log.file is not None:
        return read_log_file(log.file, name=log.name)
    return read_log(log.text, name=log.name)


def _coverage(contents: DumpContents | None, log: LogFacts, question: Question) -> Coverage:
    coverage = contents.coverage if contents else Coverage(lines=log.lines)
    remarks = (
        *coverage.remarks,
        *log.remarks,
        *remarks_on_flags(question.flags),
        *remarks_on_release(question.release, question.release_how, contents, log),
    )
    return structs.replace(coverage, remarks=remarks)


def _input_of_logs(question: Question, log: LogFacts) -> Input:
    return Input(name=", ".join(entry.name for entry in question.logs), bytes=log.byte_size)


def _module(
    history: ModuleHistory, facts: Facts, repairers: Mapping[str, SourceRepairer]
) -> Module:
    rows = describe_dumps(history, facts.work.get(history.id))
    loops = facts.loops.get(history.id)
    return Module(
        id=history.id,
        name=history.name,
        role=history.role,
        complete=history.complete,
        dumps=rows,
        bends=find_bends(history, rows),
        sources=() if loops is None else source_coverage(history, repairers[history.id]),
        renumbered=renumbered_texts(history),
    )
