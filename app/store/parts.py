"""The bytes of uploads that are not complete: a file that grows, or objects one after the other.

How much has come is what stands there, so nothing that is written down can disagree with it. A
store that is one process's own keeps a file for each upload; where several servers share a store,
each part is an object named by where it begins, so that any of them can take the next one, and of
two that come at once only one is taken.
"""

import contextlib
import errno
import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

import obstore
from obstore.exceptions import AlreadyExistsError

from app.store.blobs import Blobs, Incoming
from app.store.faults import NoSpace
from app.store.places import faults_told_apart

_KEY = re.compile(r"[0-9a-f]{64}")
_FOLDER = "parts"


class Parts(Protocol):
    """The bytes of all uploads, by key; every method blocks.

    Attributes:
        piece_bytes: how much is best added at once.
    """

    piece_bytes: int

    def begin(self, key: str) -> None:
        """Make room for an upload without a byte."""
        ...

    def size(self, key: str) -> int | None:
        """Bytes that are there; None where the upload is gone or another server's."""
        ...

    def append(self, key: str, data: bytes, at: int) -> bool:
        """Add what begins at the byte `at`; False where the end is elsewhere, or all is gone.

        Raises:
            NoSpace: the disk is full.
        """
        ...

    def first_bytes(self, key: str, most: int) -> bytes:
        """The beginning of an upload."""
        ...

    def take(self, key: str) -> Incoming:
        """All of an upload as received bytes; the parts stay until they are deleted."""
        ...

    def delete(self, key: str) -> None:
        """Forget the bytes of an upload; does nothing where there are none."""
        ...

    def keys(self, *, older_than_s: float = 0.0) -> Iterable[str]:
        """The uploads that have bytes, none of them added so lately."""
        ...


class FileParts:
    """A file for each upload in `folder`; what is complete goes to `blobs`."""

    piece_bytes = 1 << 20

    def __init__(self, folder: Path, blobs: Blobs) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._blobs = blobs

    def begin(self, key: str) -> None:
        """As `Parts`."""
        self._path(key).touch()

    def size(self, key: str) -> int | None:
        """As `Parts`."""
        path = self._path(key)
        return path.stat().st_size if path.is_file() else None

    def append(self, key: str, data: bytes, at: int) -> bool:
        """As `Parts`."""
        try:
            # Not by mode "a", which would make the file of an upload that was dropped anew.
            with self._path(key).open("r+b") as file:
                if file.seek(0, os.SEEK_END) != at:
                    return False
                file.write(data)
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise NoSpace("no space left on the disk") from error
            raise
        return True

    def first_bytes(self, key: str, most: int) -> bytes:
        """As `Parts`."""
        with self._path(key).open("rb") as file:
            return file.read(most)

    def take(self, key: str) -> Incoming:
        """As `Parts`."""
        return self._blobs.take_file(self._path(key))

    def delete(self, key: str) -> None:
        """As `Parts`."""
        self._path(key).unlink(missing_ok=True)

    def keys(self, *, older_than_s: float = 0.0) -> Iterable[str]:
        """As `Parts`."""
        before = time.time() - older_than_s
        for path in self._folder.glob("*.part"):
            with contextlib.suppress(FileNotFoundError):
                if _KEY.fullmatch(path.stem) and path.stat().st_mtime <= before:
                    yield path.stem

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.part"


class ObjectParts:
    """Objects beside `blobs`, which every server that shares these sees."""

    piece_bytes = 8 << 20

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def begin(self, key: str) -> None:
        """As `Parts`: the row alone says that there is an upload."""

    def size(self, key: str) -> int | None:
        """As `Parts`."""
        places = self._places(key)
        if not places:
            return 0
        last, size = places[-1]
        return int(last.rpartition("/")[2]) + size

    def append(self, key: str, data: bytes, at: int) -> bool:
        """As `Parts`."""
        place = f"{_FOLDER}/{key}/{at:020d}"
        try:
            with faults_told_apart():
                obstore.put(self._blobs.objects, place, data, mode="create")
        except AlreadyExistsError:
            return False
        return True

    def first_bytes(self, key: str, most: int) -> bytes:
        """As `Parts`."""
        found = b""
        for data in self._pieces(key):
            found += data
            if len(found) >= most:
                break
        return found[:most]

    def take(self, key: str) -> Incoming:
        """As `Parts`."""
        with self._blobs.receive() as writer:
            for data in self._pieces(key):
                writer.write(data)
            return writer.finish()

    def delete(self, key: str) -> None:
        """As `Parts`."""
        for place, _, _ in list(self._blobs.listing(f"{_FOLDER}/{key}")):
            with faults_told_apart(), contextlib.suppress(FileNotFoundError):
                obstore.delete(self._blobs.objects, place)

    def keys(self, *, older_than_s: float = 0.0) -> Iterable[str]:
        """As `Parts`."""
        newest: dict[str, float] = {}
        for place, _, modified in self._blobs.listing(_FOLDER):
            key = place.split("/")[-2]
            newest[key] = max(modified, newest.get(key, 0.0))
        before = time.time() - older_than_s
        return [key for key, modified in newest.items() if modified <= before]

    def _places(self, key: str) -> list[tuple[str, int]]:
        """Places and sizes of the parts that follow one another from the first byte on."""
        found: list[tuple[str, int]] = []
        end = 0
        for place, size, _ in sorted(self._blobs.listing(f"{_FOLDER}/{key}")):
            # What a late server added beyond a gap is none of it.
            if int(place.rpartition("/")[2]) == end:
                found.append((place, size))
                end += size
        return found

    def _pieces(self, key: str) -> Iterator[bytes]:
        for place, _ in self._places(key):
            with faults_told_apart():
                data = bytes(obstore.get(self._blobs.objects, place).bytes())
            yield data
