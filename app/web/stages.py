"""How far an analysis is, in words a person reads, and what of it can be told already."""

from dataclasses import dataclass
from typing import Literal

from app.store import ReportRow

# In the order in which they come.
_STAGES = {
    "starting": "Starting",
    "read": "Reading and parsing files",
    "loops": "Following loops through the passes",
    "rules": "Weighing the evidence",
    "sums": "Adding up modules and lines",
    "bundle": "Writing the report",
    "pairs": "Comparing the texts that changed most",
}


# Comes before the report is written, where somebody asked for it.
_REPLAY = ("replay", "Compiling again")


@dataclass(frozen=True, slots=True)
class StageView:
    """One stage of the analysis; `count` is how far it is, "" where nothing is counted."""

    key: str
    word: str
    state: Literal["done", "now", "later"]
    count: str


def progress_words(row: ReportRow) -> str:
    """`Reading and parsing files: 34 of 109`."""
    if row.state == "queued":
        return "Waiting for a free worker"
    stage = _stages_of(row).get(row.stage or "starting", row.stage.replace("_", " ").capitalize())
    count = _count_of(row)
    again = f" (attempt {row.attempt})" if row.attempt > 1 else ""
    return f"{stage}{': ' if count else ''}{count}{again}"


def stage_views(row: ReportRow) -> tuple[StageView, ...]:
    """All stages; none has begun while the report waits for a worker."""
    stages = _stages_of(row)
    keys = list(stages)
    here = -1
    if row.state == "running":
        here = keys.index(row.stage) if row.stage in stages else 0
    return tuple(
        StageView(
            key=key,
            word=word,
            state="done" if at < here else "now" if at == here else "later",
            count=_count_of(row) if at == here else "",
        )
        for at, (key, word) in enumerate(stages.items())
    )


def _stages_of(row: ReportRow) -> dict[str, str]:
    if not row.question.replay:
        return _STAGES
    stages = list(_STAGES.items())
    stages.insert(list(_STAGES).index("bundle"), _REPLAY)
    return dict(stages)


def first_results(row: ReportRow) -> list[str]:
    """Sentences that can be told before the end, while it is not reached."""
    if row.is_over or row.summary is None:
        return []
    return [str(words) for words in row.summary.get("first", ())]


def _count_of(row: ReportRow) -> str:
    if row.total:
        return f"{row.done:,} of {row.total:,}"
    return f"{row.done:,}" if row.done else ""
