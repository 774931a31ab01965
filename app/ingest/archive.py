"""Opens what the user gave, whatever it is, and hands on its members one after another.

Folders, tar (plain, gzip, zstd), zip, or one text (plain, gzip, zstd): told apart by the first
bytes, never by name. Nothing is written to disk but a zip that comes through a pipe, which is
copied as it is to an unnamed temporary file, since its directory stands at the end.
"""

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from app.errors import BadArchive, LimitExceeded, NotADump
from app.ingest.members import Member, no_pieces
from app.ingest.streams import (
    GZIP_MAGIC,
    PIECE_BYTES,
    ZSTD_MAGICS,
    Budget,
    Damage,
    Peekable,
    RawStream,
    Readable,
    Spending,
    unpack_gzip,
    unpack_zstd,
)
from app.ingest.tar import BLOCK, is_tar, read_tar
from app.ingest.zip_archive import EMPTY_MAGIC, LOCAL_MAGIC, SPLIT_MAGIC, read_zip
from app.settings import Settings

_UNSUPPORTED = {
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\x07": "RAR",
}
# Where a tar header says what it is; a broken one may still say so.
_USTAR = slice(257, 262)
_MLIR = (b"module @", b"module attributes", b"module {", b"#loc")
_FOREIGN = (b"\x7fELF", b"%PDF", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"MZ\x90")


@dataclass(slots=True)
class Opened:
    """An input being read.

    `damage` is set when its end is broken, `trailing` when bytes follow the archive's end; both are
    known only after the last member. `count` and `sha256` are of the bytes as sent.
    """

    name: str
    budget: Budget
    members: Iterator[Member] = field(default_factory=lambda: iter(()))
    raw: RawStream | None = None
    stream: BinaryIO | None = None
    is_archive: bool = True
    damage: Damage | None = None
    trailing: bool = False

    def close(self) -> None:
        """Close what is read from."""
        if self.stream is not None:
            self.stream.close()

    @property
    def count(self) -> int:
        """Bytes of the archive as sent, 0 for a folder."""
        return self.raw.count if self.raw else 0

    @property
    def sha256(self) -> str:
        """Digest of the archive's bytes, empty for a folder."""
        return self.raw.sha256 if self.raw else ""


def open_path(path: Path, settings: Settings) -> Opened:
    """Open a folder or file.

    Raises:
        NotADump: there is no such file, or it cannot be read.
    """
    opened = Opened(path.resolve().name, Budget(settings.max_unpacked_bytes))
    if path.is_dir():
        opened.members = _folder_members(path, opened.budget, settings)
        return opened
    try:
        file = path.open("rb")
    except OSError as error:
        raise NotADump(
            f"cannot be opened: {error.strerror or error}", place=str(path), code="unreadable"
        ) from error
    return open_stream(file, path.name, settings)


def open_stream(stream: BinaryIO, name: str, settings: Settings) -> Opened:
    """Open an archive or text that arrives as a stream.

    Raises:
        NotADump: the bytes are empty, or of a kind that is no archive and no text.
        BadArchive: an archive that is not taken.
    """
    opened = Opened(name, Budget(settings.max_unpacked_bytes), stream=stream)
    opened.raw = RawStream(stream, settings.max_upload_bytes)
    try:
        opened.members = _members(Peekable(opened.raw), stream, opened, settings)
    except BaseException:
        opened.close()
        raise
    return opened


def _members(
    outer: Peekable, stream: BinaryIO, opened: Opened, settings: Settings
) -> Iterator[Member]:
    start = outer.peek(BLOCK)
    if not start:
        raise NotADump("the input is empty", place=opened.name, code="empty")
    if start.startswith((LOCAL_MAGIC, EMPTY_MAGIC)):
        return _zip_members(stream, outer, opened, settings)
    _refuse_foreign(start, opened.name)
    unpack = _unpacker(start)
    inner = Peekable(unpack(outer)) if unpack else outer
    return _stream_members(inner, opened, settings)


def _unpacker(start: bytes) -> Callable[[Readable], Readable] | None:
    if start.startswith(GZIP_MAGIC):
        return unpack_gzip
    return unpack_zstd if start.startswith(ZSTD_MAGICS) else None


def _refuse_foreign(start: bytes, name: str) -> None:
    if start.startswith(SPLIT_MAGIC):
        raise BadArchive(
            "the zip is split into several files",
            place=name,
            code="split_archive",
            next_step="Join its parts, or pack the dump again as .tar.gz.",
        )
    for magic, kind in _UNSUPPORTED.items():
        if start.startswith(magic):
            raise BadArchive(
                f"{kind} archives are not taken",
                place=name,
                code="unsupported_archive",
                next_step="Repack the dump as .tar.zst or .tar.gz.",
            )
    if start.lstrip().startswith(_MLIR):
        raise NotADump(
            "this is StableHLO or another text of MLIR, which XLA takes and does not write",
            place=name,
            next_step="Compile it with --xla_dump_to=DIR in XLA_FLAGS and send that folder, or the "
            "HLO text of `jax.jit(f).lower(x).compile().as_text()`.",
        )
    if start.startswith(_FOREIGN):
        raise nothing_of_xla(name)


