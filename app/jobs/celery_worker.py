"""One Celery worker: its main process, and the slots it forks, each of which works at one job.

Run by `app.jobs.celery_workers` alone, never imported by others; its orders come as one JSON object
over standard input. All of it lives as long as the pipe that it was given: when the other end is
closed no new job is taken, children are killed and their jobs go back to the queue.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from celery import signals  # pyright: ignore[reportMissingTypeStubs]

from app.jobs.celery_app import TASK, celery_app
from app.jobs.leases import LEASE_S
from app.jobs.worker import Worker
from app.logs import configure
from app.settings import settings_from_environment
from app.store import Store

_END_S = 15.0


class _Slot:
    """What a forked slot works with; it is opened there and never before."""

    def __init__(self, orders: dict[str, Any]) -> None:
        self.settings = settings_from_environment(orders["settings"])
        self._life: int = orders["life"]
        self._target: str = orders["target"]
        self._paths = [Path(path) for path in orders["paths"]]
        self._opened: tuple[Store, Worker, str] | None = None

    def open(self) -> None:
        """Open the store anew: connections and threads do not outlive a fork."""
        store = Store.of(self.settings, is_guest=True)
        worker = Worker(store, self.settings, target=self._target, paths=self._paths)
        name = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:8]}"[:64]
        self._opened = store, worker, name
        _at_the_end_of(self._life, worker.stop)

    def work(self, job_id: int) -> None:
        """Do the job, unless somebody else has it."""
        assert self._opened is not None
        store, worker, name = self._opened
        claimed = store.jobs.claim(name, now=time.time(), lease_s=LEASE_S, job_id=job_id)
        if claimed is not None:
            worker.work_at(claimed)


def main() -> None:
    """Work until the pipe is closed."""
    orders = json.load(sys.stdin)
    slot = _Slot(orders)
    configure(as_json=slot.settings.log_json)
    app = celery_app(slot.settings.broker_url)
    app.task(name=TASK)(slot.work)

    def open_slot(**_: Any) -> None:
        slot.open()

    begun: Any = signals.worker_process_init
    begun.connect(open_slot)
    _at_the_end_of(orders["life"], _end_all)
    app.worker_main(
        [
            "worker",
            f"--queues={','.join(orders['queues'])}",
            f"--concurrency={orders['slots']}",
            f"--hostname={orders['queues'][-1]}-{os.getpid()}@%h",
            "--pool=prefork",
            "--loglevel=WARNING",
            "--without-gossip",
            "--without-mingle",
        ]
    )


def _end_all() -> None:
    """Ask for an end, and make one: a main process that looks for its broker does not listen."""
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_END_S)
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _at_the_end_of(pipe: int, act: Callable[[], None]) -> None:
    def wait() -> None:
        while os.read(pipe, 1):
            pass
        act()

    threading.Thread(target=wait, name="life", daemon=True).start()


if __name__ == "__main__":
    main()
