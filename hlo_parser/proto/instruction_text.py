"""One instruction of a proto to the line XLA prints of it, each distinct one once.

A dump repeats most of its instructions in every pass. `Records` keeps each encoded instruction
that was seen, decoded, with the lines made of it: a line follows from the bytes and from the names
that its ids have in the module at hand. One `Records` may serve all modules of a dump, as an
Interner does, as long as they have no payloads of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hlo_parser.proto.attributes import TYPED_BY_OPERAND, own_attributes
from hlo_parser.proto.budget import Payloads
from hlo_parser.proto.line import Line
from hlo_parser.proto.notes import note_unknown_fields
from hlo_parser.proto.schema import HloInstructionProto, ResultAccuracy
from hlo_parser.proto.shape_text import with_indices
from hlo_parser.proto.shared_text import SharedTexts
from hlo_parser.proto.wire import decode

_is_opcode = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*+", re.ASCII).fullmatch
_NO_OPCODE = re.compile(r"[^A-Za-z0-9_.\-]", re.ASCII)
_HIGHEST = 1


class Surroundings(NamedTuple):
    """What of its module and computation an instruction prints; names with `%`."""

    name: str
    is_root: bool
    operands: tuple[str, ...]
    control_predecessors: tuple[str, ...]
    callees: tuple[str, ...]
    operand_type: str
    """The type word of the first operand, where the opcode's attributes depend on it."""


class PrintedLine(NamedTuple):
    """A line, and what it does not say."""

    text: str
    notes: tuple[str, ...]


class Record:
    """An encoded instruction, as far as its surroundings matter, and its lines."""

    __slots__ = (
        "callees",
        "control_predecessors",
        "lines",
        "name",
        "number",
        "opcode",
        "operands",
        "parameter_number",
        "raw",
        "shape",
    )

    def __init__(self, raw: bytes) -> None:
        proto = decode(HloInstructionProto, raw)
        self.raw: bytes = raw
        self.number: int = proto.id
        self.name: bytes = proto.name
        self.opcode: str = proto.opcode.decode("utf-8", errors="backslashreplace")
        self.operands: tuple[int, ...] = tuple(proto.operand_ids)
        self.control_predecessors: tuple[int, ...] = tuple(proto.control_predecessor_ids)
        self.callees: tuple[int, ...] = tuple(proto.called_computation_ids)
        self.parameter_number: int = proto.parameter_number
        self.shape: bytes = proto.shape
        self.lines: dict[Surroundings, PrintedLine] = {}

    @property
    def is_typed_by_operand(self) -> bool:
        """Whether its attributes depend on the type of the first operand."""
        return self.opcode in TYPED_BY_OPERAND


class Records:
    """All instructions seen, by their bytes."""

    __slots__ = ("_known", "texts")

    texts: SharedTexts

    def __init__(self, payloads: Payloads) -> None:
        self._known: dict[bytes, Record] = {}
        self.texts = SharedTexts(payloads)

    def get(self, raw: bytes) -> Record:
        """The record of an encoded instruction; raises HloProtoError."""
        record = self._known.get(raw)
        if record is None:
            record = self._known[raw] = Record(raw)
        return record

    def line(self, record: Record, surroundings: Surroundings) -> PrintedLine:
        """The instruction as it prints there."""
        line = record.lines.get(surroundings)
        if line is None:
            notes: list[str] = []
            text = self._text(record, surroundings, notes)
            line = record.lines[surroundings] = PrintedLine(text, tuple(notes))
        return line

    def _text(self, record: Record, surroundings: Surroundings, notes: list[str]) -> str:
        proto = decode(HloInstructionProto, record.raw)
        note_unknown_fields(proto, HloInstructionProto, notes)
        opcode = record.opcode
        if not _is_opcode(opcode):
            notes.append(f"{opcode[:60]!r} is no opcode")
            opcode = "unknown-" + _NO_OPCODE.sub("_", opcode[:60])
        line = Line(
            proto=proto,
            opcode=opcode,
            operand_type=surroundings.operand_type,
            callees=surroundings.callees,
            texts=self.texts,
            notes=notes,
        )
        root = "ROOT " if surroundings.is_root else ""
        shape = self.texts.shape(proto.shape, notes)
        call = f"{opcode}({self._arguments(line, surroundings)})"
        parts = (call, *own_attributes(line), *self._common_attributes(line, surroundings))
        return f"  {root}%{surroundings.name} = {shape} {', '.join(parts)}"

    def _arguments(self, line: Line, surroundings: Surroundings) -> str:
        if line.opcode == "parameter":
            return str(line.proto.parameter_number)
        if line.opcode == "constant":
            return self.texts.literal(line.proto.literal, line.notes)
        return with_indices(surroundings.operands)

    def _common_attributes(self, line: Line, surroundings: Surroundings) -> Iterator[str]:
        """What any instruction may have, in printed order (hlo_instruction.cc)."""
        proto, texts, notes = line.proto, self.texts, line.notes
        if proto.HasField("sharding"):
            yield f"sharding={texts.sharding(proto.sharding, notes)}"
        if attributes := texts.frontend_attributes(proto.frontend_attributes, notes):
            yield f"frontend_attributes={attributes}"
        if surroundings.control_predecessors:
            yield f"control-predecessors={{{', '.join(surroundings.control_predecessors)}}}"
        if statistics := texts.statistics(proto.statistics_viz, notes):
            yield f"statistics={statistics}"
        if accuracy := _accuracy(proto.result_accuracy):
            yield f"result_accuracy={accuracy}"
        if proto.original_value:
            yield f"origin={texts.origin(proto.original_value, notes)}"
        if metadata := texts.metadata(proto.metadata, notes):
            yield f"metadata={{{metadata}}}"
        payload = proto.backend_config_payload if proto.HasField("backend_config_payload") else None
        if config := texts.backend_config(proto.backend_config, payload, notes):
            yield f"backend_config={config}"


def _accuracy(accuracy: ResultAccuracy) -> str:
    if accuracy.HasField("tolerance"):
        tolerance = accuracy.tolerance
        bounds = f"atol={tolerance.atol:g},rtol={tolerance.rtol:g},ulps={tolerance.ulps}"
        return f"{{tolerance={{{bounds}}}}}"
    return "{mode=highest}" if accuracy.mode == _HIGHEST else ""
