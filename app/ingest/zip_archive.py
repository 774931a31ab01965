"""Members of a zip: its end record and directory are judged before `zipfile` reads them.

A zip's directory stands at its end, so this one needs a seekable file. The standard library's
reader takes a directory of any length into memory and, before 3.11.10, entries that share one body
(a 57 KB file that claims 10 GiB); both are refused here first.
"""

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from app.errors import BadArchive, LimitExceeded
from app.ingest.members import Member, MemberKind, no_pieces
from app.ingest.streams import PIECE_BYTES, Damage
from app.settings import Settings

LOCAL_MAGIC = b"PK\x03\x04"
EMPTY_MAGIC = b"PK\x05\x06"
SPLIT_MAGIC = b"PK\x07\x08"

_END = struct.Struct("<4s4H2LH")
_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s24x3H12x")
_ENTRY_MAGIC = b"PK\x01\x02"
_LONGEST_COMMENT = 0xFFFF
_NAME_AND_EXTRA_BYTES = 1 << 12
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
# What zipfile raises on headers that make no sense: a name that is no UTF-8, a negative place, an
# encrypted body behind a directory that says otherwise, numbers past 64 bits.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    ValueError,
    OSError,
    OverflowError,
    RuntimeError,
)


def read_zip(file: BinaryIO, settings: Settings) -> Iterator[Member]:
    """The members in the order of their bodies.

    Raises:
        BadArchive: split, overlapping, or no valid directory.
        LimitExceeded: the directory has more than `max_members` entries.
    """
    _check_end_record(file, settings)
    try:
        archive = zipfile.ZipFile(file)
    except _BROKEN as error:
        raise _bad_zip(f"its directory is broken: {error}") from error
    with archive:
        entries = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
        _check_overlap(entries)
        for entry in entries:
            yield _member(archive, entry)


def _check_end_record(file: BinaryIO, settings: Settings) -> None:
    size = file.seek(0, io.SEEK_END)
    start = max(size - _LONGEST_COMMENT - _END.size - _LOCATOR.size, 0)
    file.seek(start)
    tail = file.read()
    place = tail.rfind(EMPTY_MAGIC)
    if place < 0 or len(tail) - place < _END.size:
        raise _truncated()
    _, disk, first_disk, _, count, directory_size, _, _ = _END.unpack_from(tail, place)
    directory_end = start + place
    if place >= _LOCATOR.size and tail.startswith(b"PK\x06\x07", place - _LOCATOR.size):
        _, _, end64, disks = _LOCATOR.unpack_from(tail, place - _LOCATOR.size)
        directory_end -= _LOCATOR.size + _END64.size
        if end64 != directory_end:
            # `zipfile` reads what stands before the locator, whatever place that states.
            raise _bad_zip("its 64-bit end record is not where it is said to be")
        count, directory_size = _end64(file, end64)
        disk = first_disk = disks - 1 if disks else 0
    if disk or first_disk:
        raise _split()
    if count > settings.max_members or directory_size > count * _NAME_AND_EXTRA_BYTES:
        raise _too_many(count, directory_size)
    _check_directory(file, directory_end - directory_size, directory_size, settings.max_members)
    file.seek(0)


def _end64(file: BinaryIO, place: int) -> tuple[int, int]:
    file.seek(max(place, 0))
    record = file.read(_END64.size)
    if len(record) < _END64.size or not record.startswith(b"PK\x06\x06"):
        raise _bad_zip("its 64-bit end record is missing")
    fields = _END64.unpack(record)
    return fields[7], fields[8]


def _check_directory(file: BinaryIO, place: int, size: int, most: int) -> None:
    """Count the entries, of which an end record may state too few; broken ones end the count.

    Raises:
        LimitExceeded: there are more than `most`.
    """
    file.seek(max(place, 0))
    count, left = 0, size
    while left > 0:
        entry = file.read(_ENTRY.size)
        if len(entry) < _ENTRY.size or not entry.startswith(_ENTRY_MAGIC):
            return
        count += 1
        if count > most:
            raise _too_many(count, size)
        lengths = sum(_ENTRY.unpack(entry)[1:])
        file.seek(lengths, io.SEEK_CUR)
        left -= _ENTRY.size + lengths


def _too_many(count: int, directory_size: int) -> LimitExceeded:
    return LimitExceeded(
        f"the zip lists {count:,} members in a directory of {directory_size:,} bytes",
        code="too_many_members",
        next_step="Raise max_members, or pack fewer files.",
    )


def _check_overlap(entries: list[zipfile.ZipInfo]) -> None:
    # A local header has 30 bytes beside name and extra field; the latter may differ from the
    # directory's, so only the certain part is counted.
    end = 0
    for entry in entries:
        if entry.header_offset < end:
            raise BadArchive(
                f"several entries of the zip share the bytes at {entry.header_offset:,}",
                code="zip_overlap",
                next_step="Pack the dump again.",
            )
        end = entry.header_offset + 30 + entry.compress_size


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Member:
    # `filename` ends at a NUL; the original name shows that one was there.
    name = entry.orig_filename
    kind = _kind(entry)
    if kind != "file":
        return Member(name, kind, entry.file_size, no_pieces)
    return Member(name, kind, entry.file_size, lambda: _pieces(archive, entry))


def _kind(entry: zipfile.ZipInfo) -> MemberKind:
    mode = entry.external_attr >> 16
    if entry.orig_filename.endswith("/") or stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_IFMT(mode) and not stat.S_ISREG(mode):
        return "special"
    if entry.flag_bits & _ENCRYPTED:
        return "encrypted"
    return "file" if entry.compress_type in _METHODS else "method"


def _pieces(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    try:
        with archive.open(entry) as body:
            count = 0
            while piece := body.read(PIECE_BYTES):
                count += len(piece)
                yield piece
    except _BROKEN as error:
        raise _damage(error) from error
    if count != entry.file_size:
        raise Damage("size_mismatch", f"{count:,} bytes where {entry.file_size:,} are stated")


def _damage(error: Exception) -> Damage:
    words = str(error)
    if "header" in words and "differ" in words:
        return Damage("name_mismatch", "the directory and the member's header differ in the name")
    if "CRC" in words:
        return Damage("bad_crc", "the member's checksum is wrong")
    return Damage("bad_data", f"the member cannot be unpacked: {words or type(error).__name__}")


def _truncated() -> BadArchive:
    return BadArchive(
        "the zip has no directory at its end",
        code="truncated",
        next_step="Send it whole; a dump that is still being written packs better with tar.",
    )


def _split() -> BadArchive:
    return BadArchive(
        "the zip is split into several files",
        code="split_archive",
        next_step="Join its parts, or pack the dump again as .tar.gz.",
    )


def _bad_zip(why: str) -> BadArchive:
    return BadArchive(
        f"the zip cannot be read, {why}", code="bad_archive", next_step="Pack the dump again."
    )
