"""What a pass did to a loop, read from the loop as it stood before and as it stands after.

The graphs are the evidence: trip counts, counters, carried elements, how often the body's work
stands in the new body and in the computation around it. The pass's name only decides where the
graphs allow two readings. Order of the events of one step: place, work, counter, carry, name.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from app.analysis.loop_bodies import (
    Content,
    ModuleContents,
    Operation,
    collectives_reading_carry,
    elements_made_by_collectives,
    elements_read,
)
from app.analysis.loops import PlacedLoop
from app.analysis.scalars import ScalarReader
from app.model.facts import WhileLoop
from app.model.report import LoopEventKind

RENAMED_TO = " -> "
"""What stands between the two names in the detail of a `renamed` event."""

_COPIED_PERCENT = 80
"""Share of a body's work that must stand again for it to count as copied."""

_PEELED_PERCENT = 50
"""Share of a body's work by which the surroundings must grow for an iteration to be peeled."""


_MOST_UNROLLED = 100_000
"""Loops of more trips are not unrolled by any pass."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A loop in one text; `trips` is the trip count last known up to this text."""

    placed: PlacedLoop
    contents: ModuleContents
    trips: int | None

    @property
    def loop(self) -> WhileLoop:
        """The loop itself."""
        return self.placed.loop

    @property
    def content(self) -> Content:
        """What the body does."""
        return self.contents.of(self.loop.body)

    @property
    def around(self) -> Content:
        """What the computation that holds the loop does."""
        return self.contents.of(self.loop.computation)


@dataclass(frozen=True, slots=True)
class Change:
    """An event without its place in the history."""

    kind: LoopEventKind
    detail: str


@dataclass(frozen=True, slots=True)
class Step:
    """One loop across one pass; `same_parent` says that the enclosing loop is still the same."""

    before: Stage
    after: Stage
    same_parent: bool
    pass_name: str


def changes(step: Step) -> tuple[Change, ...]:
    """All that happened to the loop in this step."""
    return tuple(_changes(step))


def how_it_ended(stage: Stage, around: Content, *, seen_directly: bool) -> Change:
    """The last event of a loop that the next text no longer holds.

    `around` is what the computation that held it does there. The body's work standing there as
    often as the loop ran means that it was unrolled. `seen_directly` says that no text between
    the two is missing.
    """
    work = stage.content.operations
    grown = around.operations - stage.around.operations
    trips = stage.trips
    if trips is not None and work and 0 < trips <= _MOST_UNROLLED:
        times = Counter({key: count * trips for key, count in work.items()})
        if _is_share(grown & times, times.total(), _COPIED_PERCENT):
            if trips == 1:
                return Change("removed", "ran once; its body now stands in its place")
            return Change(
                "fully_unrolled", f"the body's work now stands {trips} times in its place"
            )
    if trips == 0:
        return Change("removed", "never ran")
    if not seen_directly:
        return Change("removed", "not found again; texts between are missing")
    return Change("removed", "no loop of the next text is like it")


def _changes(step: Step) -> Iterator[Change]:
    old, new = step.before.loop, step.after.loop
    yield from _if_any(_moved(step))
    if old.body is not new.body or _trips_changed(step):
        pipelined, copied = _pipelined(step), _copied(step)
        yield from _if_any(pipelined, copied, _peeled(step, pipelined, copied))
    if _trips_changed(step):
        yield Change("trip_count_changed", f"{step.before.trips} -> {step.after.trips}")
    if old.carry != new.carry:
        yield Change("carry_changed", f"carried elements {old.carry} -> {new.carry}")
    elif old.body is not new.body:
        yield from _if_any(_simplified(step))
    if old.name != new.name:
        yield Change("renamed", f"{old.name}{RENAMED_TO}{new.name}")


def _if_any(*found: Change | None) -> Iterator[Change]:
    return (change for change in found if change is not None)


def _trips_changed(step: Step) -> bool:
    old, new = step.before.trips, step.after.trips
    return old is not None and new is not None and old != new


def _moved(step: Step) -> Change | None:
    old, new = step.before.placed, step.after.placed
    if step.same_parent and old.through == new.through:
        return None
    detail = f"from {old.loop.computation.name} to {new.loop.computation.name}"
    if not step.same_parent:
        outer = new.loop.parent
        detail += f", now in {outer}" if outer is not None else ", now in no loop"
    return Change("moved", detail)


def _pipelined(step: Step) -> Change | None:
    """Collectives that now run for the iteration after, or for the one before.

    `xla/service/collective_pipeliner.cc`: backward carries the collective's result into the next
    iteration (TransformLoopBackward), forward carries its operand there (TransformLoopForward),
    forward sink takes it out behind the loop (TransformLoopForwardSink).
    """
    old, new = step.before.loop, step.after.loop
    if new.carry <= old.carry:
        return None
    fewer = _trips_changed(step) and (step.after.trips or 0) < (step.before.trips or 0)
    made = elements_made_by_collectives(new.body) - elements_made_by_collectives(old.body)
    read = collectives_reading_carry(new.body, new.invariant) - collectives_reading_carry(
        old.body, old.invariant
    )
    if fewer and made > 0:
        detail = f"{_collectives(made)} now done for the iteration after"
        return Change("pipelined_backward", detail)
    if fewer and read > 0:
        detail = f"{_collectives(read)} now done for the iteration before"
        return Change("pipelined_forward", detail)
    if "pipeliner" in step.pass_name and not _trips_changed(step):
        gone = step.before.content.collectives() - step.after.content.collectives()
        arrived = step.after.around.collectives() - step.before.around.collectives()
        sunk = (gone & arrived).total()
        if sunk:
            detail = f"{_collectives(sunk)} now done behind the loop"
            return Change("pipelined_forward_sink", detail)
    return None


