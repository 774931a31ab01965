"""A dump given on the command line becomes a report with a link that outlives restarts.

Its id and the token that deletes it are kept in the data folder, readable by its owner alone,
under the digest of what was given: the same sample is analysed once, and again only by another
version of the program.
"""

import hashlib
import io
import json
import os
import tarfile
import time
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from app.errors import UsageError
from app.store import BlobWriter, Incoming, NewReport, Question, ReceivedFile, Secrets, Store
from app.web.receiving import clean_label

_KNOWN = "samples.json"


def place_sample(store: Store, sample: Path | None, logs: Sequence[Path]) -> str:
    """The id of the sample's report, whose analysis is queued unless it is there already.

    Raises:
        UsageError: a file is not there or cannot be read.
    """
    files = [_received(store, "log", path) for path in logs]
    if sample is not None:
        files.insert(0, _received(store, "archive", sample))
    known = _KnownSamples(store.folder / _KNOWN)
    digest = hashlib.sha256("".join(file.data.sha256 for file in files).encode()).hexdigest()
    version = metadata.version("hloscope")
    entry = known.get(digest)
    row = store.reports.find(entry["id"]) if entry else None
    if entry is None or row is None:
        new = NewReport(files[0].name, Question(), tuple(files))
        secrets = Secrets(entry["id"], entry["delete_token"]) if entry else None
        secrets = store.reports.create(new, now=time.time(), secrets=secrets)
        entry = {"id": secrets.report_id, "delete_token": secrets.delete_token}
    else:
        for file in files:
            store.blobs.discard(file.data)
        if entry["version"] != version or row.state == "failed":
            store.reports.requeue(row.key, now=time.time())
    known.put(digest, {**entry, "version": version})
    return entry["id"]


class _KnownSamples:
    """The file that remembers the samples' ids."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._entries: dict[str, dict[str, str]] = json.loads(path.read_bytes())
        except (FileNotFoundError, ValueError):
            # A power cut may have left it without its bytes: the samples get new ids.
            self._entries = {}

    def get(self, digest: str) -> dict[str, str] | None:
        return self._entries.get(digest)

    def put(self, digest: str, entry: dict[str, str]) -> None:
        self._entries[digest] = entry
        unfinished = self._path.with_suffix(".part")
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(self._entries, file, indent=1)
        unfinished.replace(self._path)


def _received(store: Store, role: Any, path: Path) -> ReceivedFile:
    label = clean_label(path.resolve().name, default=role)
    try:
        if path.is_dir():
            return ReceivedFile(role, f"{label}.tar", _packed(store, path, label))
        return ReceivedFile(role, label, store.blobs.receive_file(path))
    except OSError as error:
        raise UsageError(
            f"it cannot be read: {error.strerror or error}", place=str(path), code="unreadable"
        ) from error


def _packed(store: Store, folder: Path, label: str) -> Incoming:
    with store.blobs.receive() as writer:
        with tarfile.open(fileobj=_WriteOnly(writer), mode="w|") as tar:
            add_folder(tar, folder, label)
        return writer.finish()


def add_folder(tar: tarfile.TarFile, folder: Path, label: str) -> None:
    """Add the folder's regular files below `label`: the same bytes for the same files.

    Raises:
        OSError: one of them cannot be read.
    """
    for path in _files_under(folder):
        member = tarfile.TarInfo(f"{label}/{path.relative_to(folder)}")
        with path.open("rb") as file:
            member.size = os.fstat(file.fileno()).st_size
            tar.addfile(member, file)


def _files_under(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
            if path.is_file() and not path.is_symlink():
                yield path


class _WriteOnly(io.RawIOBase):
    """A file for `tarfile` to write to."""

    def __init__(self, writer: BlobWriter) -> None:
        self._writer = writer

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._writer.write(bytes(data))
        return len(data)
