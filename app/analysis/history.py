"""A module's texts in numbers: one row per pass, for curves over passes and to find what changed.

Works per distinct computation: texts of neighbouring passes share most of theirs, so only what a
text adds and drops is looked at.
"""

from collections import Counter
from collections.abc import Sequence

from app.analysis.async_pairs import is_fused
from app.analysis.fused_collectives import opcode_run
from app.analysis.opcodes import COLLECTIVES, base_opcode
from app.analysis.work import measure_work
from app.model.dump import ModuleHistory
from app.model.report import Dump
from app.model.work import Work
from hlo_parser import Computation, Module

# What a curve over passes is worth drawing for, beside the collectives.
_COUNTED = frozenset(
    {
        "call",
        "conditional",
        "convolution",
        "copy",
        "custom-call",
        "dot",
        "fusion",
        "while",
    }
)


def describe_dumps(history: ModuleHistory, work: Sequence[Work] | None = None) -> tuple[Dump, ...]:
    """One row per text, in order; `work` is what `measure_work` says, where it is known.

    `counts` holds opcodes of interest that occur, by name; an asynchronous operation counts once,
    under the operation it runs, whatever its spelling. `changed` counts the distinct computations
    that the text before does not hold: all of them in the first text.
    """
    rows: list[Dump] = []
    before: frozenset[Computation] = frozenset()
    known: dict[tuple[Computation, bool], Counter[str]] = {}
    here: dict[Computation, Counter[str]] = {}
    counts: Counter[str] = Counter()
    measured = measure_work(history) if work is None else work
    for position, (dump, done) in enumerate(zip(history.dumps, measured, strict=True)):
        computations = frozenset(dump.module.computations)
        new = computations - before
        counts = counts.copy()
        for computation in new:
            here[computation] = _counts_of(dump.module, computation, known)
            counts.update(here[computation])
        for computation in before - computations:
            counts.subtract(here.pop(computation))
        rows.append(
            Dump(
                index=position,
                file=dump.file,
                bytes=dump.byte_size,
                pipeline=dump.name.pipeline,
                after=dump.name.after,
                before=dump.name.before,
                instructions=dump.module.instruction_count,
                computations=len(dump.module.computations),
                changed=len(new),
                scheduled=dump.module.header.is_scheduled,
                counts={opcode: n for opcode, n in sorted(counts.items()) if n},
                flops=done.flops,
                collective_bytes=dict(done.collective_bytes),
                counted_once=done.counted_once,
                uncounted=done.uncounted,
            )
        )
        before = computations
    return tuple(rows)


def _counts_of(
    module: Module, computation: Computation, known: dict[tuple[Computation, bool], Counter[str]]
) -> Counter[str]:
    # What an all-reduce comes to depends on whether a fusion is around it.
    key = computation, is_fused(module, computation)
    found = known.get(key)
    if found is None:
        found = known[key] = count_opcodes(module, computation)
    return found


def count_opcodes(module: Module, computation: Computation) -> Counter[str]:
    """The opcodes of interest in a computation, asynchronous starts as what they run."""
    counts: Counter[str] = Counter()
    printed = Counter([instruction.opcode for instruction in computation.instructions])
    for name, times in printed.items():
        opcode = base_opcode(name)
        if opcode in COLLECTIVES:
            alike = [i for i in computation.instructions if i.opcode == name]
            run = (opcode_run(module, computation, i) for i in alike)
            counts.update([collective for collective in run if collective is not None])
        elif opcode in _COUNTED:
            counts[opcode] += times
    return counts
