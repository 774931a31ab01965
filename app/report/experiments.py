"""The experiments of a replay as rows that page, Markdown and terminal share.

Takes a `Replay` and gives words; what a variant costs is told beside the least that any variant of
the same module costs, for a change that cures may make the program do more.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.model.experiments import Effects, Experiment, Replay
from app.report.releases_tried import span_of, span_words
from app.report.wording import file_name, operations_text, size_text

_SHOWN_WORDS = 200
# What differs by less may be another choice of products for the same work.
_MUCH_MORE = 1.5
_QUESTIONS = {
    "baseline": "The run itself",
    "workaround": "Workarounds and suspicions",
    "flags": "Single flags",
    "passes": "Single passes switched off",
    "releases": "Releases",
}
_LIMITS = (
    "A replay compiles and never runs: it shows no wrong numbers, no hang and no memory that runs "
    "out on a device, times no kernel, and knows no other GPU's limits than those of its target."
)


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    """One compile: what was changed, what came of it, and what the program costs then."""

    name: str
    outcome: str
    words: str
    work: str
    collectives: str
    peak: str
    seconds: str
    notes: tuple[str, ...]
    outcome_kind: str


@dataclass(frozen=True, slots=True)
class ExperimentGroup:
    """The compiles that answer one question."""

    title: str
    rows: tuple[ExperimentRow, ...]

    @property
    def is_weighed(self) -> bool:
        """Whether work, bytes sent or memory of any row are known."""
        return any(row.work or row.collectives or row.peak for row in self.rows)


@dataclass(frozen=True, slots=True)
class ReplayView:
    """All experiments of a report in words; `reduced_text` is the small module, "" without one."""

    heading: str
    lines: tuple[str, ...]
    groups: tuple[ExperimentGroup, ...]
    limits: str
    reduced: str
    reduced_name: str
    reduced_text: str
    commands: tuple[str, ...]


def replay_view(replay: Replay) -> ReplayView:
    """The words for a replay whose texts are legible already."""
    least = _least_work(replay.experiments)
    groups = [
        ExperimentGroup(title, tuple(_row(e, least) for e in found))
        for question, title in _QUESTIONS.items()
        if (found := [e for e in replay.experiments if e.question == question])
    ]
    reduced = replay.reduced
    return ReplayView(
        heading="What recompiling showed",
        lines=tuple(_lines(replay)),
        groups=tuple(groups),
        limits=_LIMITS,
        reduced=""
        if reduced is None
        else f"A small module with the same failure: {reduced.instructions_after:,} of "
        f"{reduced.instructions_before:,} instructions"
        f"{'' if reduced.is_minimal else ' (the time was up: more may go)'}",
        reduced_name=file_name(reduced.name) if reduced else "",
        reduced_text=reduced.text if reduced else "",
        commands=reduced.commands if reduced else (),
    )


def _lines(replay: Replay) -> Iterable[str]:
    target = f" for {replay.target}" if replay.target else ""
    yield f"{replay.file}, compiled again{target} with no GPU, jaxlib {replay.release}."
    if replay.signature:
        yield f"Looked for: {replay.signature}"
    if replay.same is not None:
        yield f'What "same signature" means here: {replay.same.how} ({replay.same.confidence}).'
    if not replay.flags_known:
        yield "The flags of the run are not known; these were taken: " + (
            " ".join(replay.flags) or "the defaults of the release"
        )
    for each in replay.inferred:
        as_well = f"; {', '.join(each.others)} would explain it as well" if each.others else ""
        yield f"Inferred, not stated: --{each.flag}=true, because {each.why}{as_well}."
    if replay.needed is not None:
        alone = " ".join(replay.needed) or "none: it fails without any flag"
        yield f"Flags with which alone it fails: {alone}"
    yield from _release_lines([e for e in replay.experiments if e.question == "releases"])
    yield from replay.remarks
    if replay.together is not None:
        yield f"Changes that cure only together: {' '.join(replay.together)}"


def _release_lines(tried: Sequence[Experiment]) -> Iterable[str]:
    """Where the failure came and went, oldest release first; nothing where none was tried."""
    span = span_of(tried)
    if span is None:
        return
    yield from span_words(span)
    bad = [number for number, e in enumerate(tried) if e.outcome == "same signature"]
    later = [e for e in tried[bad[-1] + 1 :] if e.outcome == "compiles"] if bad else []
    least = _least_work(tried)
    lean = [e for e in later if _times(e.effects, least) is None]
    if later and lean and lean[0] is not later[0]:
        times = _times(later[0].effects, least)
        yield (
            f"With {later[0].name} the program does {times:.1f} times the work; the first that "
            f"does not: {lean[0].name}."
        )


def _times(effects: Effects | None, least: Effects | None) -> float | None:
    """How often the work of the leanest, where that is much more."""
    if not effects or not least or not least.flops or effects.flops < _MUCH_MORE * least.flops:
        return None
    return effects.flops / least.flops


def _row(experiment: Experiment, least: Effects | None) -> ExperimentRow:
    effects = experiment.effects
    is_same = experiment.outcome == "same signature"
    # How it fails is told once.
    is_own = experiment.question == "baseline"
    notes = list(effects.remarks) if effects else []
    if (times := _times(effects, least)) is not None:
        notes.insert(0, f"{times:.1f} times the work of the leanest variant here")
    if experiment.dropped:
        notes.append(f"not known to this release: {' '.join(experiment.dropped)}")
    return ExperimentRow(
        name=experiment.name,
        outcome=experiment.outcome,
        words=experiment.words[:_SHOWN_WORDS] if is_own or not is_same else "",
        work=_work(effects),
        collectives=""
        if effects is None
        else f"{effects.collectives:,}, {size_text(effects.collective_bytes)}",
        peak=""
        if effects is None or effects.peak_bytes is None
        else f"{size_text(effects.peak_bytes)}{' (estimate)' if effects.is_estimate else ''}",
        seconds=f"{experiment.seconds:.1f} s",
        notes=tuple(notes),
        outcome_kind=experiment.outcome.replace(" ", "-"),
    )


def _work(effects: Effects | None) -> str:
    if effects is None:
        return ""
    return f"{'at least ' if effects.at_least else ''}{operations_text(effects.flops)}"


def _least_work(experiments: Sequence[Experiment]) -> Effects | None:
    known = [e.effects for e in experiments if e.effects and e.effects.flops]
    return min(known, key=lambda effects: effects.flops, default=None)
