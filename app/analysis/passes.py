"""Which pass made the difference between a text and the one before it.

A pass file is named after the pass that has just run, with one trap: a nested pipeline writes a
text at its start, and what is new there was done by the pass that runs the pipeline, whose own
file comes only when it is through (`xla/service/hlo_pass_pipeline.cc`). Reads file names only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.model.dump import DumpName, ModuleHistory
from app.model.report import LoopEventKind

_START = "pipeline-start"

# Parts of pass names that are known to do these things to loops, in all releases seen.
_SPEAKS_FOR: Mapping[LoopEventKind, tuple[str, ...]] = {
    "pipelined_forward": ("pipeliner",),
    "pipelined_backward": ("pipeliner",),
    "pipelined_forward_sink": ("pipeliner",),
    "double_buffered": ("double-buffer",),
    "unrolled": ("unroll", "double-buffer"),
    "fully_unrolled": ("unroll", "double-buffer"),
}
# Of these the ones that make more of a loop's work, or of its collectives, stand in a text.
_MULTIPLYING: tuple[LoopEventKind, ...] = ("pipelined_forward", "double_buffered", "unrolled")
# What such passes do beside it.
_COMES_WITH: frozenset[LoopEventKind] = frozenset({"peeled", "trip_count_changed", "carry_changed"})


@dataclass(frozen=True, slots=True)
class ChangedBy:
    """The pass between two texts.

    `name` is None where the file names do not say; `alone` says that no text is missing between
    the two, so that no other pass can have taken part.
    """

    name: str | None
    alone: bool


def changed_by(history: ModuleHistory) -> tuple[ChangedBy, ...]:
    """For each text the pass that made it out of the text before.

    The first text of a dump of all passes is that at the start of a pipeline. Where another one
    has its number, only passes of some names were dumped: XLA counts those alone, and the numbers
    do not show what is missing.
    """
    return changed_by_names([dump.name for dump in history.dumps])


def changed_by_names(names: Sequence[DumpName]) -> tuple[ChangedBy, ...]:
    """The same of the file names alone; of each its step, kind, pipeline and passes count."""
    is_filtered = any(name.step == 0 and name.after != _START for name in names)
    found: list[ChangedBy] = []
    step: int | None = None
    for position, name in enumerate(names):
        alone = position == 0 or (
            not is_filtered and _follows_directly(names[position - 1], name, step)
        )
        found.append(ChangedBy(_responsible(names, position), alone))
        step = name.step if name.step is not None else step
    return tuple(found)


def pass_on_loops(by: ChangedBy) -> str | None:
    """The pass behind a change of loops or of their work.

    With texts missing in between only a pass that is there to rewrite loops is named.
    """
    return by.name if by.alone or rewrites_loops(by.name) else None


def rewrites_loops(name: str | None) -> bool:
    """Whether a pass of this name is there to pipeline, double or unroll loops."""
    return any(speaks_for(name, kind) for kind in _MULTIPLYING)


def speaks_for(name: str | None, kind: LoopEventKind) -> bool:
    """Whether a pass of this name is known to do such things to loops."""
    return name is not None and any(part in name for part in _SPEAKS_FOR.get(kind, ()))


def takes_part(name: str | None, kind: LoopEventKind) -> bool:
    """Whether a pass of this name does such things, alone or beside what it is there for."""
    return kind in _COMES_WITH or speaks_for(name, kind)


def _responsible(names: Sequence[DumpName], position: int) -> str | None:
    name = names[position]
    if name.after != _START:
        return name.after
    earlier = (names[index].pipeline for index in range(position - 1, -1, -1))
    around = next((pipeline for pipeline in earlier if pipeline is not None), None)
    if around is None or around == name.pipeline:
        return None
    for later in names[position + 1 :]:
        if later.pipeline == around and later.after not in (None, _START):
            return later.after
    return None


def _follows_directly(before: DumpName, name: DumpName, step: int | None) -> bool:
    """Whether no text is missing before this one; a hole in the steps is one or more.

    `step` is the last one counted so far. The text after all optimizations follows the last pass
    directly and the first text not at all. Passes in names without a count are taken as they come.
    """
    if name.step is None:
        is_last_again = name.kind == before.kind == "after_optimizations"
        return step is not None or name.after is not None or is_last_again
    return name.step == (0 if step is None else step + 1)