def _copied(step: Step) -> Change | None:
    """The body's work standing several times in the new body, run as much less often."""
    copies = _copies(step)
    if copies < 2:
        return None
    old_trips, new_trips = step.before.trips, step.after.trips
    if old_trips is None or new_trips is None:
        if _step_ratio(step) is None:
            return None
    elif not copies * new_trips <= old_trips <= copies * (new_trips + 1):
        return None
    detail = f"the body's work stands {copies} times in the new body"
    if copies == 2 and "unroll" not in step.pass_name:
        return Change("double_buffered", detail)
    if new_trips == 1 and copies == old_trips:
        return Change("fully_unrolled", detail)
    return Change("unrolled", detail)


def _copies(step: Step) -> int:
    """How many times the old body's work stands in the new body; below 2 when it is not repeated.

    The counter decides where its step is known before and after: iterations of inner loops that
    were peeled in the same pass make the work alone look like more copies.
    """
    old, new = step.before.content.operations, step.after.content.operations
    size = old.total()
    if not size:
        return 0
    ratio = _step_ratio(step)
    kept = sum(count for key, count in new.items() if key in old)
    copies = (2 * kept + size) // (2 * size) if ratio is None else ratio
    present = Counter({key: min(new[key], count * copies) for key, count in old.items()})
    return copies if _is_share(present, copies * size, _COPIED_PERCENT) else 1


def _is_share(part: Counter[Operation], whole: int, percent: int) -> bool:
    # In integers: calls that double each other make counts that no float holds.
    return 100 * part.total() >= percent * whole


def _step_ratio(step: Step) -> int | None:
    """How many old iterations one new one counts for, None where the counters do not say."""
    old, new = step.before.loop.induction, step.after.loop.induction
    if old is None or new is None or not old.step or new.step is None or new.step % old.step:
        return None
    ratio = new.step // old.step
    return ratio if ratio > 0 else None


def _peeled(step: Step, pipelined: Change | None, copied: Change | None) -> Change | None:
    """Iterations of the old loop that the new one no longer runs and that stand beside it."""
    if not _trips_changed(step):
        return None
    copies = _copies(step) if copied is not None else 1
    front, behind = _missing_iterations(step, copies, pipelined)
    if front + behind <= 0:
        return None
    grown = step.after.around.operations - step.before.around.operations
    work = step.before.content.operations
    if not _is_share(grown & work, work.total(), _PEELED_PERCENT):
        return None
    parts: list[str] = []
    if front:
        parts.append(f"first {_iterations(front)} in front of the loop")
    if behind:
        parts.append(f"last {_iterations(behind)} behind the loop")
    return Change("peeled", ", ".join(parts))


def _missing_iterations(step: Step, copies: int, pipelined: Change | None) -> tuple[int, int]:
    """How many iterations are gone at the front and behind."""
    total = (step.before.trips or 0) - copies * (step.after.trips or 0)
    old, new = step.before.loop.induction, step.after.loop.induction
    if (
        old is not None
        and new is not None
        and old.init is not None
        and new.init is not None
        and old.step
        and (new.init - old.init) % old.step == 0
    ):
        front = (new.init - old.init) // old.step
        if 0 <= front <= total:
            return front, total - front
    if pipelined is not None and pipelined.kind == "pipelined_backward":
        return 0, total
    return total, 0


def _collectives(count: int) -> str:
    return "1 collective is" if count == 1 else f"{count} collectives are"


def _iterations(count: int) -> str:
    return "iteration" if count == 1 else f"{count} iterations"


def _simplified(step: Step) -> Change | None:
    """Carried elements that are still there and no longer needed.

    A constant put back into the body (`while-loop-constant-sinking`, `while-initializer-removal`)
    leaves an element that nothing reads; merged counters leave one that no longer changes.
    """
    old, new = step.before.loop, step.after.loop
    following = ScalarReader(step.before.contents.module).next_elements(old.body)
    stopped = sorted(e for e in new.invariant - old.invariant if following.is_counter(e))
    if stopped:
        return Change("simplified", f"no longer changing: {_elements(stopped)}")
    if _constant_count(new) > _constant_count(old):
        unread = (elements_read(old.body) - elements_read(new.body)) & new.invariant & old.invariant
        if unread:
            return Change(
                "simplified", f"constants in the body replace {_elements(sorted(unread))}"
            )
    return None


def _elements(elements: list[int]) -> str:
    return ("element " if len(elements) == 1 else "elements ") + ", ".join(map(str, elements))


def _constant_count(loop: WhileLoop) -> int:
    return [instruction.opcode for instruction in loop.body.instructions].count("constant")
