"""Works at claimed jobs, one disposable child each, and writes down how they ended.

What claims the jobs stands elsewhere: threads of this process (`local`), or slots of a broker's
worker (`celery_worker`). A database that is away for a while costs a job nothing: its child works
on, and its end is written when the database is back. What is written is fenced, so a job that was
taken away meanwhile is left alone.
"""

import logging
import shutil
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.jobs.budget import limits_for, portable_settings
from app.jobs.children import run_prepared
from app.jobs.endings import NO_SPACE, problem_of
from app.jobs.leases import LEASE_S, RENEW_S
from app.jobs.room import FULL
from app.jobs.runner import FIRST_RESULT, MOST_FIRST_RESULTS
from app.jobs.upload import Upload
from app.sandbox import ChildLost, Ending, Limits, Outcome
from app.settings import Settings
from app.store import Attachment, Job, NoSpace, ReportRow, Store, StoreUnavailable

_LOG = logging.getLogger(__name__)

# By name, not imported: the server itself never loads the analysis.
ANALYSIS = "app.jobs.analysis:analyse_upload"
REDACTION = "app.jobs.redacting:redact_report"
REPLAY = "app.jobs.replaying:replay_upload"

_RETRY_S = 1.0
_OUTAGE_S = 600.0
"""How long a job that is claimed waits for the bytes that it reads."""


