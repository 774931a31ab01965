"""What the finished program of a variant costs, as the analysis of its own dump has it. Pure.

A change that cures may make the program do more: compute twice, send twice, hold more. Given the
report on the dump that a variant left, and its contents; gives the few figures to compare.
"""

from app.analysis.loop_history import follow_loops
from app.analysis.work import measure_work
from app.model.dump import DumpContents, ModuleHistory
from app.model.experiments import Effects
from app.model.report import Report

# The class of warnings that a rewrite made the program do the same work again.
_OF_WORK = "repeated-work"


def effects_of(contents: DumpContents, report: Report) -> Effects | None:
    """The figures of the largest module of the user's; None where there is no text."""
    history = _largest(contents)
    if history is None:
        return None
    work = measure_work(history, follow_loops(history))[-1]
    last = len(history.dumps) - 1
    collectives = [c for c in report.collectives if (c.module, c.dump) == (history.id, last)]
    peak, is_estimate = _peak(report, history.id)
    return Effects(
        flops=work.flops,
        collectives=len(collectives),
        collective_bytes=sum(work.collective_bytes.values()),
        at_least=bool(work.counted_once or work.uncounted),
        peak_bytes=peak,
        is_estimate=is_estimate,
        remarks=tuple(
            finding.title
            for finding in report.findings
            if finding.class_ == _OF_WORK and finding.confidence != "ruled_out"
        ),
    )


def _largest(contents: DumpContents) -> ModuleHistory | None:
    own = [history for history in contents.modules if history.role == "user"] or contents.modules
    return max(own, key=lambda history: history.last.module.instruction_count, default=None)


def _peak(report: Report, module: str) -> tuple[int | None, bool]:
    for memory in report.memory:
        if memory.module == module:
            return (memory.peak.bytes if memory.peak else memory.total_bytes), False
    for memory in report.memory_estimates:
        if memory.module == module and memory.peak:
            return memory.peak.bytes, True
    return None, False
