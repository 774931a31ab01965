"""The same module and flags under one release after another: where a failure came and went.

Given a laboratory per release; gives one row a release, oldest first. Nothing is searched by
halves: a failure may come, go and come back, and a release takes seconds. What the rows mean, and
which releases were not tried, is told by `app.report.releases_tried`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.knowledge.releases import release_key
from app.replay.experiments import Flags, Laboratory, Variant, compared
from app.replay.outcome import Attempt, Kind
from app.replay.search import OutOfBudget
from app.replay.subject import Subject


@dataclass(frozen=True, slots=True)
class ReleaseRow:
    """One release and what became of the module there; None where the time was up."""

    release: str
    attempt: Attempt | None


@dataclass(frozen=True, slots=True)
class ReleaseTable:
    """The rows, oldest release first."""

    rows: tuple[ReleaseRow, ...]

    @property
    def bad(self) -> tuple[str, ...]:
        """The releases with the failure looked for."""
        return tuple(r.release for r in self.rows if r.attempt and r.attempt.kind == Kind.SAME)


def try_releases(
    releases: Sequence[str],
    laboratory_of: Callable[[str], Laboratory],
    subject: Subject,
    flags: Flags,
    signature: str,
) -> ReleaseTable:
    """One row for each of `releases`; `signature` is that of the failure looked for."""
    rows: list[ReleaseRow] = []
    for release in sorted(releases, key=release_key):
        try:
            attempt = laboratory_of(release).try_one(Variant(release, flags, subject))
            rows.append(ReleaseRow(release, compared(attempt, signature)))
        except OutOfBudget:
            rows.append(ReleaseRow(release, None))
    return ReleaseTable(tuple(rows))
