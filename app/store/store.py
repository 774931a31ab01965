"""One store opened by one process: database, blobs, scratch space, and the lock of its folder.

By default all of it stands in the folder, which is then this process's alone. Where the database
or the blobs stand elsewhere, other processes may work on them at the same time: what looks
unfinished there may be theirs, and is left to the sweep and to the watch over leases.
"""

import fcntl
import shutil
import time
from pathlib import Path
from typing import IO, Self

from app.errors import UsageError
from app.settings import Settings
from app.store.blobs import DEFAULT_CACHE_BYTES, Blobs
from app.store.database import open_database
from app.store.jobs import JobQueue
from app.store.ledger import DEFAULT_GRACE_S, Ledger
from app.store.reports import Reports
from app.store.tokens import Tokens
from app.store.uploads import Uploads


class Store:
    """Everything kept; `close` it, or use it as a context.

    Attributes:
        reports: rows about reports.
        jobs: the queue.
        blobs: bytes.
        tokens: of programs that speak to the server.
        ledger: which blobs are kept, and for whom.
        uploads: dumps that arrive in parts.
        folder: what is this process's own: scratch space, copies of blobs, parts of uploads.
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
        is_guest: bool = False,
    ) -> None:
        """Open the store of `folder`, which is made when missing; `floor_bytes` stay free.

        `database` and `blobs` are addresses; what is not given stands in the folder. A guest looks
        at a store beside the process that has it open: it takes no lock and clears nothing up.

        Raises:
            UsageError: another process has the folder open (`data_dir_in_use`), or an address is
                none that can be used.
            StoreUnavailable: the database does not answer.
            OSError: the folder cannot be made or written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder.resolve()
        self.is_alone = not database and not blobs
        self._lock = None if is_guest else _locked(self.folder / "lock")
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
                self.ledger = Ledger(self._engine, self.blobs, grace_s=grace_s)
                self.reports = Reports(self._engine, self.ledger)
                self.jobs = JobQueue(self._engine, self.ledger)
                self.tokens = Tokens(self._engine)
                self.uploads = Uploads(self._engine, self.folder / "uploads")
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
            is_guest=is_guest,
        )

    def scratch(self, name: str) -> Path:
        """A new empty folder for one piece of work; whoever asks for it removes it."""
        folder = self._scratch / name
        folder.mkdir(parents=True)
        return folder

    def close(self) -> None:
        """Let go of the database and the lock."""
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


def _locked(path: Path) -> IO[bytes]:
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise UsageError(
            "it is in use by another server",
            place=str(path.parent),
            next_step="Stop that one, or choose another folder with HLOSCOPE_DATA_DIR.",
            code="data_dir_in_use",
        ) from None
    return file
