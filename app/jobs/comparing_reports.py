"""What runs in the child that compares reports of the server, and how it is started.

Two are compared as two dumps are, more as the ranks of one run. What is answered is JSON.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from app.analysis.comparison import Analysed, compare
from app.analysis.comparison_texts import Texts
from app.analysis.ranks import compare_loaded
from app.bundle import Bundle
from app.ingest import Progress
from app.jobs.comparison import answer_of_child
from app.model.dump import DumpName, ModuleHistory, PassDump
from app.model.report import Environment, Module
from app.sandbox import Limits
from app.service import this_tool
from app.settings import Settings
from app.store import Problem, Store
from app.views.comparison import comparison_view

COMPARISON = "app.jobs.comparing_reports:write_comparison"
RANKS = "app.jobs.comparing_reports:write_rank_comparison"


def compare_reports_in_child(store: Store, settings: Settings, a: Path, b: Path) -> bytes | Problem:
    """The `ComparisonView` of the reports in two bundles, or why there is none."""
    return _in_child(store, settings, COMPARISON, {"a": str(a), "b": str(b)})


def compare_ranks_in_child(
    store: Store, settings: Settings, ranks: Mapping[int, Path]
) -> bytes | Problem:
    """The `RankComparison` of the reports in bundles, by rank, or why there is none."""
    return _in_child(
        store, settings, RANKS, {"ranks": [(rank, str(path)) for rank, path in ranks.items()]}
    )


def _in_child(
    store: Store, settings: Settings, target: str, arguments: dict[str, Any]
) -> bytes | Problem:
    """All texts of all reports are read, so the limits are those of an analysis."""
    return answer_of_child(
        store,
        target,
        arguments,
        limits=Limits(
            memory_bytes=settings.job_memory_bytes,
            cpu_s=settings.job_cpu_s,
            wall_s=settings.job_timeout_s,
            may_fork=False,
        ),
        name="the reports",
    )


def write_comparison(progress: Progress, *, a: str, b: str, answer: str) -> None:
    """Write the comparison of two bundles as JSON to the file `answer`.

    Raises:
        NotFound, LimitExceeded, BadArchive: as `Bundle.parse`.
    """
    del progress
    with Bundle.open(Path(a)) as first, Bundle.open(Path(b)) as second:
        side_a, side_b = (Analysed(x.report(), Texts(x.parse)) for x in (first, second))
        found = comparison_view(compare(side_a, side_b, this_tool()), side_a, side_b)
    Path(answer).write_bytes(msgspec.json.encode(found))


def write_rank_comparison(
    progress: Progress, *, ranks: Sequence[tuple[int, str]], answer: str
) -> None:
    """Write the comparison of the ranks in bundles as JSON to the file `answer`.

    Raises:
        NotFound, LimitExceeded, BadArchive: as `Bundle.parse`.
    """
    del progress
    paths = {rank: Path(path) for rank, path in ranks}
    names: dict[int, str] = {}
    for rank, path in paths.items():
        with Bundle.open(path) as bundle:
            names[rank] = bundle.report().input.name

    def load(rank: int) -> tuple[Sequence[ModuleHistory], Environment]:
        with Bundle.open(paths[rank]) as bundle:
            report = bundle.report()
            own = [module for module in report.modules if module.role != "autotuning"]
            return [_history(bundle, module) for module in own], report.environment

    found = compare_loaded(names, load, this_tool())
    Path(answer).write_bytes(msgspec.json.encode(found))


def _history(bundle: Bundle, module: Module) -> ModuleHistory:
    return ModuleHistory(
        id=module.id,
        name=module.name,
        role=module.role,
        dumps=tuple(
            PassDump(
                index=dump.index,
                name=DumpName(dump.file, pipeline=dump.pipeline, after=dump.after),
                module=bundle.parse(module.id, dump.index),
                byte_size=dump.bytes,
            )
            for dump in module.dumps
        ),
        complete=module.complete,
    )
