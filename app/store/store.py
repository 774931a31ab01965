"""One store opened by one process: database, blobs, scratch space, and the lock of its folder.

By default all of it stands in the folder, which is then this process's alone. Where the database
or the blobs stand elsewhere, other processes may work on them at the same time: what looks
unfinished there may be theirs, and is left to the sweep and to the watch over leases.
"""

import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from app.settings import Settings
from app.store.blobs import DEFAULT_CACHE_BYTES, Blobs
from app.store.database import open_database
from app.store.folder_lock import locked, usable
from app.store.jobs import JobQueue
from app.store.ledger import DEFAULT_GRACE_S, Ledger
from app.store.parts import FileParts, ObjectParts
from app.store.quota import Quota
from app.store.reports import NO_QUOTA, Reports
from app.store.tokens import Tokens
from app.store.upkeep import Upkeep
from app.store.uploads import Uploads

_DAY_S = 86400.0


@dataclass(frozen=True, slots=True)
class Retired:
    """How many reports, uploads in parts, left blobs and unfinished pieces were deleted."""

    reports: int
    uploads: int
    blobs: int
    unfinished: int


class Store:
    """Everything kept; `close` it, or use it as a context.

    Attributes:
        reports: rows about reports.
        jobs: the queue.
        blobs: bytes.
        tokens: of programs that speak to the server.
        ledger: which blobs are kept, and for whom.
        upkeep: what those ask who run the server.
        uploads: dumps that arrive in parts.
        folder: what is this process's own: scratch space, copies of blobs.
        is_alone: database and blobs stand in the folder, and no other process works on them.
    """

    def __init__(
        self,
        folder: Path,
        *,
        database: str = "",
        blobs: str = "",
        floor_bytes: int = 0,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
        grace_s: float = DEFAULT_GRACE_S,
        quota: Quota = NO_QUOTA,
        keeps_originals: bool = True,
        is_guest: bool = False,
    ) -> None:
        """Open the store of `folder`, which is made when missing; `floor_bytes` stay free.

        `database` and `blobs` are addresses; what is not given stands in the folder. A guest looks
        at a store beside the process that has it open: it takes no lock and clears nothing up.

        Raises:
            UsageError: another process has the folder open (`data_dir_in_use`), it cannot be made
                or written (`data_dir`), or an address is none that can be used.
            StoreUnavailable: the database does not answer.
        """
        with usable(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder.resolve()
        self.is_alone = not database and not blobs
        self._grace_s = grace_s
        self._closing = threading.Event()
        self._retiring = threading.Lock()
        with usable(folder):
            self._lock = None if is_guest else locked(self.folder)
        try:
            self._engine = open_database(database or self.folder / "hloscope.sqlite")
            try:
                self.blobs = Blobs(
                    self.folder / "blobs",
                    url=blobs,
                    floor_bytes=floor_bytes,
                    cache=self.folder / "cache",
                    cache_bytes=cache_bytes,
                )
                self.ledger = Ledger(
                    self._engine, self.blobs, grace_s=grace_s, is_closing=self._closing.is_set
                )
                self.reports = Reports(self._engine, self.ledger, quota)
                self.jobs = JobQueue(self._engine, self.ledger, keeps_originals=keeps_originals)
                self.tokens = Tokens(self._engine)
                self.upkeep = Upkeep(self._engine, self.blobs)
                self.uploads = Uploads(
                    self._engine,
                    FileParts(self.folder / "uploads", self.blobs)
                    if self.is_alone
                    else ObjectParts(self.blobs),
                )
                if not is_guest:
                    self._tidy_up()
            except BaseException:
                self._engine.dispose()
                raise
        except BaseException:
            self._unlock()
            raise

    @classmethod
    def of(cls, settings: Settings, *, is_guest: bool = False) -> Self:
        """The store that `settings` name; raises as the constructor."""
        return cls(
            settings.data_dir,
            database=settings.database_url,
            blobs=settings.blobs_url,
            floor_bytes=settings.min_free_bytes,
            cache_bytes=settings.cache_bytes,
            grace_s=settings.sweep_grace_s,
            quota=Quota(settings.owner_max_reports, settings.owner_max_bytes),
            keeps_originals=settings.keep_originals,
            is_guest=is_guest,
        )

    def retire(self, *, report_days: int, now: float) -> Retired:
        """Delete what has had its time, and what is left over; 0 days keep reports for ever."""
        before = now - report_days * _DAY_S if report_days else None
        with self._retiring:
            reports = self.reports.expire(before=before, now=now)
            uploads = self.uploads.expire(now=now)
            self.uploads.drop_orphans(older_than_s=self._grace_s)
            swept = self.ledger.sweep()
        return Retired(reports, uploads, swept.blobs, swept.unfinished)

    def scratch(self, name: str) -> Path:
        """A new empty folder for one piece of work; whoever asks for it removes it."""
        folder = self._scratch / name
        folder.mkdir(parents=True)
        return folder

    def close(self) -> None:
        """Let go of the database and the lock; a sweep under way ends at its next step."""
        self._closing.set()
        with self._retiring:
            self._engine.dispose()
        self._unlock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _scratch(self) -> Path:
        return self.folder / "work"

    def _tidy_up(self) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)
        self.blobs.drop_unfinished_copies()
        if not self.is_alone:
            return
        # The lock says that no other process works here: what looks unfinished is.
        self.ledger.drop_pins()
        self.ledger.sweep(grace_s=0)
        self.uploads.drop_orphans()
        self.jobs.requeue_orphans(now=time.time())

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
