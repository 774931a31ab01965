"""Copies of blobs on this machine's disk, for whoever reads a bundle or a dump as a file.

A copy is fetched once in pieces, held against its digest, and gets its name only then. Copies that
nobody asked for lately go first when all together are too large; none goes that was asked for
minutes ago, since it may be about to be opened.
"""

import errno
import hashlib
import os
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from app.store.faults import NoSpace, StoreUnavailable

_FRESH_S = 900.0
_STALE_S = 86400.0
_PART = ".part"

Pieces = Callable[[], Iterable[bytes]]


class BlobCache:
    """The copies in `folder`, together at most `max_bytes` and what was used within minutes."""

    def __init__(self, folder: Path, *, max_bytes: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._waiting = Counter[str]()

    def path(self, sha256: str) -> Path:
        """Where the copy of a blob is, or would be."""
        return self._folder / sha256

    def fetch(self, sha256: str, pieces: Pieces) -> Path:
        """The copy of a blob, made from `pieces` when it is not there.

        Where these end with `FileNotFoundError` there is no such file after all.

        Raises:
            StoreUnavailable: what came is not what the digest says.
            NoSpace: the disk is full.
        """
        path = self.path(sha256)
        if _is_used_now(path):
            return path
        with self._alone(sha256):
            if not _is_used_now(path):
                try:
                    self._make(path, pieces)
                except NoSpace:
                    # The disk is smaller than what the copies may take of it.
                    if not self._evict(max_bytes=0):
                        raise
                    self._make(path, pieces)
                self.evict()
        return path

    def digests(self) -> tuple[str, ...]:
        """Of which blobs there are copies, in no order."""
        return tuple(path.name for _, _, path in _copies_in(self._folder))

    def drop(self, sha256: str) -> None:
        """Forget a copy; whoever has it open reads on."""
        self.path(sha256).unlink(missing_ok=True)

    def evict(self) -> int:
        """Remove what was not used for a day, and the oldest of what is too much; says how many."""
        return self._evict(max_bytes=self._max_bytes)

    def _evict(self, *, max_bytes: int) -> int:
        now = time.time()
        copies = sorted(_copies_in(self._folder))
        total = sum(size for _, size, _ in copies)
        gone = 0
        for used, size, path in copies:
            is_due = now - used > _STALE_S or total > max_bytes
            if is_due and now - used > _FRESH_S:
                path.unlink(missing_ok=True)
                total -= size
                gone += 1
        return gone

    def drop_unfinished(self) -> None:
        """Remove what earlier processes left half fetched."""
        for path in self._folder.glob(f"*{_PART}"):
            path.unlink(missing_ok=True)

    def _make(self, path: Path, pieces: Pieces) -> None:
        digest = hashlib.sha256()
        unfinished = path.with_name(f"{uuid.uuid4().hex}{_PART}")
        is_whole = False
        try:
            with unfinished.open("wb") as file:
                for piece in pieces():
                    digest.update(piece)
                    file.write(piece)
            if digest.hexdigest() != path.name:
                raise StoreUnavailable("a blob came with other bytes than its digest says")
            is_whole = True
            unfinished.replace(path)
        except FileNotFoundError as error:
            if is_whole:
                # Another process of this folder began anew, and took it for left over.
                raise StoreUnavailable("a copy was removed while it was made") from error
            return
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise NoSpace("no space left on the disk") from error
            raise
        finally:
            unfinished.unlink(missing_ok=True)

    @contextmanager
    def _alone(self, sha256: str) -> Generator[None]:
        """Let one thread after the other fetch a blob."""
        with self._lock:
            self._waiting[sha256] += 1
            own = self._locks.setdefault(sha256, threading.Lock())
        try:
            with own:
                yield
        finally:
            with self._lock:
                self._waiting[sha256] -= 1
                if not self._waiting[sha256]:
                    del self._waiting[sha256], self._locks[sha256]


def _is_used_now(path: Path) -> bool:
    """The copy is there; it counts as used from now on."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


def _copies_in(folder: Path) -> Iterable[tuple[float, int, Path]]:
    for path in folder.iterdir():
        try:
            stat = path.stat()
        except FileNotFoundError:
            continue
        if path.suffix != _PART:
            yield stat.st_mtime, stat.st_size, path
