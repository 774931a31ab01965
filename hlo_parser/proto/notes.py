"""What a text cannot say of a proto, as it comes up while printing.

Notes are collected as plain strings beside the text of each line. A field that nothing here knows
is a note of its own kind: a newer release may have it in every message, and then it is told once,
with how often it was met.
"""

from __future__ import annotations

from hlo_parser.proto.schema import Message
from hlo_parser.proto.wire import Decoded, decode, unknown_fields


class UnknownField(str):
    """The note of an unknown field."""

    __slots__ = ()


def note_unknown_fields(message: Message, kind: type[Message], notes: list[str]) -> None:
    """Note the fields of a message, and of those inside it, that the schema does not have."""
    for name, number in sorted(set(unknown_fields(message, kind))):
        notes.append(UnknownField(f"field {number} of {name} is not known"))


def decode_noting(kind: type[Decoded], raw: bytes, notes: list[str]) -> Decoded:
    """Decode a message and note its unknown fields; raises HloProtoError."""
    message = decode(kind, raw)
    note_unknown_fields(message, kind, notes)
    return message