class Worker:
    """Works at jobs of `store` as they are claimed, by several threads if need be.

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
        self._lock = threading.Lock()
        self._watches: set[_Watch] = set()
        self._stopping = threading.Event()

    def hurry(self) -> None:
        """Look at the rows of the jobs being worked at now: one may have been taken away."""
        with self._lock:
            for watch in self._watches:
                watch.hurry()

    def stop(self) -> None:
        """Kill the children; their jobs go back to the queue as if they had not been claimed."""
        self._stopping.set()
        with self._lock:
            for watch in self._watches:
                watch.cancelled.set()

    def work_at(self, claimed: Job) -> None:
        """Do the job, unless its report is gone."""
        row = self._store.reports.find_key(claimed.report_key)
        if row is None:
            return
        source = row if row.parent_key is None else self._store.reports.find_key(row.parent_key)
        if source is None:
            return
        limits = limits_for(
            self._settings,
            sum(item.bytes for item in source.attachments),
            compiles=bool(row.question.replay),
        )
        try:
            folder = self._store.scratch(f"{claimed.id}-{claimed.attempt}")
        except OSError as error:
            if error.errno not in FULL:
                raise
            self._store.jobs.fail(claimed, NO_SPACE, now=time.time())
            return
        watch = _Watch(self._store, claimed)
        with self._lock:
            self._watches.add(watch)
            if self._stopping.is_set():
                watch.cancelled.set()
        try:
            self._work(claimed, row, source, limits, folder, watch)
        finally:
            with self._lock:
                self._watches.discard(watch)
            shutil.rmtree(folder, ignore_errors=True)

    def _work(
        self,
        claimed: Job,
        row: ReportRow,
        source: ReportRow,
        limits: Limits,
        folder: Path,
        watch: "_Watch",
    ) -> None:
        bundle = folder / "report.bundle"
        try:
            with watch.kept():
                target, arguments = self._prepared(row, source, folder, watch)
        except NoSpace:
            self._write(lambda: self._store.jobs.fail(claimed, NO_SPACE, now=time.time()))
            return
        except StoreUnavailable as error:
            _LOG.warning(
                "job %d: attempt %d cannot be begun: %s", claimed.id, claimed.attempt, error
            )
            self._write(lambda: self._leave(claimed, is_lost=not watch.cancelled.is_set()))
            return
        try:
            outcome = run_prepared(
                target,
                arguments | {"bundle": str(bundle)},
                limits=limits,
                folder=folder,
                progress=watch.note,
                tick=watch.tick,
                cancelled=watch.cancelled,
                paths=self._paths,
                # Whatever ended the attempt before ends nobody else's this time.
                apart=claimed.attempt > 1,
            )
        except ChildLost:
            _LOG.warning("job %d: attempt %d lost its child", claimed.id, claimed.attempt)
            self._write(lambda: self._leave(claimed, is_lost=True))
            return
        with watch.kept():
            self._write(lambda: self._conclude(claimed, row, outcome, limits, bundle))

    def _prepared(
        self, row: ReportRow, source: ReportRow, folder: Path, watch: "_Watch"
    ) -> tuple[str, dict[str, Any]]:
        """As `_task`; waits for a store of blobs that is away."""
        deadline = time.monotonic() + _OUTAGE_S
        while True:
            try:
                return self._task(row, source, folder)
            except StoreUnavailable:
                if watch.cancelled.is_set() or time.monotonic() > deadline:
                    raise
            watch.cancelled.wait(_RETRY_S)

    def _leave(self, claimed: Job, *, is_lost: bool) -> None:
        if is_lost:
            self._store.jobs.lose(claimed, now=time.time())
        else:
            self._store.jobs.give_back(claimed)

    def _write(self, step: Callable[[], object]) -> None:
        """Take a step that writes, as often as it takes the database to come back."""
        while True:
            try:
                step()
            except StoreUnavailable as error:
                _LOG.warning("the end of a job cannot be written yet: %s", error)
                if self._stopping.wait(_RETRY_S):
                    raise
            else:
                return

    def _conclude(
        self, claimed: Job, row: ReportRow, outcome: Outcome, limits: Limits, bundle: Path
    ) -> None:
        stopped = self._stopping.is_set() and outcome.ending is not Ending.OK
        if outcome.ending is Ending.CANCELLED or stopped:
            # Somebody deleted the report, and then this changes nothing; or the server stops, and
            # whoever starts in its place may have cleared up what the child was reading.
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
        is_kept = False
        try:
            is_kept = self._store.jobs.finish(claimed, incoming, summary, now=time.time())
        finally:
            # Where the database is away the whole step is taken again, with a copy of its own.
            if not is_kept:
                self._store.blobs.discard(incoming)

    def _task(self, row: ReportRow, source: ReportRow, folder: Path) -> tuple[str, dict[str, Any]]:
        """What the child calls, and what with; a share is made from the bundle of its `source`."""
        if row.question.replay:
            return REPLAY, self._upload(row, folder) | {
                "replay": row.question.replay,
                "root": str(self._settings.replay_dir.expanduser()),
                "budget_s": self._settings.replay_budget_s,
            }
        if row.redaction is None:
            return self._target, self._upload(row, folder)
        held = source.attached("bundle")
        path = str(self._file(held[0].blob)) if held else ""
        logs = [str(self._file(log.blob)) for log in source.attached("log")]
        return REDACTION, {"source": path, "logs": logs, "redaction": row.redaction}

    def _upload(self, row: ReportRow, folder: Path) -> dict[str, Any]:
        archive = next(iter(row.attached("archive")), None)
        upload = Upload(
            archive=str(self._named(archive, folder)) if archive else None,
            name=archive.name if archive else "",
            logs=tuple((log.name, str(self._file(log.blob))) for log in row.attached("log")),
            flags=row.question.flags,
            release=row.question.release,
            hung=row.question.hung,
            settings=portable_settings(self._settings),
        )
        return {"upload": asdict(upload)}

    def _file(self, blob: str) -> Path:
        path = self._store.blobs.path(blob)
        if not path.is_file():
            # The row names it, so it is kept: a child could only call the upload unreadable.
            raise StoreUnavailable(f"the blob {blob} is not there")
        return path

    def _named(self, archive: Attachment, folder: Path) -> Path:
        # A single text says by its name which pass it is from; blobs are named by their digest.
        file = self._file(archive.blob)
        place = folder / "input"
        place.mkdir(exist_ok=True)
        named = place / archive.name
        named.unlink(missing_ok=True)
        named.symlink_to(file)
        return named


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

    @contextmanager
    def kept(self) -> Generator[None]:
        """Renew the lease while the caller copies bytes, which may take minutes."""
        is_over = threading.Event()

        def renew() -> None:
            while not is_over.wait(RENEW_S):
                self.tick()

        renewing = threading.Thread(target=renew, name="lease", daemon=True)
        renewing.start()
        try:
            yield
        finally:
            is_over.set()
            renewing.join()

    def tick(self) -> None:
        if time.monotonic() < self._renew_at:
            return
        self._renew_at = time.monotonic() + RENEW_S
        try:
            mine = self._store.jobs.renew(
                self._claimed,
                now=time.time(),
                lease_s=LEASE_S,
                progress=self._progress,
                first=self._first,
            )
        except StoreUnavailable as error:
            _LOG.warning("job %d: the lease cannot be renewed: %s", self._claimed.id, error)
            return
        if not mine:
            self.cancelled.set()
