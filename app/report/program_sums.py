"""What a program is in a few figures: its loops, what it sends, how much of that is hidden.

Takes a report and one of its modules; gives words for the first screen, "" where there is nothing.
"""

from collections import Counter

from app.model.report import REWRITES, Module, Report
from app.report.collectives_drawing import is_scheduled, overlap_kind
from app.report.program_facts import sum_text
from app.report.wording import counts_text


def loops_text(report: Report, module: Module) -> str:
    """`5, 3 of them rewritten by passes`, `5, all rewritten ...`; "" for a module without loops."""
    loops = [loop for loop in report.loops if loop.module == module.id]
    rewritten = sum(any(event.kind in REWRITES for event in loop.events) for loop in loops)
    if not loops:
        return ""
    if rewritten == len(loops):
        return f"{len(loops):,}, {'all ' if rewritten > 1 else ''}rewritten by passes"
    return f"{len(loops):,}" + (f", {rewritten:,} of them rewritten by passes" if rewritten else "")


def collectives_text(report: Report, module: Module) -> str:
    """`24: all-gather 16, reduce-scatter 8; 94.5 MiB sent in a run`; "" for none."""
    own = [item for item in report.collectives if item.module == module.id]
    if not own:
        return ""
    sent = sum_text(own)
    told = f"; {sent} sent in a run" if sent else ""
    return f"{counts_text(Counter(item.opcode for item in own))}{told}"


def overlap_text(report: Report, module: Module) -> str:
    """`12 hidden, 2 partly hidden, 10 synchronous`, or that no schedule is known; "" for none."""
    scheduled = is_scheduled(module)
    kinds = Counter(
        overlap_kind(item, scheduled=scheduled)
        for item in report.collectives
        if item.module == module.id
    )
    if set(kinds) == {"unknown"}:
        return "no schedule known"
    words = (
        ("hidden", "hidden"),
        ("partly", "partly hidden"),
        ("exposed", "exposed"),
        ("sync", "synchronous"),
        ("unknown", "no schedule known"),
    )
    return ", ".join(f"{kinds[kind]:,} {word}" for kind, word in words if kinds[kind])
