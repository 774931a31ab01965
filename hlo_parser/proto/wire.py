"""Message classes from the tables of `schema.py` and `buffer_schema.py`, and decoding with them.

The only place that touches protobuf. Its descriptors are built at first use and hold the fields
of these alone; what else a message holds is still told by `unknown_fields`, so that
nothing a newer release adds goes unseen. Given bytes, gives messages; raises HloProtoError for
bytes that are no such message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, NamedTuple, Protocol, TypeVar, cast, get_args, get_origin
from typing import get_type_hints as type_hints

from hlo_parser.errors import HloProtoError
from hlo_parser.proto import buffer_schema, schema
from hlo_parser.proto.schema import Message

Decoded = TypeVar("Decoded", bound=Message)

_PACKAGE = "hlo_parser"

# Field types of google/protobuf/descriptor.proto, by the type of the annotation.
_TYPES = {float: 1, "float": 2, int: 3, "uint64": 4, bool: 8, bytes: 12}
_MESSAGE_TYPE = 11
_OPTIONAL, _REPEATED = 1, 3


class Field(NamedTuple):
    """One annotation of `schema.py`, taken apart."""

    name: str
    number: int
    kind: type
    encoding: str
    """`float` or `uint64` where the type alone does not say it, else empty."""
    is_repeated: bool


class _UnknownField(Protocol):
    field_number: int


class MessageClass(Protocol):
    """One of protobuf's classes."""

    def FromString(self, data: bytes, /) -> Message:
        """Decode."""
        ...

    def __call__(self, **fields: object) -> Message:
        """Make a message; what is a message inside may be given as a dict."""
        ...


class _Wire(NamedTuple):
    classes: Mapping[type[Message], MessageClass]
    decode_error: type[Exception]
    unknown_fields: Callable[[Message], Iterable[_UnknownField]]


def message_kinds() -> tuple[type[Message], ...]:
    """Every message of both schemas."""
    return tuple(
        kind
        for module in (schema, buffer_schema)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Message) and kind is not Message
    )


def fields_of(kind: type[Message]) -> tuple[Field, ...]:
    """The fields of a message, in the order of the schema."""
    return tuple(
        _field(name, hint)
        for name, hint in type_hints(kind, include_extras=True).items()
        if get_origin(hint) is Annotated
    )


def _field(name: str, hint: object) -> Field:
    kind, number, *encoding = get_args(hint)
    is_repeated = get_origin(kind) is Sequence
    return Field(
        name,
        number,
        get_args(kind)[0] if is_repeated else kind,
        encoding[0] if encoding else "",
        is_repeated,
    )


@cache
def _wire() -> _Wire:
    # Imported here since texts do not need it and it takes as long as the rest of the package.
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from google.protobuf.message import DecodeError
    from google.protobuf.unknown_fields import UnknownFieldSet

    file = descriptor_pb2.FileDescriptorProto(name=f"{_PACKAGE}.proto", package=_PACKAGE)
    for kind in message_kinds():
        described = file.message_type.add(name=kind.__name__)
        for field in fields_of(kind):
            is_message = issubclass(field.kind, Message)
            described.field.add(
                name=field.name,
                number=field.number,
                label=_REPEATED if field.is_repeated else _OPTIONAL,
                type=_MESSAGE_TYPE if is_message else _TYPES[field.encoding or field.kind],
                type_name=f".{_PACKAGE}.{field.kind.__name__}" if is_message else None,
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    classes = {
        kind: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"{_PACKAGE}.{kind.__name__}")
        )
        for kind in message_kinds()
    }
    # The messages of our schema stand for protobuf's own, which know their fields at run time only.
    return _Wire(
        cast("dict[type[Message], MessageClass]", classes),
        DecodeError,
        cast("Callable[[Message], Iterable[_UnknownField]]", UnknownFieldSet),
    )


def message_class(kind: type[Message]) -> MessageClass:
    """The class behind a message of the schema."""
    return _wire().classes[kind]


def decode(kind: type[Decoded], data: bytes) -> Decoded:
    """Read a message; raises HloProtoError."""
    wire = _wire()
    try:
        return cast("Decoded", wire.classes[kind].FromString(data))
    except wire.decode_error:
        # What protobuf says of it differs between its implementations and names no place.
        raise HloProtoError(f"{kind.__name__} is cut off or damaged") from None


def unknown_fields(found: Message, kind: type[Message]) -> Iterator[tuple[str, int]]:
    """Message and number of each field that nothing here knows, in messages inside too.

    What is given in another wire type than the schema's counts as unknown.
    """
    for field in _wire().unknown_fields(found):
        if field.field_number not in kind.UNREAD:
            yield kind.__name__, field.field_number
    for name, inner, is_repeated in _messages_inside(kind):
        if is_repeated:
            for message in cast("Sequence[Message]", getattr(found, name)):
                yield from unknown_fields(message, inner)
        elif found.HasField(name):
            yield from unknown_fields(cast("Message", getattr(found, name)), inner)


@cache
def _messages_inside(kind: type[Message]) -> tuple[tuple[str, type[Message], bool], ...]:
    return tuple(
        (field.name, field.kind, field.is_repeated)
        for field in fields_of(kind)
        if issubclass(field.kind, Message)
    )
