"""A text as the bytes it was read from, in pieces that the texts of a dump share.

A module keeps no text of its own; it keeps these pieces, most of them the very bytes that its
computations hold. Given where the computations stood, gives what to join to have the text again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def decode(raw: bytes) -> str:
    """Bytes of a text as a string; bytes that are not UTF-8 become visible escapes."""
    return raw.decode("utf-8", errors="backslashreplace")


class TextPieces:
    """The pieces of one text, with what reading changed about their line ends."""

    __slots__ = ("_crlf", "_pieces", "_surplus")

    def __init__(self, pieces: Iterable[bytes], surplus: int = 0, *, crlf: bool = False) -> None:
        """`surplus` counts bytes of the last piece that the text did not hold."""
        self._pieces = tuple(pieces)
        self._surplus = surplus
        self._crlf = crlf

    def as_read(self) -> tuple[bytes, ...]:
        """What gives the text when joined, to the byte."""
        pieces = self._pieces
        if self._surplus:
            pieces = (*pieces[:-1], pieces[-1][: -self._surplus])
        if self._crlf:
            pieces = tuple(piece.replace(b"\n", b"\r\n") for piece in pieces)
        return pieces


class TextCutter:
    """Collects the pieces of one text from front to back.

    `shared` keeps the text between computations, so that equal headers and tables are one object.
    Whoever adds a computation's piece moves `end` behind it; only the last may reach too far.
    """

    __slots__ = ("_crlf", "_original", "_shared", "data", "end", "pieces")

    data: bytes
    """The text without byte order mark, its lines ending with a line feed alone."""
    pieces: list[bytes]
    end: int
    """Behind the last piece, in `data`."""

    def __init__(self, original: bytes, shared: dict[bytes, bytes]) -> None:
        data = original.removeprefix(BYTE_ORDER_MARK)
        self.pieces = [BYTE_ORDER_MARK] if len(data) < len(original) else []
        # Only a text whose first line ends so is rewritten; elsewhere `\r` is white space.
        first = data.find(b"\n")
        pairs = data.count(b"\r\n") if first > 0 and data[first - 1] == ord("\r") else 0
        # Line ends of both kinds cannot be told apart later: such a text is one piece.
        self._original = original if pairs and pairs != data.count(b"\n") else None
        self._crlf = bool(pairs)
        self._shared = shared
        self.data = data.replace(b"\r\n", b"\n") if pairs else data
        self.end = 0

    def keep_to(self, end: int) -> None:
        """Keep what stands between the last piece and `end`, if anything."""
        if end > self.end:
            raw = self.data[self.end : end]
            self.pieces.append(self._shared.setdefault(raw, raw))
            self.end = end

    def keep(self, piece: bytes) -> None:
        """Keep what stands behind the last piece, as a piece that is shared already."""
        self.pieces.append(piece)
        self.end += len(piece)

    def text_pieces(self) -> TextPieces:
        """All pieces, the rest of the text included."""
        if self._original is not None:
            return TextPieces((self._original,))
        self.keep_to(len(self.data))
        return TextPieces(self.pieces, self.end - len(self.data), crlf=self._crlf)