def nothing_of_xla(name: str) -> NotADump:
    """The error for an input that is no archive and no text of XLA."""
    return NotADump(
        "neither an archive nor a text of XLA",
        place=name,
        next_step="Send the folder given to --xla_dump_to, packed as .tar.gz; what a run printed "
        "goes where its log is asked for.",
    )


def _stream_members(inner: Peekable, opened: Opened, settings: Settings) -> Iterator[Member]:
    content = Spending(inner, opened.budget)
    try:
        start = inner.peek(BLOCK)
        if is_tar(start) or start[_USTAR] == b"ustar":
            yield from read_tar(content, settings)
        else:
            opened.is_archive = False
            if is_archive(start):
                raise BadArchive(
                    "an archive inside the compressed file",
                    place=opened.name,
                    code="nested_archive",
                    next_step="Send the inner archive itself.",
                )
            yield Member(_bare_name(opened.name), "file", None, lambda: _pieces(content))
        while piece := content.read(PIECE_BYTES):
            opened.trailing |= bool(piece.strip(b"\0"))
    except Damage as damage:
        opened.damage = damage


def is_archive(start: bytes) -> bool:
    """Whether `start` begins like an archive or compressed file of any kind."""
    magics = (LOCAL_MAGIC, EMPTY_MAGIC, GZIP_MAGIC, *ZSTD_MAGICS, *_UNSUPPORTED)
    return start.startswith(magics) or start[_USTAR] == b"ustar"


def unpack_text(pieces: Iterator[bytes], start: bytes, budget: Budget) -> Iterator[bytes]:
    """The content of a compressed text among the members, counted against the budget as well."""
    unpack = _unpacker(start)
    return _pieces(Spending(unpack(PieceStream(pieces)), budget)) if unpack else pieces


class PieceStream:
    """Pieces as a stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, empty at the end."""
        data = self._rest or next(self._pieces, b"")
        self._rest = data[size:]
        return data[:size]


def _bare_name(name: str) -> str:
    for suffix in (".gz", ".zst"):
        name = name.removesuffix(suffix)
    return name or "input"


def _pieces(stream: Readable) -> Iterator[bytes]:
    while piece := stream.read(PIECE_BYTES):
        yield piece


def _zip_members(
    stream: BinaryIO, outer: Peekable, opened: Opened, settings: Settings
) -> Iterator[Member]:
    if stream.seekable():
        for _ in outer.pieces():
            pass
        yield from _spent(read_zip(stream, settings), opened.budget)
        return
    with tempfile.TemporaryFile() as copy:
        for piece in outer.pieces():
            copy.write(piece)
        yield from _spent(read_zip(copy, settings), opened.budget)


def _spent(members: Iterator[Member], budget: Budget) -> Iterator[Member]:
    for member in members:
        yield replace(member, pieces=partial(_spend, member.pieces, budget))


def _spend(pieces: Callable[[], Iterator[bytes]], budget: Budget) -> Iterator[bytes]:
    for piece in pieces():
        budget.spend(len(piece))
        yield piece


def _folder_members(folder: Path, budget: Budget, settings: Settings) -> Iterator[Member]:
    count = 0
    unreadable: list[OSError] = []
    for place, folders, names in os.walk(folder, onerror=unreadable.append):
        folders.sort()
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        for name in sorted((*names, *links)):
            count += 1
            if count > settings.max_members:
                raise LimitExceeded(
                    f"the folder holds more than {settings.max_members:,} files",
                    place=str(folder),
                    code="too_many_members",
                    next_step="Raise max_members, or give a part of the folder.",
                )
            yield _folder_member(os.path.join(place, name), folder, budget)
    for error in unreadable:
        yield _unreadable(_name_in(folder, str(error.filename)), error)


def _folder_member(path: str, folder: Path, budget: Budget) -> Member:
    name = _name_in(folder, path)
    try:
        status = os.lstat(path)
    except OSError as error:
        # A run that still writes may take a file away again.
        return _unreadable(name, error)
    if stat.S_ISLNK(status.st_mode):
        return Member(name, "link", 0, no_pieces)
    if not stat.S_ISREG(status.st_mode):
        return Member(name, "special", 0, no_pieces)
    return Member(name, "file", status.st_size, lambda: _spend(lambda: _file_pieces(path), budget))


def _name_in(folder: Path, path: str) -> str:
    return os.path.relpath(path, folder).replace(os.sep, "/")


def _unreadable(name: str, error: OSError) -> Member:
    def fail() -> Iterator[bytes]:
        raise Damage("unreadable", f"cannot be read: {error.strerror or error}")

    return Member(name, "file", 0, fail)


def _file_pieces(path: str) -> Iterator[bytes]:
    try:
        with open(path, "rb") as file:
            yield from _pieces(file)
    except OSError as error:
        raise Damage("unreadable", f"cannot be read: {error.strerror or error}") from error
