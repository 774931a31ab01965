"""Which workers are lost, found without comparing any two clocks.

A worker renews its leases twice a second, and each renewal differs from the one before. Whoever
watches counts, by a clock of its own that only goes forward, how long it has seen a lease stay the
same. So a clock that is set, on any machine or in the database, takes no lease from anybody. Time
in which the watcher could not look (the database was away, the machine slept) does not count
either: the workers could not renew in it.
"""

from collections.abc import Sequence

from app.store import Lease

LEASE_S = 15.0
"""How long a lease must stay unchanged before its holder is given up."""

RENEW_S = 0.5
LOOK_S = 2.0
"""Seconds from one look to the next."""


class LeaseWatch:
    """Counts for each lease how long it has been seen unchanged."""

    def __init__(self, *, lease_s: float = LEASE_S, look_s: float = LOOK_S) -> None:
        self._lease_s = lease_s
        self._most_s = 2 * look_s
        self._unchanged: dict[Lease, float] = {}
        self._looked: float | None = None

    def look(self, leases: Sequence[Lease], *, at: float) -> tuple[Lease, ...]:
        """The leases whose holders are lost, of those that stand in the rows at the time `at`.

        `at` is in seconds of a clock that only goes forward.
        """
        passed = 0.0 if self._looked is None else min(at - self._looked, self._most_s)
        self._looked = at
        self._unchanged = {
            lease: self._unchanged[lease] + passed if lease in self._unchanged else 0.0
            for lease in leases
        }
        return tuple(lease for lease, s in self._unchanged.items() if s >= self._lease_s)
