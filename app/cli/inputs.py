"""What the commands read: files named on the command line, and standard input for `-`.

Dumps are read elsewhere, member by member; these are read whole.
"""

import re
import sys
from pathlib import Path

from app.errors import NotADump
from hlo_parser import HloProtoError, HloSyntaxError, Interner, Module, parse_module, parse_proto

_TEXT_NAMES = (".txt", ".hlo")
_PROTO_NAMES = (".pb", ".pb.gz")
_GZIP = b"\x1f\x8b"
# No proto has a name of a module with a blank or a comma behind such a word.
_BEGINS_TEXT = re.compile(rb"^HloModule[ ,]", re.MULTILINE)
_BEGINNING_BYTES = 1 << 16


def read_input(name: str) -> bytes:
    """The bytes of a file, or of standard input.

    Raises:
        NotADump: it cannot be read.
    """
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise NotADump(
            f"cannot read: {error.strerror}", place=name, next_step="Check the path."
        ) from error


def module_in(name: str, *, strict: bool = False, interner: Interner | None = None) -> Module:
    """The module in a text, or in a proto, as its name tells, or else its bytes.

    Raises:
        NotADump: it cannot be read.
        HloSyntaxError: it holds no module or, with `strict`, something was not understood.
    """
    data = read_input(name)
    if not _is_proto(name, data):
        return parse_module(data, strict=strict, interner=interner)
    module = _proto_in(name, data, interner)
    if strict and module.unparsed:
        first = module.unparsed[0]
        raise HloSyntaxError(first.reason, first.span, first.text)
    return module


def _is_proto(name: str, data: bytes) -> bool:
    if name.endswith(_TEXT_NAMES + _PROTO_NAMES):
        return name.endswith(_PROTO_NAMES)
    if _BEGINS_TEXT.search(data, 0, _BEGINNING_BYTES):
        return False
    return data.startswith(_GZIP) or b"\0" in data


def _proto_in(name: str, data: bytes, interner: Interner | None) -> Module:
    try:
        return parse_proto(data, interner=interner)
    except HloProtoError as error:
        if not data.startswith(_GZIP) or name.endswith(_PROTO_NAMES):
            raise
        raise HloProtoError(f"{error.message}; a text must be unpacked first") from None


def text_or_file(value: str) -> str:
    """The text itself, or what the file behind `@` holds; raises as `read_input`."""
    if not value.startswith("@"):
        return value
    return read_input(value[1:]).decode("utf-8", "backslashreplace")
