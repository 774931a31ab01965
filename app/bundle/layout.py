"""The layout of a bundle: its tables, its limits, and how pieces become bytes and back.

A piece is a run of text that several dumps share (a header line, a table of frames, a
computation, the blank line between two). Pieces are numbered by first appearance and packed into
frames, each compressed alone; a recipe lists the pieces of one dump, and is a piece itself.
Values in, values out: the writer and the reader do the I/O.
"""

import sys
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from backports import zstd
from backports.zstd import CompressionParameter, DecompressionParameter, ZstdError

APPLICATION_ID = 0x686C6F53
"""`hloS` in SQLite's header, so that `file` and we tell a bundle from any other database."""

FORMAT_VERSION = 3
"""Raised whenever a reader of the version before could misread the file."""

FRAME_BYTES = 4 << 20
"""A frame is written when it would grow past this. On a 279 MB dump (95 MB of distinct text) 1, 4
and 16 MB gave 5.9, 3.0 and 2.1 MB of bundle; reading one dump of it unpacks many frames, so a
larger frame costs memory and time for little."""

PIECE_BYTES = 1 << 20
"""Longer pieces are cut here, so that no text can make a frame larger than `FRAME_BYTES`."""

TABLES = {
    "report": """CREATE TABLE report (
        position INTEGER PRIMARY KEY,
        raw_bytes INTEGER NOT NULL,
        data BLOB NOT NULL
    )""",
    "program": """CREATE TABLE program (
        position INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        raw_bytes INTEGER NOT NULL,
        data BLOB NOT NULL
    )""",
    "frames": """CREATE TABLE frames (
        first_piece INTEGER PRIMARY KEY,
        pieces INTEGER NOT NULL,
        raw_bytes INTEGER NOT NULL,
        data BLOB NOT NULL
    )""",
    "modules": """CREATE TABLE modules (
        position INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        dumps INTEGER NOT NULL
    )""",
    "dumps": """CREATE TABLE dumps (
        position INTEGER PRIMARY KEY,
        file TEXT NOT NULL,
        text_bytes INTEGER NOT NULL,
        recipe INTEGER NOT NULL,
        recipe_parts INTEGER NOT NULL
    )""",
    "aligned": """CREATE TABLE aligned (
        position INTEGER PRIMARY KEY,
        module TEXT NOT NULL,
        before INTEGER NOT NULL,
        after INTEGER NOT NULL,
        form INTEGER NOT NULL,
        raw_bytes INTEGER NOT NULL,
        data BLOB NOT NULL
    )""",
}
"""The statements that make the tables. They are also the proof of the format: a reader takes a
file only when its schema says exactly this, so no view or trigger of a stranger ever runs."""

TABLES_BEFORE = {
    1: {name: sql for name, sql in TABLES.items() if name not in ("program", "aligned")},
    2: {name: sql for name, sql in TABLES.items() if name != "aligned"},
}
"""The tables of versions that are read still: the first had no source files, neither had pairs of
texts side by side."""

LENGTH_BYTES = 4
"""What each piece takes in the table at the head of its frame."""

# Level 9 takes four to six times as long for a bundle a third smaller. Matching at long distance,
# meant for windows larger than a frame, takes twice as long for a twentieth.
_LEVEL = 3


class CorruptData(ValueError):
    """Packed bytes that no writer made."""


def compress(data: bytes) -> bytes:
    """One zstd frame with a checksum; repeats are found as far back as the data goes."""
    window = min(27, max(17, (max(len(data), 1) - 1).bit_length()))
    options: dict[int, int] = {
        CompressionParameter.compression_level: _LEVEL,
        CompressionParameter.window_log: window,
        CompressionParameter.checksum_flag: 1,
    }
    return zstd.compress(data, options=options)


def decompress(data: bytes, raw_bytes: int) -> bytes:
    """Inverse of `compress`; never makes more than `raw_bytes` bytes.

    Raises:
        CorruptData: the data is damaged or does not unpack to exactly `raw_bytes`.
    """
    unpacker = zstd.ZstdDecompressor(options={DecompressionParameter.window_log_max: 27})
    try:
        # One byte more than promised, so that the end of the frame and an excess both show.
        raw = unpacker.decompress(data, max_length=raw_bytes + 1)
    except ZstdError as error:
        raise CorruptData(str(error)) from error
    if len(raw) != raw_bytes or not unpacker.eof or unpacker.unused_data:
        raise CorruptData(f"unpacks to another size than the {raw_bytes} bytes it states")
    return raw


def pack_frame(pieces: Sequence[bytes]) -> bytes:
    """The lengths of the pieces, then the pieces; what `unpack_frame` takes apart."""
    return integers_to_bytes(len(piece) for piece in pieces) + b"".join(pieces)


def unpack_frame(raw: bytes, count: int) -> tuple[bytes, ...]:
    """The `count` pieces of a frame, in the order of their numbers.

    Raises:
        CorruptData: the lengths do not add up to the frame.
    """
    start = count * LENGTH_BYTES
    if count < 0 or start > len(raw):
        raise CorruptData("a frame is shorter than its own table")
    ends = list(accumulate(integers_from_bytes(raw[:start]), initial=start))
    if ends[-1] != len(raw) or min(ends) < start:
        raise CorruptData("the pieces of a frame do not fill it")
    return tuple(raw[a:b] for a, b in pairwise(ends))


def recipe_from_numbers(numbers: Sequence[int]) -> bytes:
    """Piece numbers as steps from one to the next: mostly the same small steps in every dump."""
    return integers_to_bytes(b - a for a, b in zip((0, *numbers), numbers, strict=False))


def numbers_from_recipe(recipe: bytes) -> Sequence[int]:
    """Inverse of `recipe_from_numbers`; the numbers of a damaged recipe may be any."""
    return array("q", accumulate(integers_from_bytes(recipe)))


def integers_to_bytes(values: Iterable[int]) -> bytes:
    """Signed 32-bit little-endian integers, whatever the machine."""
    numbers = array("i", values)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def integers_from_bytes(data: bytes) -> Sequence[int]:
    """Inverse of `integers_to_bytes`.

    Raises:
        CorruptData: the bytes are no whole number of integers.
    """
    if len(data) % LENGTH_BYTES:
        raise CorruptData("a list of integers is cut off")
    numbers = array("i")
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
