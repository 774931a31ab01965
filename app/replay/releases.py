"""The same module and flags under one release after another: where a failure came and went.

Given a laboratory per release; gives one row a release, oldest first. Nothing is searched by
halves: a failure may come, go and come back, and a release takes seconds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.knowledge.releases import release_key
from app.replay.compiling import Attempt, Kind
from app.replay.experiments import Flags, Laboratory, Variant, compared
from app.replay.search import OutOfBudget
from app.replay.subject import Subject


@dataclass(frozen=True, slots=True)
class ReleaseRow:
    """One release and what became of the module there; None where the time was up."""

    release: str
    attempt: Attempt | None


@dataclass(frozen=True, slots=True)
class ReleaseTable:
    """The rows, oldest release first, and between which neighbours of them the failure changes.

    `first_bad` is None where no release fails so; `first_good` is the first release after the last
    bad one where the module compiles, None where none does.
    """

    rows: tuple[ReleaseRow, ...]

    @property
    def bad(self) -> tuple[str, ...]:
        """The releases with the failure looked for."""
        return tuple(r.release for r in self.rows if r.attempt and r.attempt.kind == Kind.SAME)

    @property
    def first_bad(self) -> str | None:
        """The oldest release tried that has the failure."""
        return next(iter(self.bad), None)

    @property
    def first_good(self) -> str | None:
        """The first release after the last bad one with which the module compiles."""
        if not self.bad:
            return None
        last = release_key(self.bad[-1])
        later = (r for r in self.rows if release_key(r.release) > last)
        return next(
            (r.release for r in later if r.attempt and r.attempt.kind == Kind.COMPILES), None
        )


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
