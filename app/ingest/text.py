r"""Bytes of a text member to a string that the parser may read.

A byte-order mark and carriage returns before line feeds are dropped without a word; UTF-16 is
decoded, any other byte that is not UTF-8 becomes `\xe9` and a NUL `\x00`, and the text is marked as
oddly encoded. A line over the budget is cut out and leaves an empty one, so that line numbers hold.
"""

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain


@dataclass(frozen=True, slots=True)
class Text:
    """A member's text; `long_lines` are 1-based numbers and byte sizes of the lines left out."""

    data: bytes
    """UTF-8, whatever the member's encoding was."""
    byte_size: int
    is_odd: bool
    long_lines: tuple[tuple[int, int], ...]

    @property
    def text(self) -> str:
        """The text decoded; not kept."""
        return self.data.decode()


def read_text(pieces: Iterator[bytes], max_line_bytes: int) -> Text:
    """Read a member to its end; never more than its kept lines is held."""
    whole: list[bytes] = []
    unfinished = 0
    for piece in pieces:
        if unfinished + len(piece) > max_line_bytes:
            return _read_cutting(chain(whole, (piece,), pieces), max_line_bytes)
        whole.append(piece)
        end = piece.rfind(b"\n") + 1
        unfinished = len(piece) - end + (0 if end else unfinished)
    # Joined once: a buffer that grows and its copy want twice the memory, fresh for each text.
    joined = b"".join(whole)
    data, is_odd = tidy(joined)
    return Text(data, len(joined), is_odd, ())


def _read_cutting(pieces: Iterable[bytes], max_line_bytes: int) -> Text:
    """The same for a text that may hold a line over the budget."""
    kept = bytearray()
    long_lines: list[tuple[int, int]] = []
    size = start = 0
    dropping = 0
    for piece in pieces:
        size += len(piece)
        if not dropping and len(kept) - start + len(piece) <= max_line_bytes:
            kept += piece
            start = max(kept.rfind(b"\n", len(kept) - len(piece)) + 1, start)
            continue
        for part in _lines(piece):
            dropping = _add_part(part, kept, start, dropping, max_line_bytes)
            if part.endswith(b"\n"):
                if dropping:
                    long_lines.append((kept.count(b"\n") + 1, dropping))
                    kept += b"\n"
                    dropping = 0
                start = len(kept)
    if dropping:
        long_lines.append((kept.count(b"\n") + 1, dropping))
    data, is_odd = tidy(bytes(kept))
    return Text(data, size, is_odd, tuple(long_lines))


def _lines(piece: bytes) -> list[bytes]:
    parts = piece.split(b"\n")
    return [*(part + b"\n" for part in parts[:-1]), *filter(None, parts[-1:])]


def _add_part(part: bytes, kept: bytearray, start: int, dropping: int, limit: int) -> int:
    """Bytes of the line being dropped after `part`, 0 while it is kept."""
    if dropping:
        return dropping + len(part)
    if len(kept) - start + len(part) <= limit:
        kept += part
        return 0
    dropped = len(kept) - start + len(part)
    del kept[start:]
    return dropped


def tidy(data: bytes) -> tuple[bytes, bool]:
    """The text of `data` in UTF-8, and whether it was oddly encoded."""
    if data.startswith(codecs.BOM_UTF8):
        data = data[len(codecs.BOM_UTF8) :]
    elif (encoding := _utf16_of(data)) is not None:
        return _tidy(data.decode(encoding, errors="backslashreplace").encode()), True
    is_odd = False
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            data, is_odd = data.decode(errors="backslashreplace").encode(), True
    if b"\0" in data:
        data, is_odd = data.replace(b"\0", b"\\x00"), True
    return _tidy(data), is_odd


def _utf16_of(data: bytes) -> str | None:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if len(data) >= 4 and data[0] and not data[1] and data[2] and not data[3]:
        return "utf-16-le"
    if len(data) >= 4 and not data[0] and data[1] and not data[2] and data[3]:
        return "utf-16-be"
    return None


def _tidy(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n") if b"\r" in data else data
