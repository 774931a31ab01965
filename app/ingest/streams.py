"""Byte streams under budgets: the raw upload, and what gzip or zstd unpack from it.

Both are read in pieces and never held whole. Budgets count bytes really delivered, whatever a
header claims; a ratio of compression says nothing. A stream that breaks off raises `Damage`, which
never leaves this room: what was whole before it is kept.
"""

import hashlib
from collections.abc import Callable, Iterator
from typing import Protocol, cast

from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError
from isal import igzip_lib

from app.errors import BadArchive, LimitExceeded

PIECE_BYTES = 1 << 18

# Typed in isal as a value, not as a class.
_IsalError = cast("type[Exception]", igzip_lib.IsalError)

# 128 MiB of window: what `zstd --long` writes and any decoder takes; --ultra --long=31 is refused.
_ZSTD_WINDOW_LOG_MAX = 27


class Readable(Protocol):
    """Anything that hands out bytes in order: a file, a pipe, a socket."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; empty at the end."""
        ...


class Damage(Exception):
    """The stream is broken from here on; what was read before it stands.

    Attributes:
        code: `truncated`, `bad_crc`, `bad_data` or `bad_header`.
        reason: a sentence without its full stop.
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class RawStream:
    """The upload as sent: counted, digested, and cut off at `limit` bytes."""

    def __init__(self, source: Readable, limit: int) -> None:
        self._source = source
        self._limit = limit
        self._digest = hashlib.sha256()
        self.count = 0

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, empty at the end.

        Raises:
            LimitExceeded: the upload is larger than `max_upload_bytes`.
        """
        piece = self._source.read(size)
        self.count += len(piece)
        self._digest.update(piece)
        if self.count > self._limit:
            raise LimitExceeded(
                f"the upload is larger than {self._limit:,} bytes",
                next_step="Raise max_upload_bytes, or send a smaller part of the dump.",
            )
        return piece

    @property
    def sha256(self) -> str:
        """Digest of the bytes taken from the source so far."""
        return self._digest.hexdigest()


class Peekable:
    """A stream whose first bytes can be looked at before they are read."""

    def __init__(self, source: Readable) -> None:
        self._source = source
        self._start = b""

    def peek(self, size: int) -> bytes:
        """The next `size` bytes, fewer at the end; `read` hands them out again."""
        while len(self._start) < size and (piece := self._source.read(size - len(self._start))):
            self._start += piece
        return self._start[:size]

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, empty at the end."""
        if self._start:
            piece, self._start = self._start[:size], self._start[size:]
            return piece
        return self._source.read(size)

    def pieces(self) -> Iterator[bytes]:
        """All that is left."""
        while piece := self.read(PIECE_BYTES):
            yield piece


class Budget:
    """Bytes that one input may unpack to, all members together."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.spent = 0

    def spend(self, count: int) -> None:
        """Take `count` bytes.

        Raises:
            LimitExceeded: the input unpacks to more than `max_unpacked_bytes`.
        """
        self.spent += count
        if self.spent > self._limit:
            raise LimitExceeded(
                f"the input unpacks to more than {self._limit:,} bytes",
                code="unpacked_limit",
                next_step="Raise max_unpacked_bytes, or send a smaller part of the dump.",
            )


class Spending:
    """A stream whose bytes count against a budget."""

    def __init__(self, source: Readable, budget: Budget) -> None:
        self._source = source
        self._budget = budget

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, empty at the end.

        Raises:
            LimitExceeded: the budget is used up.
        """
        piece = self._source.read(size)
        self._budget.spend(len(piece))
        return piece


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /, max_length: int) -> bytes: ...


class Unpacked:
    """What a gzip or zstd stream holds, all its members and frames (`pigz`, `cat a b`) in a row.

    Bytes of zero after the last frame are padding; anything else there is refused for gzip and
    zstd alike, since no tool writes it.
    """

    def __init__(
        self, source: Readable, new_decoder: Callable[[], _Decoder], magics: tuple[bytes, ...]
    ) -> None:
        self._source = source
        self._new_decoder = new_decoder
        self._magics = magics
        self._decoder = new_decoder()
        self._pending = b""
        self._ended = False
        self._damage: Damage | None = None

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, empty at the end.

        Raises:
            Damage: cut off, wrong checksum, or no valid data.
            BadArchive: a window that is too large, or bytes that belong to no frame.
        """
        if self._damage is not None:
            raise self._damage
        try:
            while not self._ended:
                piece = self._unpack(size)
                if piece:
                    return piece
        except Damage as damage:
            self._damage = damage
            raise
        return b""

    def _unpack(self, size: int) -> bytes:
        if self._decoder.eof:
            self._next_frame()
            return b""
        data = b""
        if self._decoder.needs_input:
            data, self._pending = self._pending or self._source.read(PIECE_BYTES), b""
            if not data:
                raise Damage("truncated", "the compressed data breaks off")
        return self._decode(data, size)

    def _decode(self, data: bytes, size: int) -> bytes:
        try:
            return self._decoder.decompress(data, size)
        except (_IsalError, ZstdError) as error:
            words = str(error)
            if "too much memory" in words:
                raise BadArchive(
                    "the zstd frame needs a window of more than 128 MiB",
                    code="zstd_window",
                    next_step="Compress it again without --ultra and with --long=27 at most.",
                ) from error
            code = "bad_crc" if "checksum" in words else "bad_data"
            raise Damage(code, f"the compressed data is broken: {words.rstrip('.')}") from error

    def _next_frame(self) -> None:
        rest = self._decoder.unused_data
        while not (rest := rest.lstrip(b"\0")):
            rest = self._source.read(PIECE_BYTES)
            if not rest:
                self._ended = True
                return
        while len(rest) < 4 and (more := self._source.read(4 - len(rest))):
            rest += more
        if not rest.startswith(self._magics):
            raise BadArchive(
                "bytes that are no compressed data follow the compressed data",
                code="trailing_bytes",
                next_step="Cut them off, or pack the dump again.",
            )
        self._decoder = self._new_decoder()
        self._pending = rest


GZIP_MAGIC = b"\x1f\x8b\x08"
ZSTD_MAGICS = (b"\x28\xb5\x2f\xfd", *(bytes((n, 0x2A, 0x4D, 0x18)) for n in range(0x50, 0x60)))


def unpack_gzip(source: Readable) -> Unpacked:
    """The content of a gzip stream; checksums are verified."""
    return Unpacked(
        source, lambda: igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP), (GZIP_MAGIC,)
    )


def unpack_zstd(source: Readable) -> Unpacked:
    """The content of a zstd stream; checksums, where the frame has one, are verified."""
    options = {int(DecompressionParameter.window_log_max): _ZSTD_WINDOW_LOG_MAX}
    return Unpacked(source, lambda: ZstdDecompressor(options=options), ZSTD_MAGICS)
