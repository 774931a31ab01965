"""A thread that gives up lost workers; each process that has to do with jobs has one.

That several look at the same rows does no harm: the first to take a lease back wins.
"""

import logging
import threading
import time
from collections.abc import Callable

from app.jobs.leases import LEASE_S, LOOK_S, LeaseWatch
from app.store import Store, StoreUnavailable

_LOG = logging.getLogger(__name__)
_STOP_S = 10.0


class Sweeper:
    """Takes back the leases of lost workers of `store`, and calls `then` after each look."""

    def __init__(
        self,
        store: Store,
        then: Callable[[], None] = lambda: None,
        *,
        lease_s: float = LEASE_S,
        look_s: float = LOOK_S,
    ) -> None:
        self._store = store
        self._then = then
        self._look_s = look_s
        self._watch = LeaseWatch(lease_s=lease_s, look_s=look_s)
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._sweep, name="job-sweeper", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def wake(self) -> None:
        """Look now."""
        self._woken.set()

    def stop(self) -> None:
        """Look no more."""
        self._stopping.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_S)

    def _sweep(self) -> None:
        while not self._stopping.is_set():
            try:
                self._look()
            except StoreUnavailable as error:
                _LOG.warning("the queue cannot be looked at: %s", error)
            except Exception:
                _LOG.exception("lost workers could not be looked for")
            self._woken.wait(self._look_s)
            self._woken.clear()

    def _look(self) -> None:
        lost = self._watch.look(self._store.jobs.leases(), at=time.monotonic())
        for lease in lost:
            if self._store.jobs.take_back(lease, now=time.time()):
                _LOG.warning(
                    "job %d: attempt %d by %s is given up", lease.job_id, lease.attempt, lease.owner
                )
        self._then()
