"""The workers of one machine over a broker: a Celery worker for all jobs, and one for small ones.

They are processes of their own, started again when they end by themselves. Whatever becomes of
this process, they end with it, and what they were at goes back to the queue.
"""

import json
import logging
import os
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.jobs.celery_app import LARGE_QUEUE, SMALL_QUEUE
from app.jobs.worker import ANALYSIS
from app.sandbox.handles import interpreter_for
from app.settings import Settings, as_environment

_LOG = logging.getLogger(__name__)

_LOOK_S = 0.5
_AGAIN_S = 5.0
_STOP_S = 20.0


@dataclass(frozen=True, slots=True)
class _Kind:
    queues: tuple[str, ...]
    slots: int


class CeleryWorkers:
    """`settings.job_workers` processes for any job, and one for small jobs.

    `target` is what a child calls, found in `paths` beside the application's own modules.
    """

    def __init__(
        self, settings: Settings, *, target: str = ANALYSIS, paths: Sequence[Path] = ()
    ) -> None:
        slots = settings.job_workers
        self._target = target
        self._paths = [str(path) for path in paths]
        self._kinds = (_Kind((SMALL_QUEUE, LARGE_QUEUE), slots), _Kind((SMALL_QUEUE,), 1))
        self._settings = as_environment(settings)

    def work(self, stopping: threading.Event) -> None:
        """Work until `stopping` is set."""
        life, held = os.pipe()
        running: dict[_Kind, subprocess.Popen[bytes]] = {}
        try:
            while not stopping.is_set():
                for kind in self._kinds:
                    if (process := running.get(kind)) is None:
                        running[kind] = self._start(kind, life)
                    elif process.poll() is not None:
                        _LOG.warning("a Celery worker ended by itself: %s", process.returncode)
                        del running[kind]
                        stopping.wait(_AGAIN_S)
                stopping.wait(_LOOK_S)
        finally:
            os.close(held)
            os.close(life)
            for process in running.values():
                _end(process)

    def _start(self, kind: _Kind, life: int) -> subprocess.Popen[bytes]:
        orders = {
            "settings": self._settings,
            "queues": kind.queues,
            "slots": kind.slots,
            "life": life,
            "target": self._target,
            "paths": self._paths,
        }
        process = subprocess.Popen(
            interpreter_for("app.jobs.celery_worker"),
            stdin=subprocess.PIPE,
            pass_fds=(life,),
            # A key of the terminal is for us alone, who tell the others.
            start_new_session=True,
        )
        assert process.stdin is not None
        with process.stdin:
            process.stdin.write(json.dumps(orders).encode())
        return process


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        _LOG.warning("a Celery worker does not end; it is killed")
        process.kill()
        process.wait()
