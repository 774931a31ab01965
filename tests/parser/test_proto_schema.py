"""Field numbers, wire types and words of enumerations against those inside jaxlib 0.10.2."""

import re
from collections.abc import Iterator

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as XlaField
from jaxlib._hlo import HloOpcode

from hlo_parser.proto.attributes import PRINTERS
from hlo_parser.proto.schema import Message
from hlo_parser.proto.shape_text import BUFFER, TUPLE, TYPE_WORDS
from hlo_parser.proto.wire import Field, fields_of, message_kinds
from parser.xla_descriptors import xla_file

# What older releases wrote and 0.10.2 has no longer: the message and field, and since when.
RETIRED = {
    ("HloInstructionProto", "async_group_id"): "until January 2024",
    ("CollectiveDeviceListProto", "iota_replica_group_list"): "until early 2026",
}


def walk(message: DescriptorProto) -> Iterator[DescriptorProto]:
    yield message
    for nested in message.nested_type:
        yield from walk(nested)


@pytest.fixture(scope="module")
def messages() -> dict[str, DescriptorProto]:
    files = [xla_file("xla/service/hlo.proto"), xla_file("xla/xla_data.proto")]
    return {
        message.name: message
        for file in files
        for top in file.message_type
        for message in walk(top)
    }


@pytest.fixture(scope="module")
def enums(messages: dict[str, DescriptorProto]) -> dict[str, EnumDescriptorProto]:
    files = [xla_file("xla/service/hlo.proto"), xla_file("xla/xla_data.proto")]
    found = {enum.name: enum for file in files for enum in file.enum_type}
    for message in messages.values():
        found.update({f"{message.name}.{enum.name}": enum for enum in message.enum_type})
    return found


def wire_type(field: Field) -> set[int]:
    """The types of XLA's fields that our type reads without loss."""
    if issubclass(field.kind, Message):
        return {XlaField.TYPE_MESSAGE}
    if field.encoding == "float":
        return {XlaField.TYPE_FLOAT}
    if field.encoding == "uint64":
        return {XlaField.TYPE_UINT64}
    if field.kind is float:
        return {XlaField.TYPE_DOUBLE}
    if field.kind is bool:
        return {XlaField.TYPE_BOOL}
    if field.kind is int:
        return {XlaField.TYPE_INT64, XlaField.TYPE_INT32, XlaField.TYPE_UINT32, XlaField.TYPE_ENUM}
    return {XlaField.TYPE_BYTES, XlaField.TYPE_STRING, XlaField.TYPE_MESSAGE}


@pytest.mark.parametrize("kind", message_kinds(), ids=lambda kind: kind.__name__)
def test_fields_are_those_of_xla(kind: type[Message], messages: dict[str, DescriptorProto]) -> None:
    name = kind.__name__
    xla = {field.name: field for field in messages[name].field}
    for field in fields_of(kind):
        if (name, field.name) in RETIRED:
            assert field.name not in xla
            assert field.number not in {other.number for other in xla.values()}
            continue
        theirs = xla[field.name]
        assert field.number == theirs.number, field.name
        is_repeated = theirs.label == XlaField.LABEL_REPEATED
        packed_floats = is_repeated and theirs.type in {XlaField.TYPE_FLOAT, XlaField.TYPE_DOUBLE}
        if packed_floats:
            # Packed, a list of floats is bytes.
            assert field.kind is bytes
            assert not field.is_repeated
            continue
        assert is_repeated == field.is_repeated, field.name
        assert theirs.type in wire_type(field), field.name
        if issubclass(field.kind, Message):
            assert theirs.type_name.rpartition(".")[2] == field.kind.__name__


@pytest.mark.parametrize("kind", message_kinds(), ids=lambda kind: kind.__name__)
def test_no_field_of_xla_is_unknown(
    kind: type[Message], messages: dict[str, DescriptorProto]
) -> None:
    """Each is read, or named as one that no text shows."""
    read = {field.number for field in fields_of(kind)}
    assert not read & kind.UNREAD
    theirs = {field.number for field in messages[kind.__name__].field}
    assert sorted(theirs - read - kind.UNREAD) == []


def test_primitive_types_are_those_of_xla(enums: dict[str, EnumDescriptorProto]) -> None:
    words = {number: word.upper() for number, word in TYPE_WORDS.items()}
    words |= {TUPLE: "TUPLE", BUFFER: "BUFFER", 14: "OPAQUE_TYPE", 0: "PRIMITIVE_TYPE_INVALID"}
    assert {value.number: value.name for value in enums["PrimitiveType"].value} == words


# Opcodes whose names in C++ are not their words (xla/hlo/ir/hlo_opcode.h).
OTHER_WORDS = {
    "clz": "count-leading-zeros",
    "cos": "cosine",
    "exp": "exponential",
    "expm1": "exponential-minus-one",
    "log1p": "log-plus-one",
    "optimization-barrier": "opt-barrier",
    "population-count": "popcnt",
    "sin": "sine",
    "top-k": "topk",
}


def test_attributes_are_known_for_every_opcode() -> None:
    names = (re.sub("(?<!^)([A-Z])", r"-\1", name[1:]).lower() for name in HloOpcode.__members__)
    assert {OTHER_WORDS.get(name, name) for name in names} == PRINTERS.keys()
