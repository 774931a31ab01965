"""Runs jobs on this machine: a few threads, each minding one disposable child at a time."""

import logging
import shutil
import threading
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.jobs.budget import limits_for, portable_settings
from app.jobs.endings import NO_SPACE, problem_of
from app.jobs.runner import FIRST_RESULT, MOST_FIRST_RESULTS
from app.sandbox import Ending, Limits, Outcome, run_child
from app.settings import Settings
from app.store import Attachment, Job, NoSpace, ReportRow, Store

_LOG = logging.getLogger(__name__)

# By name, not imported: the server itself never loads the analysis.
ANALYSIS = "app.jobs.analysis:analyse_upload"
REDACTION = "app.jobs.redacting:redact_report"

_LEASE_S = 30.0
_RENEW_S = 0.5
_POLL_S = 2.0
_STOP_S = 10.0


class LocalRunner:
    """Works through the queue of `store` with `settings.job_workers` threads.

    `target` is what a child calls, found in `paths` beside the application's own modules.
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
        self._settings = settings
        self._target = target
        self._paths = tuple(paths)
        self._name = uuid.uuid4().hex
        self._stopping = threading.Event()
        self._woken = threading.Condition()
        self._watches: set[_Watch] = set()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin to work."""
        for number in range(self._settings.job_workers):
            thread = threading.Thread(target=self._work, name=f"job-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def wake(self) -> None:
        """Look at the queue, and at the reports being worked on, now."""
        with self._woken:
            for watch in self._watches:
                watch.hurry()
            self._woken.notify_all()

    def stop(self) -> None:
        """Kill the children, queue their jobs again and end the threads."""
        self._stopping.set()
        with self._woken:
            for watch in self._watches:
                watch.cancelled.set()
            self._woken.notify_all()
        for thread in self._threads:
            thread.join(_STOP_S)

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                claimed = self._store.jobs.claim(self._name, now=time.time(), lease_s=_LEASE_S)
                if claimed is not None:
                    self._run(claimed)
                    continue
            except Exception:
                # The database or the disk is in trouble: the lease runs out, the job is retried.
                _LOG.exception("a worker could not go on")
            with self._woken:
                if not self._stopping.is_set():
                    self._woken.wait(_POLL_S)

    def _run(self, claimed: Job) -> None:
        row = self._store.reports.find_key(claimed.report_key)
        if row is None:
            return
        source = row if row.parent_key is None else self._store.reports.find_key(row.parent_key)
        if source is None:
            return
        limits = limits_for(self._settings, sum(item.bytes for item in source.attachments))
        folder = self._store.scratch(f"{claimed.id}-{claimed.attempt}")
        watch = _Watch(self._store, claimed)
        with self._woken:
            self._watches.add(watch)
            if self._stopping.is_set():
                watch.cancelled.set()
        try:
            bundle = folder / "report.bundle"
            target, arguments = self._task(row, source, folder)
            outcome = run_child(
                target,
                arguments | {"bundle": str(bundle)},
                limits=limits,
                folder=folder,
                progress=watch.note,
                tick=watch.tick,
                cancelled=watch.cancelled,
                paths=self._paths,
            )
            self._conclude(claimed, row, outcome, limits, bundle)
        finally:
            with self._woken:
                self._watches.discard(watch)
            shutil.rmtree(folder, ignore_errors=True)

    def _conclude(
        self, claimed: Job, row: ReportRow, outcome: Outcome, limits: Limits, bundle: Path
    ) -> None:
        if outcome.ending is Ending.CANCELLED:
            # Somebody deleted the report, and then this changes nothing; or the server stops.
            self._store.jobs.give_back(claimed)
        elif outcome.ending is Ending.OK:
            self._keep(claimed, bundle, outcome.result)
        else:
            problem = problem_of(outcome, limits, name=row.name)
            self._store.jobs.fail(claimed, problem, now=time.time())

    def _keep(self, claimed: Job, bundle: Path, summary: dict[str, Any]) -> None:
        try:
            incoming = self._store.blobs.receive_file(bundle)
        except NoSpace:
            self._store.jobs.fail(claimed, NO_SPACE, now=time.time())
            return
        if not self._store.jobs.finish(claimed, incoming, summary, now=time.time()):
            self._store.blobs.discard(incoming)

    def _task(self, row: ReportRow, source: ReportRow, folder: Path) -> tuple[str, dict[str, Any]]:
        """What the child calls, and what with; a share is made from the bundle of its `source`."""
        if row.redaction is None:
            return self._target, self._question(row, folder)
        held = source.attached("bundle")
        path = str(self._store.blobs.path(held[0].blob)) if held else ""
        logs = [str(self._store.blobs.path(log.blob)) for log in source.attached("log")]
        return REDACTION, {"source": path, "logs": logs, "redaction": row.redaction}

    def _question(self, row: ReportRow, folder: Path) -> dict[str, Any]:
        archive = next(iter(row.attached("archive")), None)
        return {
            "archive": str(self._named(archive, folder)) if archive else None,
            "name": archive.name if archive else "",
            "logs": [
                (log.name, str(self._store.blobs.path(log.blob))) for log in row.attached("log")
            ],
            "flags": row.question.flags,
            "release": row.question.release,
            "hung": row.question.hung,
            "settings": portable_settings(self._settings),
        }

    def _named(self, archive: Attachment, folder: Path) -> Path:
        # A single text says by its name which pass it is from; blobs are named by their digest.
        place = folder / "input"
        place.mkdir()
        (place / archive.name).symlink_to(self._store.blobs.path(archive.blob))
        return place / archive.name


class _Watch:
    """Keeps one job's lease and progress up to date, and cancels it when it is taken away."""

    def __init__(self, store: Store, claimed: Job) -> None:
        self._store = store
        self._claimed = claimed
        self._progress: tuple[str, int, int | None] = ("starting", 0, None)
        self._first: list[str] = []
        self._renew_at = 0.0
        self.cancelled = threading.Event()

    def note(self, stage: str, done: int, total: int | None) -> None:
        words = stage.removeprefix(FIRST_RESULT)
        if words == stage:
            self._progress = (stage, done, total)
        elif len(self._first) < MOST_FIRST_RESULTS:
            self._first.append(words)

    def hurry(self) -> None:
        self._renew_at = 0.0

    def tick(self) -> None:
        if time.monotonic() < self._renew_at:
            return
        self._renew_at = time.monotonic() + _RENEW_S
        mine = self._store.jobs.renew(
            self._claimed,
            now=time.time(),
            lease_s=_LEASE_S,
            progress=self._progress,
            first=self._first,
        )
        if not mine:
            self.cancelled.set()
