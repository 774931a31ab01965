"""Bytes by their digest, in a folder: written once, never changed, shared by whoever needs them.

A blob is first received under a random name while its digest is being computed, and gets its own
name in one step that fails where the name is taken: then the same bytes are there already. Calls
block; a server makes them in threads.
"""

import errno
import hashlib
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import obstore
from obstore.exceptions import AlreadyExistsError
from obstore.store import LocalStore

_RECEIVING = "incoming"
_KEPT = "sha256"
_COPY_BYTES = 1 << 20


class NoSpace(Exception):
    """The disk is full, or has less room left than it must keep."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """Bytes received in full and not yet kept; `sha256` will be their name."""

    place: str
    sha256: str
    bytes: int


class BlobWriter:
    """Receives one blob piece by piece; left by an exception or `abort`, nothing remains."""

    def __init__(self, store: LocalStore, place: str) -> None:
        self._place = place
        self._digest = hashlib.sha256()
        self._writer: obstore.WritableFile | None = obstore.open_writer(store, place)
        self.bytes = 0

    def write(self, data: bytes) -> None:
        """Add `data`.

        Raises:
            NoSpace: the disk is full.
        """
        assert self._writer is not None, "the blob is closed"
        self._digest.update(data)
        self.bytes += len(data)
        try:
            self._writer.write(data)
        except OSError as error:
            self.abort()
            raise _told_apart(error) from error

    def finish(self) -> Incoming:
        """All is there.

        Raises:
            NoSpace: the disk is full.
        """
        assert self._writer is not None, "the blob is closed"
        writer, self._writer = self._writer, None
        try:
            writer.close()
        except OSError as error:
            raise _told_apart(error) from error
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
    """The folder of blobs at `root`, which must keep `floor_bytes` of its disk free."""

    def __init__(self, root: Path, *, floor_bytes: int = 0) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self._root = root
        self._store = LocalStore(root)
        self._floor_bytes = floor_bytes

    def room(self) -> int:
        """Bytes that may still be written."""
        return max(0, shutil.disk_usage(self._root).free - self._floor_bytes)

    def receive(self) -> BlobWriter:
        """A writer for a new blob."""
        return BlobWriter(self._store, f"{_RECEIVING}/{uuid.uuid4().hex}")

    def receive_file(self, path: Path) -> Incoming:
        """A copy of the file at `path`."""
        with self.receive() as writer, path.open("rb") as file:
            while chunk := file.read(_COPY_BYTES):
                writer.write(chunk)
            return writer.finish()

    def keep(self, incoming: Incoming) -> None:
        """Give received bytes their name, or drop them where the same bytes are kept already."""
        try:
            obstore.rename(self._store, incoming.place, _name(incoming.sha256), overwrite=False)
        except AlreadyExistsError:
            obstore.delete(self._store, incoming.place)

    def discard(self, incoming: Incoming) -> None:
        """Drop received bytes; does nothing where they were kept or dropped before."""
        try:
            obstore.delete(self._store, incoming.place)
        except FileNotFoundError:
            return

    def path(self, sha256: str) -> Path:
        """The file that holds a blob, to be read only."""
        return self._root / _name(sha256)

    def has(self, sha256: str) -> bool:
        """The blob is there."""
        return self.path(sha256).is_file()

    def delete(self, sha256: str) -> None:
        """Forget a blob; does nothing where it is not."""
        try:
            obstore.delete(self._store, _name(sha256))
        except FileNotFoundError:
            return

    def kept(self) -> Iterator[str]:
        """The digests of all blobs, in no order."""
        for path in (self._root / _KEPT).glob("??/*"):
            yield path.name

    def drop_unfinished(self) -> int:
        """Remove what earlier processes left half received; says how many."""
        folder = self._root / _RECEIVING
        left = [path for path in folder.glob("*") if path.is_file()]
        for path in left:
            path.unlink(missing_ok=True)
        return len(left)


def _name(sha256: str) -> str:
    return f"{_KEPT}/{sha256[:2]}/{sha256}"


def _told_apart(error: OSError) -> Exception:
    # obstore hands the system's number over in words only: "... (os error 28)".
    full = (errno.ENOSPC, errno.EDQUOT)
    if any(f"(os error {number})" in str(error) for number in full):
        return NoSpace("no space left on the disk")
    return error
