"""What was read of a log so far, and what it comes to: each kind of thing kept within bounds."""

from dataclasses import dataclass, field

from app.ingest.failures import fold, in_earnest, names_in, not_heeded
from app.ingest.log_kept import Deferred, Kept, left_out
from app.ingest.log_shapes import Message
from app.ingest.log_surroundings import Surroundings
from app.model.dump import CheckFailure, LogFacts, PipelinerMove, ThreadStack

MOST_STACKS = 512


@dataclass(slots=True)
class LogFindings:
    """What was read so far."""

    failures: Kept[CheckFailure] = field(
        default_factory=lambda: Kept[CheckFailure](most_alike=8, most=2000, last=500)
    )
    surroundings: Surroundings = field(default_factory=Surroundings)
    passes: Kept[str] = field(
        default_factory=lambda: Kept[str](most_alike=1000, most=20_000, last=20_000)
    )
    warnings: Kept[PipelinerMove] = field(
        default_factory=lambda: Kept[PipelinerMove](most_alike=200, most=2000, last=500)
    )
    verbose: Kept[PipelinerMove] = field(
        default_factory=lambda: Kept[PipelinerMove](most_alike=4000, most=4000, last=8000)
    )
    mentions: int = 0
    alone: Deferred[Message] = field(default_factory=lambda: Deferred[Message](10_000, last=100))
    stuck_at: int = 0
    unstuck_at: int = 0
    # Where `hloscope run` says that the time was up; what is printed then, and how it ends there.
    time_up_at: int = 0
    stacks: list[ThreadStack] = field(default_factory=list[ThreadStack])

    def facts(self, name: str, *, lines: int, byte_size: int, repeats: int) -> LogFacts:
        """What all lines of the log called `name` say, of which `repeats` were not read."""
        stated = sorted(self.failures.all(), key=lambda failure: failure.line_number)
        earnest = in_earnest(stated, lines=lines)
        failures = fold(earnest, unstuck_at=self.unstuck_at)
        told = [*self.warnings.all(), *self.verbose.all()]
        return LogFacts(
            failures=failures,
            flags=self.surroundings.flags,
            passes=tuple(self.passes.all()),
            verbose=tuple(sorted(told, key=lambda move: move.line_number)),
            releases=tuple(self.surroundings.releases),
            platforms=tuple(self.surroundings.platforms),
            hung=self.stuck_at > self.unstuck_at or self.time_up_at > 0,
            lines=lines,
            names=names_in(failures),
            byte_size=byte_size,
            remarks=(
                *not_heeded(name, stated, earnest),
                *left_out(
                    name,
                    repeats=repeats,
                    alone=self.alone.dropped,
                    dropped={
                        "failures that tell the same": self.failures.dropped,
                        "warnings": self.warnings.dropped,
                        "lines of passes": self.verbose.dropped + self.passes.dropped,
                    },
                ),
            ),
            stacks=tuple(self.stacks),
        )
