"""Bytes by their digest, in a folder or a bucket: written once, never changed, shared.

A blob is first received under a random name while its digest is being computed, and gets its own
name in one step that fails where the name is taken: then the same bytes are there already. So no
blob is ever seen in part, and what is kept outlasts a power cut. Whoever reads one reads a file:
the folder's own, or a copy of what stands in a bucket. Calls block; a server makes them in threads.
"""

import contextlib
import hashlib
import shutil
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import obstore
from obstore.exceptions import AlreadyExistsError
from obstore.store import LocalStore, S3Store

from app.store.cache import BlobCache
from app.store.durable import lasting_folder, put_down
from app.store.faults import StoreUnavailable
from app.store.places import faults_told_apart, folder_of, open_bucket

_RECEIVING = "incoming"
_KEPT = "sha256"
_COPY_BYTES = 1 << 20
_RANGE_BYTES = 8 << 20
# What an upload holds in memory at most, where a bucket is slower than its sender.
_PART_BYTES, _PARTS_UNDER_WAY = 8 << 20, 4

MAX_COPY_BYTES = 5 << 30
"""What a bucket copies in one step; larger blobs are copied by us."""

DEFAULT_CACHE_BYTES = 20 << 30

_ObjectStore = LocalStore | S3Store


@dataclass(frozen=True, slots=True)
class Incoming:
    """Bytes received in full and not yet kept; `sha256` will be their name."""

    place: str
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class KeptBlob:
    """A blob as its store lists it; `modified` in Unix seconds of that store's clock."""

    sha256: str
    bytes: int
    modified: float


class BlobWriter:
    """Receives one blob piece by piece; left by an exception or `abort`, nothing remains."""

    def __init__(self, store: _ObjectStore, place: str) -> None:
        self._place = place
        self._digest = hashlib.sha256()
        with faults_told_apart():
            self._writer: obstore.WritableFile | None = _open_writer(store, place)
        self.bytes = 0

    def write(self, data: bytes) -> None:
        """Add `data`.

        Raises:
            NoSpace: the disk is full.
            StoreUnavailable: the store does not answer.
        """
        assert self._writer is not None, "the blob is closed"
        self._digest.update(data)
        self.bytes += len(data)
        try:
            with faults_told_apart():
                self._writer.write(data)
        except BaseException:
            self.abort()
            raise

    def finish(self) -> Incoming:
        """All is there; raises as `write`."""
        assert self._writer is not None, "the blob is closed"
        writer, self._writer = self._writer, None
        with faults_told_apart():
            writer.close()
        return Incoming(self._place, self._digest.hexdigest(), self.bytes)

    def abort(self) -> None:
        """Drop what was written; does nothing after `finish`."""
        # Without a close the writer removes what it staged when it goes.
        self._writer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.abort()


