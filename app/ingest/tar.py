"""Members of a tar, read forwards from a stream: ustar, GNU and PAX headers.

The standard library's reader is not used: it takes extended headers of any size into memory, keeps
every member it has seen, loops for ever on a negative size in releases before 3.11.14
(CVE-2025-8194), and needs 90 us a member. This one holds one block, the extended headers of one
member (each at most `max_header_bytes`) and one piece of content. It knows what a dump may hold:
files and folders. Links, devices and sparse files are named and passed over.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from app.errors import BadArchive, LimitExceeded
from app.ingest.members import Member, MemberKind, no_pieces
from app.ingest.streams import PIECE_BYTES, Damage, Readable
from app.settings import Settings

BLOCK = 512

_KINDS: dict[bytes, MemberKind] = {
    **dict.fromkeys((b"0", b"\0", b"7"), "file"),
    **dict.fromkeys((b"1", b"2"), "link"),
    **dict.fromkeys((b"3", b"4", b"6"), "special"),
    b"5": "folder",
    b"S": "sparse",
}
# Headers of these types are followed by no content, whatever their size says (GNU tar, list.c).
_WITHOUT_CONTENT = frozenset(b"123456")
_EXTENDED = frozenset(b"xXgLK")
# A member has at most a global and a local header, a long name and a long link.
_MOST_EXTENDED_IN_A_ROW = 8


@dataclass(slots=True)
class _Extended:
    """What extended headers said about the member that follows."""

    values: dict[str, bytes] = field(default_factory=dict[str, bytes])
    in_a_row: int = 0


def is_tar(start: bytes) -> bool:
    """Whether `start` (512 bytes or more) begins with a tar header whose checksum is right."""
    block = start[:BLOCK]
    return len(block) == BLOCK and (_has_right_checksum(block) or not any(block))


def read_tar(stream: Readable, settings: Settings) -> Iterator[Member]:
    """The members in order; each is passed over to its end before the next header is read.

    Raises:
        Damage: the archive breaks off or a header is broken; earlier members stand.
        BadArchive: a header that no tar program writes.
        LimitExceeded: an extended header or the number of members is too large.
    """
    reader = _TarReader(stream, settings)
    while (member := reader.next_member()) is not None:
        yield member
        reader.pass_over()


class _TarReader:
    def __init__(self, stream: Readable, settings: Settings) -> None:
        self._stream = stream
        self._settings = settings
        self._globals: dict[str, bytes] = {}
        self._left = 0
        self._padding = 0
        self._members = 0

    def next_member(self) -> Member | None:
        extended = _Extended(dict(self._globals))
        while (block := self._read_header()) is not None:
            kind = block[156:157]
            if kind[0] in _EXTENDED:
                self._read_extended(kind, block, extended)
                continue
            return self._member(kind, block, extended)
        return None

    def pass_over(self) -> None:
        for _ in self._pieces():
            pass
        self._read_exactly(self._padding)
        self._padding = 0

    def _pieces(self) -> Iterator[bytes]:
        while self._left:
            piece = self._stream.read(min(self._left, PIECE_BYTES))
            if not piece:
                raise Damage("truncated", "the archive breaks off inside a member")
            self._left -= len(piece)
            yield piece

    def _read_exactly(self, size: int) -> bytes:
        pieces: list[bytes] = []
        while size:
            piece = self._stream.read(min(size, PIECE_BYTES))
            if not piece:
                raise Damage("truncated", "the archive breaks off inside a member")
            size -= len(piece)
            pieces.append(piece)
        return b"".join(pieces)

    def _read_header(self) -> bytes | None:
        first = self._stream.read(BLOCK)
        if not first:
            # A whole archive ends with two blocks of zeros; one that a crash cut off does not.
            raise Damage("truncated", "the archive has no end mark")
        block = first + self._read_exactly(BLOCK - len(first))
        if not any(block):
            return None
        if not _has_right_checksum(block):
            raise Damage("bad_header", "a header has a wrong checksum")
        return block

    def _read_extended(self, kind: bytes, block: bytes, extended: _Extended) -> None:
        size = _number(block[124:136])
        extended.in_a_row += 1
        if size > self._settings.max_header_bytes:
            raise LimitExceeded(
                f"an extended header of {size:,} bytes",
                code="header_too_large",
                next_step="No tar program writes such headers; raise max_header_bytes if it must.",
            )
        if extended.in_a_row > _MOST_EXTENDED_IN_A_ROW:
            raise _bad_header("too many extended headers in a row")
        data = self._read_exactly(size)
        self._read_exactly(-size % BLOCK)
        if kind == b"L":
            extended.values["path"] = data.rstrip(b"\0")
        elif kind == b"g":
            self._globals.update(_pax_records(data))
            extended.values.update(self._globals)
        elif kind in b"xX":
            extended.values.update(_pax_records(data))

    def _member(self, kind: bytes, block: bytes, extended: _Extended) -> Member:
        self._members += 1
        if self._members > self._settings.max_members:
            raise LimitExceeded(
                f"the archive has more than {self._settings.max_members:,} members",
                code="too_many_members",
                next_step="Raise max_members, or pack fewer files.",
            )
        values = extended.values
        size = _pax_size(values["size"]) if "size" in values else _number(block[124:136])
        name = values.get("path") or _name_of(block)
        if b"\0" in name:
            raise _bad_header("a name holds a NUL")
        self._left = 0 if kind[0] in _WITHOUT_CONTENT else size
        self._padding = -self._left % BLOCK
        shown = name.decode(errors="surrogateescape")
        what: MemberKind = _KINDS.get(kind, "special")
        if any(key.startswith("GNU.sparse.") for key in values):
            what = "sparse"
        if kind == b"\0" and shown.endswith("/"):
            # Tars of before 1988 have no type for folders.
            what = "folder"
        return Member(shown, what, size, self._pieces if what == "file" else no_pieces)


def _has_right_checksum(block: bytes) -> bool:
    try:
        stated = _number(block[148:156])
    except BadArchive:
        return False
    counted = block[:148] + b" " * 8 + block[156:]
    total = sum(counted)
    # Old tars summed signed bytes.
    return stated == total or stated == total - 256 * sum(byte > 127 for byte in counted)


def _number(field_: bytes) -> int:
    """An octal field, or base 256 where the first bit is set."""
    if field_[0] & 0x80:
        # 0x80 and a positive number, 0xff and a negative one; negative sizes are an attack.
        if field_[0] != 0x80:
            raise _bad_header("a negative size")
        return int.from_bytes(field_[1:], "big")
    text = field_.split(b"\0", 1)[0].strip(b" \0")
    if text and not (text.isdigit() and b"8" not in text and b"9" not in text):
        raise _bad_header("a size that is no number")
    return int(text or b"0", 8)


def _name_of(block: bytes) -> bytes:
    name = block[:100].split(b"\0", 1)[0]
    prefix = block[345:500].split(b"\0", 1)[0]
    # GNU headers (`ustar  \0`) keep times where ustar keeps the prefix.
    if block[257:263] == b"ustar\0" and prefix:
        return prefix + b"/" + name
    return name


def _pax_size(value: bytes) -> int:
    if not value.isdigit() or len(value) > 20:
        raise _bad_header("a PAX size that is no number")
    return int(value)


def _pax_records(data: bytes) -> dict[str, bytes]:
    """`25 path=some/long/name` and a line feed, each; the number counts the whole record."""
    records: dict[str, bytes] = {}
    place = 0
    while place < len(data) and data[place : place + 1] != b"\0":
        blank = data.find(b" ", place, place + 8)
        digits = data[place:blank] if blank > place else b""
        end = place + int(digits) if digits.isdigit() else 0
        key, equals, value = data[blank + 1 : max(end - 1, 0)].partition(b"=")
        if end <= blank or end > len(data) or not equals or data[end - 1 : end] != b"\n":
            raise _bad_header("a PAX record of a wrong length")
        records[key.decode(errors="replace")] = value
        place = end
    return records


def _bad_header(what: str) -> BadArchive:
    return BadArchive(
        f"a tar header with {what}",
        code="bad_header",
        next_step="Pack the dump again with tar.",
    )
