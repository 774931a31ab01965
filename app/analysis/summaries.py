"""Loop histories and dumps in the form in which a report holds them."""

from collections import Counter
from collections.abc import Sequence

from app.analysis.async_pairs import WRAPPERS, wrapped_operations
from app.analysis.carry import describe_carry
from app.analysis.fused_collectives import Inside, opcode_run
from app.model.dump import ModuleHistory
from app.model.facts import LoopHistory, WhileLoop
from app.model.report import Collective, Loop, LoopEvent
from app.model.source import SourceHow
from hlo_parser import Module

# What JSON readers take; only edited texts send more bytes.
_LARGEST = (1 << 63) - 1


def summarize_loops(
    history: ModuleHistory, loops: Sequence[LoopHistory], collectives: Sequence[Collective] = ()
) -> tuple[Loop, ...]:
    """The loops of one module for the report, in the order given.

    `names` are all names the loop went by, oldest first, without repeats. `collectives` are those
    of the module's last text.
    """
    sent: dict[str, int] = {}
    for collective in collectives:
        if collective.loop is not None:
            total = sent.get(collective.loop, 0) + collective.bytes
            sent[collective.loop] = min(total, _LARGEST)
    position = len(history.dumps) - 1
    return tuple(
        _summary(history, loop, sent.get(loop.id, 0) if loop.last_dump == position else None)
        for loop in loops
    )


def _summary(history: ModuleHistory, loop: LoopHistory, collective_bytes: int | None) -> Loop:
    last = loop.last
    module = history.dumps[loop.last_dump].module
    names = dict.fromkeys(loop.occurrences[i].name for i in sorted(loop.occurrences))
    return Loop(
        id=loop.id,
        module=history.id,
        parent=loop.parent,
        name=last.name,
        names=tuple(names),
        source=loop.source,
        source_from=loop.source_from,
        source_how=how_known(loop, loop.last_dump),
        op_name=loop.op_name,
        construct=loop.construct,
        trip_count=last.trip_count,
        trip_count_how=last.trip_count_how,
        induction=last.induction,
        first_dump=loop.first_dump,
        last_dump=loop.last_dump,
        collectives=_collectives_of(module, last),
        events=tuple(
            LoopEvent(dump=e.dump, pass_=e.pass_name, kind=e.kind, detail=e.detail)
            for e in loop.events
        ),
        carry=describe_carry(module, last),
        collective_bytes=collective_bytes,
    )


def how_known(loop: LoopHistory, dump: int) -> SourceHow | None:
    """How the line of a loop is known, as seen from the text at position `dump`."""
    if loop.source is None:
        return None
    if loop.source_from is None:
        return "callees"
    return "stated" if loop.source_from == dump else "earlier_text"


def _collectives_of(module: Module, loop: WhileLoop) -> dict[str, int]:
    """How many collectives of each kind the body itself begins, wrapped ones by what they wrap."""
    counts: Counter[str] = Counter()
    wrapped: dict[tuple[str, ...], Sequence[Inside]] = {}
    for instruction in loop.body.instructions:
        begun: Sequence[Inside] = ((loop.body, instruction),)
        if instruction.opcode in WRAPPERS:
            called = tuple(callee.name for callee in instruction.callees)
            if called not in wrapped:
                wrapped[called] = wrapped_operations(module, instruction)
            begun = wrapped[called]
        opcodes = (opcode_run(module, *each) for each in begun)
        counts.update(opcode for opcode in opcodes if opcode is not None)
    return dict(sorted(counts.items()))
