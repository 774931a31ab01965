"""Work that a rewrite of loops left standing twice: products before it against those at the end.

Compares like with like: the text before the pass that copied loops with the last text, both after
partitioning, trip counts applied. A rise counts only where copies of loops came with it and still
stand beside their originals at the end; double buffering copies loops too, but halves the trips
around them. Given a history, its loops and the work of its texts; what it means is for rules.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.analysis.passes import changed_by, pass_on_loops, rewrites_loops
from app.model.dump import ModuleHistory
from app.model.facts import LoopHistory
from app.model.work import Work

LEAST_PERCENT = 150
"""Work at the end, in percent of that before, from which it counts as repeated."""

# Operations that a pass adds together with copies of loops, in percent, for it to be the cause.
_LEAST_RISE = 120


@dataclass(frozen=True, slots=True)
class LoopCopy:
    """A loop and its copy in the same enclosing loop, or both in none."""

    original: LoopHistory
    copy: LoopHistory


@dataclass(frozen=True, slots=True)
class RepeatedWork:
    """Positions of the texts and what each does in one execution.

    `before` is the last text without the copies, `made` the first with them, `last` the final one.
    `pass_name` is None where texts are missing and no pass between is known for it; `is_sure` says
    that it is there to rewrite loops, and no text is missing. `outer` encloses the copies.
    """

    before: int
    made: int
    last: int
    work_before: Work
    work_last: Work
    pass_name: str | None
    is_sure: bool
    outer: LoopHistory | None
    copies: tuple[LoopCopy, ...]

    @property
    def times(self) -> float:
        """How much more is done at the end."""
        return self.work_last.flops / self.work_before.flops


def find_repeated_work(
    history: ModuleHistory, loops: Sequence[LoopHistory], work: Sequence[Work]
) -> RepeatedWork | None:
    """The first rewrite of loops whose copies make the finished module do its work again.

    None too where compilation did not end: what later passes would have removed is unknown then.
    Where the text before leaves trip counts or products open, nothing is compared.
    """
    last = len(history.dumps) - 1
    if not history.complete or last < 1:
        return None
    passes = changed_by(history)
    for made in range(1, last + 1):
        before = work[made - 1]
        if before.counted_once or before.uncounted or not before.flops:
            continue
        risen = 100 * work[made].flops >= _LEAST_RISE * before.flops
        stays = 100 * work[last].flops >= LEAST_PERCENT * before.flops
        copies = _copies_beside(loops, made, last) if risen and stays else ()
        if copies:
            return RepeatedWork(
                before=made - 1,
                made=made,
                last=last,
                work_before=before,
                work_last=work[last],
                pass_name=pass_on_loops(passes[made]),
                is_sure=passes[made].alone and rewrites_loops(passes[made].name),
                outer=_by_id(loops, copies[0].copy.parent),
                copies=copies,
            )
    return None


def _copies_beside(loops: Sequence[LoopHistory], made: int, last: int) -> tuple[LoopCopy, ...]:
    """Copies made in one text that stand at the end where their originals do, of one loop each.

    Those in the innermost common loop come alone: copies outside are iterations peeled off it.
    """
    pairs = [
        LoopCopy(original, loop)
        for loop in loops
        if loop.first_dump == made
        and loop.last_dump == last
        and (original := _by_id(loops, loop.origin)) is not None
        and original.last_dump == last
        and original.parent == loop.parent
    ]
    inside = [pair for pair in pairs if pair.copy.parent is not None]
    around = inside[0].copy.parent if inside else None
    return tuple(pair for pair in pairs if pair.copy.parent == around)


def _by_id(loops: Sequence[LoopHistory], identity: str | None) -> LoopHistory | None:
    return next((loop for loop in loops if loop.id == identity), None)
