"""Serialized protos made by hand, through the same descriptors that read them."""

from collections.abc import Mapping, Sequence

from hlo_parser.proto import schema
from hlo_parser.proto.schema import Message
from hlo_parser.proto.wire import Field, fields_of

Fields = Mapping[str, object]

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