class Blobs:
    """The blobs at `url`, by default in `folder`; `floor_bytes` of its disk stay free.

    Copies of what stands in a bucket are kept in `cache`, at most `cache_bytes` of them. Any
    method raises `StoreUnavailable` where the store does not answer.
    """

    def __init__(
        self,
        folder: Path,
        *,
        url: str = "",
        floor_bytes: int = 0,
        cache: Path | None = None,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
    ) -> None:
        """Open the place.

        Raises:
            UsageError: `url` is no place for blobs.
        """
        self._root = folder_of(url) if url else folder
        self._floor_bytes = floor_bytes
        self._cache: BlobCache | None = None
        self._store: _ObjectStore
        if self._root is not None:
            self._disk = lasting_folder(self._root)
            self._store = LocalStore(self._root)
        else:
            self._disk = folder.with_name("cache") if cache is None else cache
            self._cache = BlobCache(self._disk, max_bytes=cache_bytes)
            self._store = open_bucket(url)

    def room(self) -> int:
        """Bytes that may still be written on this machine."""
        return max(0, shutil.disk_usage(self._disk).free - self._floor_bytes)

    def receive(self) -> BlobWriter:
        """A writer for a new blob."""
        return BlobWriter(self._store, f"{_RECEIVING}/{uuid.uuid4().hex}")

    def receive_file(self, path: Path) -> Incoming:
        """A copy of the file at `path`."""
        with self.receive() as writer, path.open("rb") as file:
            while chunk := file.read(_COPY_BYTES):
                writer.write(chunk)
            return writer.finish()

    def take_file(self, path: Path) -> Incoming:
        """The file at `path`, which nobody writes to any more, without a copy where that goes.

        The two share their bytes until the caller removes the file.
        """
        place = f"{_RECEIVING}/{uuid.uuid4().hex}"
        if self._root is None or not _is_linked(path, self._root / place):
            return self.receive_file(path)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
            return Incoming(place, digest.hexdigest(), file.tell())

    def keep(self, incoming: Incoming) -> None:
        """Give received bytes their name, or drop them where the same bytes are kept already.

        What is kept outlasts a power cut: a bucket promises so, a folder is told to.

        Raises:
            StoreUnavailable: the received bytes are gone.
            NoSpace: the disk is full.
        """
        name = _name(incoming.sha256)
        with faults_told_apart():
            try:
                if self._root is not None:
                    put_down(self._root / incoming.place)
                    lasting_folder((self._root / name).parent)
                self._rename(incoming, name)
            except AlreadyExistsError:
                obstore.delete(self._store, incoming.place)
            except FileNotFoundError as error:
                raise StoreUnavailable("bytes that were received are gone") from error
            if self._root is not None:
                # Also a name that another gave it just now: it must last before our row says so.
                put_down((self._root / name).parent)

    def discard(self, incoming: Incoming) -> None:
        """Drop received bytes; does nothing where they were kept or dropped before."""
        self._delete(incoming.place)

    def path(self, sha256: str) -> Path:
        """A file that holds a blob, to be opened soon and read only; none where it is not kept."""
        if self._root is not None:
            return self._root / _name(sha256)
        assert self._cache is not None
        return self._cache.fetch(sha256, lambda: self.pieces(sha256))

    def pieces(self, sha256: str) -> Iterator[bytes]:
        """The bytes of a blob in their order, as they stand in the store.

        Raises:
            FileNotFoundError: there is no such blob.
        """
        name = _name(sha256)
        with faults_told_apart():
            size = obstore.head(self._store, name)["size"]
        for start in range(0, size, _RANGE_BYTES):
            with faults_told_apart():
                end = min(start + _RANGE_BYTES, size)
                piece = obstore.get_range(self._store, name, start=start, end=end)
            yield bytes(piece)

    def size(self, sha256: str) -> int | None:
        """Bytes of a blob as its store has it; None where it is not kept."""
        with faults_told_apart():
            try:
                return obstore.head(self._store, _name(sha256))["size"]
            except FileNotFoundError:
                return None

    def has(self, sha256: str) -> bool:
        """The blob is there."""
        return self.size(sha256) is not None

    def delete(self, sha256: str) -> None:
        """Forget a blob; does nothing where it is not."""
        self.drop_copy(sha256)
        self._delete(_name(sha256))

    def copies(self) -> tuple[str, ...]:
        """The digests of the blobs of which this machine has copies, in no order."""
        return () if self._cache is None else self._cache.digests()

    def drop_copy(self, sha256: str) -> None:
        """Remove this machine's copy of a blob; does nothing where it has none."""
        if self._cache is not None:
            self._cache.drop(sha256)

    def listed(self) -> Iterator[KeptBlob]:
        """All blobs, in no order."""
        for place, size, modified in self.listing(_KEPT):
            yield KeptBlob(place.rpartition("/")[2], size, modified)

    def kept(self) -> Iterator[str]:
        """The digests of all blobs, in no order."""
        return (blob.sha256 for blob in self.listed())

    def listing(self, folder: str) -> Iterator[tuple[str, int, float]]:
        """Place, bytes and time of all objects below `folder`."""
        # One of its overloads gives arrow's tables, whose types are not installed.
        pages = obstore.list(self._store, prefix=folder)  # pyright: ignore[reportUnknownMemberType]
        with faults_told_apart():
            for page in pages:
                for item in page:
                    yield item["path"], item["size"], item["last_modified"].timestamp()

    @property
    def objects(self) -> _ObjectStore:
        """Where the blobs stand, for what else is put beside them."""
        return self._store

    def drop_unfinished_copies(self) -> None:
        """Remove what earlier processes left half fetched, for one who works here alone."""
        if self._cache is not None:
            self._cache.drop_unfinished()

    def tidy(self, *, older_than_s: float = 0.0) -> int:
        """Remove what was being received so long ago that nobody is at it; says how many."""
        if self._cache is not None:
            self._cache.evict()
        before = time.time() - older_than_s
        if self._root is not None:
            # Not as objects: what a writer had only staged is listed by no store.
            return _drop_files(self._root / _RECEIVING, before)
        old = [place for place, _, modified in self.listing(_RECEIVING) if modified <= before]
        for place in old:
            self._delete(place)
        return len(old)

    def _delete(self, place: str) -> None:
        with faults_told_apart(), contextlib.suppress(FileNotFoundError):
            obstore.delete(self._store, place)

    def _rename(self, incoming: Incoming, name: str) -> None:
        if self._cache is not None and incoming.bytes > MAX_COPY_BYTES:
            self._copy(incoming.place, name)
            obstore.delete(self._store, incoming.place)
        else:
            obstore.rename(self._store, incoming.place, name, overwrite=False)

    def _copy(self, source: str, name: str) -> None:
        """Copy an object that is too large for the bucket to do it in one step."""
        with contextlib.suppress(FileNotFoundError):
            obstore.head(self._store, name)
            return
        size = obstore.head(self._store, source)["size"]
        # Not by `with`, which would close it after a failure too, and so show a part as a whole.
        writer = _open_writer(self._store, name)
        for start in range(0, size, _RANGE_BYTES):
            end = min(start + _RANGE_BYTES, size)
            writer.write(obstore.get_range(self._store, source, start=start, end=end))
        writer.close()


def _is_linked(path: Path, place: Path) -> bool:
    """Another name for the file was made; False on another disk, or one that has no links."""
    place.parent.mkdir(exist_ok=True)
    try:
        place.hardlink_to(path)
    except OSError:
        return False
    return True


def _open_writer(store: _ObjectStore, place: str) -> "obstore.WritableFile":
    return obstore.open_writer(
        store, place, buffer_size=_PART_BYTES, max_concurrency=_PARTS_UNDER_WAY
    )


def _name(sha256: str) -> str:
    return f"{_KEPT}/{sha256[:2]}/{sha256}"


def _drop_files(folder: Path, before: float) -> int:
    gone = 0
    for path in folder.glob("*"):
        with contextlib.suppress(FileNotFoundError):
            if path.is_file() and path.stat().st_mtime <= before:
                path.unlink()
                gone += 1
    return gone
