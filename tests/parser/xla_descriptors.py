"""XLA's own message descriptors, as they lie in the shared library of jaxlib.

C++ protobuf keeps each .proto file as a serialized FileDescriptorProto in the binary. Its parts
name no length, so the end is found by walking its fields up to the syntax word, the last one.
"""

import mmap
from pathlib import Path

import jaxlib
from google.protobuf.descriptor_pb2 import FileDescriptorProto

_LIBRARY = Path(jaxlib.__file__).with_name("libjax_common.so")
_SYNTAX = 12


def xla_file(name: str) -> FileDescriptorProto:
    """The descriptor of a .proto file, e.g. `xla/service/hlo.proto`."""
    head = bytes([0x0A, len(name)]) + name.encode()
    with _LIBRARY.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            start = data.find(head)
            assert start >= 0, f"{name} is not in {_LIBRARY.name}"
            return FileDescriptorProto.FromString(data[start : _end(data, start)])
        finally:
            data.close()


def _end(data: mmap.mmap, position: int) -> int:
    while True:
        key, position = _varint(data, position)
        length, position = _varint(data, position)
        assert key & 7 == 2, "a field of FileDescriptorProto that is no string or message"
        position += length
        if key >> 3 == _SYNTAX:
            return position


def _varint(data: mmap.mmap, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, position
