"""Attribute texts without the paths in them: the same program compiled in two folders is equal.

Given the raw text of one attribute, gives a text that is equal for equal meaning: absolute paths
shrink to their last part, inside payloads too. A kernel's payload is MLIR, as text or as bytecode
(escaped in an MLIR attribute, or base64 in JSON); of bytecode the string section is read, for
there the paths of its locations stand, and the other sections are taken as they are. Bytes of an
unknown form are taken as they are, so that they can only make two texts differ.
"""

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b

from hlo_parser.possessive import compile_pattern

_PATH = compile_pattern(
    r"(?<![\w.\-+@/\\%)\]])(?:/|[A-Za-z]:[/\\]++)(?:[\w.\-+@]++[/\\]++)*+(?=[\w.\-+@])", re.ASCII
)
_PATH_OF_STRING = compile_pattern(rb"(?:[A-Za-z]:)?+[/\\](?:[^/\\\x00]*+[/\\])*+")
_MAGIC = b"ML\xefR"
_MAGIC_ESCAPED = r"ML\EFR"
_MAGIC_BASE64 = "TUzvU"
_ESCAPED = compile_pattern(r'"(?P<payload>ML\\EFR(?:[^"\\]++|\\.)*+)"', re.S)
_BASE64 = compile_pattern(r'"(?P<payload>TUzvU[A-Za-z0-9+/]++={0,2})"')
_MLIR_ESCAPE = compile_pattern(rb"\\(?:([0-9A-Fa-f]{2})|(.))", re.S)
_PRINTED = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}
_STRINGS = 0
_ALIGNMENT_PADDING = 0xCB
_KEPT = 1 << 12
_LONGEST_KEPT = 1 << 12


def without_paths(text: str) -> str:
    """`text` with every absolute path cut to its last part, and payloads as digests."""
    if "/" not in text and "\\" not in text and _MAGIC_BASE64 not in text:
        return text
    return _rewritten(text) if len(text) <= _LONGEST_KEPT else _rewritten.__wrapped__(text)


@lru_cache(maxsize=_KEPT)
def _rewritten(text: str) -> str:
    if _MAGIC_ESCAPED in text:
        text = _ESCAPED.sub(lambda m: f'"{_digest_of(_unescaped(m["payload"]))}"', text)
    if _MAGIC_BASE64 in text:
        text = _BASE64.sub(lambda m: f'"{_digest_of_base64(m["payload"])}"', text)
    return _PATH.sub("", text)


def _digest_of_base64(text: str) -> str:
    try:
        return _digest_of(b64decode(text, validate=True))
    except Base64Error:
        return text


def _digest_of(payload: bytes) -> str:
    """A digest of bytecode that no path in its string section changes."""
    made = blake2b(digest_size=16)
    try:
        for section, data in _sections(payload):
            made.update(section.to_bytes(1, "little"))
            for piece in _strings(data) if section == _STRINGS else (data,):
                made.update(len(piece).to_bytes(8, "little"))
                made.update(piece)
    except (IndexError, ValueError):
        return blake2b(payload, digest_size=16).hexdigest()
    return made.hexdigest()


def _unescaped(text: str) -> bytes:
    """The bytes of a string as MLIR prints it: two hexadecimal digits after a backslash."""
    return _MLIR_ESCAPE.sub(
        lambda m: bytes.fromhex(m[1].decode()) if m[1] else _PRINTED.get(m[2], m[2]),
        text.encode("utf-8", "surrogatepass"),
    )


class _Reader:
    """Bytes read from the front; raises IndexError where they end too early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        return self._at >= len(self._data)

    def byte(self) -> int:
        found = self._data[self._at]
        self._at += 1
        return found

    def take(self, count: int) -> bytes:
        if count > len(self._data) - self._at:
            raise IndexError(count)
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self) -> int:
        """A number whose first byte says in its trailing zeros how many bytes follow."""
        first = self.byte()
        if first == 0:
            return int.from_bytes(self.take(8), "little")
        more = (first & -first).bit_length() - 1
        return int.from_bytes(bytes((first,)) + self.take(more), "little") >> (more + 1)

    def skip_padding(self, alignment: int) -> None:
        if not alignment:
            raise ValueError(alignment)
        while self._at % alignment:
            if self.byte() != _ALIGNMENT_PADDING:
                raise ValueError(self._at)

    def until_null(self) -> None:
        self._at = self._data.index(b"\x00", self._at) + 1


def _sections(payload: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of each section (mlir/docs/BytecodeFormat.md); raises on other forms."""
    if not payload.startswith(_MAGIC):
        raise ValueError("no bytecode")
    reader = _Reader(payload)
    reader.take(len(_MAGIC))
    reader.number()
    reader.until_null()
    while not reader.is_at_end:
        kind = reader.byte()
        length = reader.number()
        if kind & 0x80:
            reader.skip_padding(reader.number())
        yield kind & 0x7F, reader.take(length)


def _strings(section: bytes) -> Iterator[bytes]:
    """The strings in their order, paths cut; their lengths stand first and in reverse."""
    reader = _Reader(section)
    count = reader.number()
    if count > len(section):
        raise ValueError(count)
    for length in reversed([reader.number() for _ in range(count)]):
        string = reader.take(length)
        path = _PATH_OF_STRING.match(string)
        yield string[path.end() :] if path else string
