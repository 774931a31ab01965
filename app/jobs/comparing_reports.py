"""What runs in the child that compares two reports of the server, and how it is started."""

from pathlib import Path

import msgspec

from app.analysis.comparison import Analysed, compare
from app.analysis.comparison_texts import Texts
from app.bundle import Bundle
from app.ingest import Progress
from app.jobs.comparison import answer_of_child
from app.sandbox import Limits
from app.service import this_tool
from app.settings import Settings
from app.store import Problem, Store
from app.views.comparison import ComparisonView, comparison_view

COMPARISON = "app.jobs.comparing_reports:write_comparison"


def compare_reports_in_child(
    store: Store, settings: Settings, a: Path, b: Path
) -> ComparisonView | Problem:
    """The comparison of the reports in two bundles, or why there is none.

    All texts of both are read, so the limits are those of an analysis.
    """
    found = answer_of_child(
        store,
        COMPARISON,
        {"a": str(a), "b": str(b)},
        limits=Limits(
            memory_bytes=settings.job_memory_bytes,
            cpu_s=settings.job_cpu_s,
            wall_s=settings.job_timeout_s,
            may_fork=False,
        ),
        name="the two reports",
    )
    return found if isinstance(found, Problem) else msgspec.json.decode(found, type=ComparisonView)


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
