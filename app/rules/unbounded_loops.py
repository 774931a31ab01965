"""The outermost loops that no number bounds, each with what its condition asks.

Facts go in, places come out. That a loop is listed does not say that it never ends: as far as the
texts tell, it may take any number of iterations.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from app.model.dump import ModuleHistory, PassDump
from app.model.facts import Facts, WhileLoop
from app.rules.cited import Named, cited
from app.rules.citing import instruction_evidence, loop_culprit, place

_MOST_LOOPS = 3


@dataclass(frozen=True, slots=True)
class UnboundedLoop:
    """The loop, then the instruction that says whether it goes on."""

    loop: Named
    condition: Named


def unbounded_loops(facts: Facts, histories: Sequence[ModuleHistory]) -> tuple[UnboundedLoop, ...]:
    """The first of them in the newest texts; those with a constant condition are left out.

    Such a loop is told as endless, or it is never entered.
    """
    return tuple(islice(_found(facts, histories), _MOST_LOOPS))


def loops_in_words(loops: Sequence[UnboundedLoop]) -> str:
    """`while.1 (step.py:11), whose length is known nowhere`."""
    return f"{', '.join(place(one.loop.culprit) for one in loops)}, whose length is known nowhere"


def conditions_in_words(loops: Sequence[UnboundedLoop]) -> str:
    """One sentence for each loop on what it goes on for."""
    return " ".join(
        f"{place(one.loop.culprit)} goes on while {place(one.condition.culprit)} is true."
        for one in loops
    )


def _found(facts: Facts, histories: Sequence[ModuleHistory]) -> Iterator[UnboundedLoop]:
    for history in histories:
        last = history.last
        for one in facts.loops.get(history.id, ()):
            loop = one.occurrences.get(last.index)
            if loop is None or loop.parent is not None or loop.trip_count is not None:
                continue
            if loop.condition.root.opcode == "constant":
                continue
            at = instruction_evidence(last, loop.computation, loop.instruction)
            yield UnboundedLoop(
                Named(loop_culprit(history, last, one, role="loop of unknown length"), at),
                _condition(facts, history, last, loop),
            )


def _condition(facts: Facts, history: ModuleHistory, dump: PassDump, loop: WhileLoop) -> Named:
    """The root of the condition, or of the fusion that was made of it."""
    computation = loop.condition
    if computation.root.opcode == "fusion":
        inside = dict(dump.module.callees(computation.root)).get("calls")
        computation = inside if inside is not None else computation
    return cited(facts, history, dump, computation, computation.root, role="condition of that loop")
