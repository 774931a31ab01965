"""What a session may use, and whom it tells and asks."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.model.dump import DumpContents
from app.model.report import Report
from app.replay.experiments import Told
from app.replay.outcome import Attempt

Examine = Callable[[Path, str], tuple[Report, DumpContents | None]]
"""The report on a dump's folder, made by a run of the release named, and what it was made from.

It raises `InputError` for a folder that holds no dump.
"""


def _quiet(name: str, attempt: Attempt) -> None:
    del name, attempt


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how much: seconds for a compile and for all, compiles at once (0: all cores)."""

    timeout_s: float = 300.0
    budget_s: float = 600.0
    jobs: int = 0
    told: Told = _quiet
    examine: Examine | None = None
