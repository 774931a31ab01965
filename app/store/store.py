"""The store of one data folder: database, blobs, scratch space, and the lock that guards them."""

import fcntl
import shutil
from pathlib import Path
from typing import IO, Self

from app.errors import UsageError
from app.store.blobs import Blobs
from app.store.database import open_database
from app.store.jobs import JobQueue
from app.store.reports import Reports
from app.store.uploads import Uploads


class Store:
    """Everything kept in one folder; `close` it, or use it as a context.

    Attributes:
        reports: rows about reports.
        jobs: the queue.
        blobs: bytes.
        uploads: dumps that arrive in parts.
        folder: where it all stands.
    """

    def __init__(self, folder: Path, *, floor_bytes: int = 0) -> None:
        """Open the store in `folder`, which is made when missing; `floor_bytes` stay free.

        Raises:
            UsageError: another process has it open (`data_dir_in_use`).
            OSError: the folder cannot be made or written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder.resolve()
        self._lock = _locked(self.folder / "lock")
        try:
            self._engine = open_database(self.folder / "hloscope.sqlite")
            self.blobs = Blobs(self.folder / "blobs", floor_bytes=floor_bytes)
            self.reports = Reports(self._engine, self.blobs)
            self.jobs = JobQueue(self._engine, self.blobs)
            self.uploads = Uploads(self._engine, self.folder / "uploads")
            self._tidy_up()
        except BaseException:
            self._lock.close()
            raise

    def scratch(self, name: str) -> Path:
        """A new empty folder for one piece of work; whoever asks for it removes it."""
        folder = self._scratch / name
        folder.mkdir(parents=True)
        return folder

    def close(self) -> None:
        """Let go of the database and the lock."""
        self._engine.dispose()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _scratch(self) -> Path:
        return self.folder / "work"

    def _tidy_up(self) -> None:
        # The lock says that no other process works here: what looks unfinished is.
        shutil.rmtree(self._scratch, ignore_errors=True)
        self.blobs.drop_unfinished()
        self.uploads.drop_orphans()
        self.reports.drop_unreferenced_blobs()
        self.jobs.requeue_orphans()


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
