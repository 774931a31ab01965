"""Bytes of a proto file to a module.

Takes what XLA writes as `.hlo.pb` (HloProto), `.hlo.pb.gz`, HloModuleProto as JAX hands it out,
and the module inside an HloSnapshot or HloUnoptimizedSnapshot. The kinds are told apart by what
they hold, since a protobuf does not name its type. The module is printed as XLA would print it
and read as a text, so that both ways give the same values.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

from hlo_parser.errors import HloProtoError, HloSyntaxError, Span, Unparsed
from hlo_parser.interner import Interner
from hlo_parser.parse import parse_module
from hlo_parser.proto.budget import NO_PAYLOADS
from hlo_parser.proto.instruction_text import Records
from hlo_parser.proto.module_text import Fault, render
from hlo_parser.proto.schema import HloInstructionProto, HloModuleProto, HloProto, HloSnapshot
from hlo_parser.proto.wire import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo_parser.interner import Interner
    from hlo_parser.module import Module

MAX_BYTES = 1 << 31
"""The most that protobuf itself reads or writes as one message."""

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_AS_GZIP = 16 + zlib.MAX_WBITS
_SHOWN = 200
_is_opcode = re.compile(rb"[a-z][a-z0-9\-]*+").fullmatch


def parse_proto(
    data: bytes, *, interner: Interner | None = None, max_bytes: int = MAX_BYTES
) -> Module:
    """Read a serialized HloProto, HloModuleProto, HloSnapshot or HloUnoptimizedSnapshot.

    Compressed data (gzip) may not unpack to more than `max_bytes`. Lines, spans and `pieces` of
    the module are those of the text it prints as, in the long form; what that text cannot say is
    in `Module.unparsed`. Raises HloProtoError for anything that is not whole.
    """
    data = unpacked(data, max_bytes)
    interner = interner or Interner()
    if interner.protos is None:
        interner.protos = Records(NO_PAYLOADS)
    rendering = render(_module_in(data), len(data), interner.protos)
    try:
        module = parse_module(rendering.text, interner=interner)
    except HloSyntaxError as error:
        raise HloProtoError(error.message) from None
    return module.noting([_unparsed(fault) for fault in rendering.faults])


def _unparsed(fault: Fault) -> Unparsed:
    span = Span(fault.line, 1, fault.line, len(fault.text) + 1)
    return Unparsed(span, fault.text[:_SHOWN], fault.reason)


def unpacked(data: bytes, max_bytes: int) -> bytes:
    """The bytes of a proto; of a gzip file all members, at most `max_bytes`."""
    if data.startswith(_ZSTD):
        raise HloProtoError("compressed with zstd, which is not read here")
    if not data.startswith(_GZIP):
        return data
    parts: list[bytes] = []
    left = max_bytes
    while data.startswith(_GZIP):
        reader = zlib.decompressobj(_AS_GZIP)
        try:
            part = reader.decompress(data, left + 1)
        except zlib.error as error:
            raise HloProtoError(f"damaged gzip data: {error}") from None
        left -= len(part)
        if left < 0:
            raise HloProtoError(f"unpacks to more than {max_bytes} bytes")
        if not reader.eof:
            raise HloProtoError("the gzip data is cut off")
        parts.append(part)
        data = reader.unused_data
    return b"".join(parts)


def _module_in(data: bytes) -> HloModuleProto:
    if not data:
        raise HloProtoError("not an HLO module: no bytes at all")
    fault = ""
    for found in (_in_hlo_proto, _bare, _in_snapshot):
        try:
            module = found(data)
        except HloProtoError as error:
            fault = fault or error.message
            continue
        if _is_module(module):
            return module
    raise HloProtoError(f"not an HLO module: {fault or 'no instruction in it'}")


def _in_hlo_proto(data: bytes) -> HloModuleProto:
    return decode(HloProto, data).hlo_module


def _bare(data: bytes) -> HloModuleProto:
    return decode(HloModuleProto, data)


def _in_snapshot(data: bytes) -> HloModuleProto:
    return decode(HloSnapshot, data).hlo.hlo_module


def _is_module(module: HloModuleProto) -> bool:
    """Whether the bytes were meant so: another message read as one has no word for an opcode."""
    return any(_is_opcode(opcode) is not None for opcode in _opcodes(module))


def _opcodes(module: HloModuleProto) -> Iterator[bytes]:
    for computation in module.computations:
        for raw in computation.instructions:
            try:
                instruction = decode(HloInstructionProto, raw)
            except HloProtoError:
                continue
            if instruction.name:
                yield instruction.opcode
