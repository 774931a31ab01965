"""Runs jobs on this machine: a few threads, each minding one disposable child at a time.

Beside the threads that take any job there is one that takes small ones only, so that none of them
waits behind giants.
"""

import logging
import threading
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from app.jobs.children import prepare_children
from app.jobs.leases import LEASE_S
from app.jobs.sweeper import Sweeper
from app.jobs.worker import ANALYSIS, Worker
from app.settings import Settings
from app.store import Store, StoreUnavailable

_LOG = logging.getLogger(__name__)

SMALL_BYTES = 4 << 20
"""Bytes of the largest upload, as sent, that the lane of small ones takes. A dump of 1.3 MB takes
a second, so what waits in that lane waits for seconds."""

_POLL_S = 2.0
_STOP_S = 10.0


class LocalRunner:
    """Works through the queue of `store` with `settings.job_workers` threads and one more.

    With no workers it only gives up lost ones of other processes. `target` is what a
    child calls, found in `paths` beside the application's own modules.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        *,
        target: str = ANALYSIS,
        paths: Sequence[Path] = (),
    ) -> None:
        self._store = store
        self._workers = settings.job_workers
        self._worker = Worker(store, settings, target=target, paths=paths)
        self._sweeper = Sweeper(store)
        self._name = uuid.uuid4().hex
        self._stopping = threading.Event()
        self._woken = threading.Condition()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin to work."""
        self._sweeper.start()
        if not self._workers:
            return
        prepare_children()
        lanes = {f"job-{number}": None for number in range(self._workers)}
        for name, most_bytes in (lanes | {"job-small": SMALL_BYTES}).items():
            thread = threading.Thread(target=self._work, args=(most_bytes,), name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def wake(self) -> None:
        """Look at the queue, and at the reports being worked on, now."""
        self._worker.hurry()
        self._tell()

    def stop(self) -> None:
        """Kill the children, queue their jobs again and end the threads."""
        self._stopping.set()
        self._worker.stop()
        self._sweeper.stop()
        self._tell()
        for thread in self._threads:
            thread.join(_STOP_S)

    def _tell(self) -> None:
        with self._woken:
            self._woken.notify_all()

    def _work(self, most_bytes: int | None) -> None:
        while not self._stopping.is_set():
            try:
                claimed = self._store.jobs.claim(
                    self._name, now=time.time(), lease_s=LEASE_S, most_bytes=most_bytes
                )
                if claimed is not None:
                    self._worker.work_at(claimed)
                    continue
            except StoreUnavailable as error:
                _LOG.warning("the queue cannot be read: %s", error)
            except Exception:
                # The disk is in trouble: the lease is taken back, and the job tried again.
                _LOG.exception("a worker could not go on")
            with self._woken:
                if not self._stopping.is_set():
                    self._woken.wait(_POLL_S)
