"""A decoded module to the text XLA prints of it, line by line.

Given a module, gives its text in the long form of dumps since March 2025: names with `%`,
operands without shapes, one instruction a line. Ids become names, and asynchronous instructions
stay in the generic form that the proto has (`async-start`, never `slice-start`). What a line
cannot say as it stands in the proto (names that are no names, ids that nothing has, numbers and
fields of a newer release) becomes a `Fault` of that line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hlo_parser.proto.attributes import TYPED_BY_OPERAND, own_attributes
from hlo_parser.proto.budget import Budget
from hlo_parser.proto.call_order import printed_order
from hlo_parser.proto.header_text import frame_lines, header_text
from hlo_parser.proto.line import Line
from hlo_parser.proto.names import Names
from hlo_parser.proto.schema import (
    HloComputationProto,
    HloInstructionProto,
    HloModuleProto,
    ResultAccuracy,
)
from hlo_parser.proto.shape_text import with_indices
from hlo_parser.proto.shared_text import SharedTexts
from hlo_parser.proto.value_text import quoted

_is_opcode = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*+", re.ASCII).fullmatch
_NO_OPCODE = re.compile(r"[^A-Za-z0-9_.\-]", re.ASCII)
_HIGHEST = 1


class Fault(NamedTuple):
    """What a line could not say; lines count from 1."""

    line: int
    text: str
    reason: str


class Rendering(NamedTuple):
    """A module as text, and what the text does not hold."""

    text: str
    faults: tuple[Fault, ...]


def render(module: HloModuleProto, size: int) -> Rendering:
    """The text of a module that came in `size` bytes."""
    budget = Budget(size)
    notes: list[str] = []
    page = _Page()
    texts = SharedTexts(module.payloads, budget)
    page.add(header_text(module, notes), notes)
    page.lines.append("")
    page.lines += frame_lines(module.stack_frame_index)
    callees = Names(budget)
    named = [_Named(proto, callees, texts, budget) for proto in module.computations]
    sequences = {entry.key: entry.value.instruction_ids for entry in module.schedule.sequences}
    for position in printed_order(module.computations):
        computation = named[position]
        is_entry = computation.proto.id == module.entry_computation_id
        computation.add_to(page, sequences.get(computation.proto.id), is_entry=is_entry)
    texts.see(module, HloModuleProto)
    unknown = [
        f"field {number} of {kind} is not known ({times} messages have it)"
        for (kind, number), times in sorted(texts.unknown.items())
    ]
    faults = [Fault(1, page.lines[0], reason) for reason in unknown]
    return Rendering("\n".join(page.lines) + "\n", (*faults, *page.faults))


class _Page:
    """Lines, and what is wrong with them."""

    __slots__ = ("faults", "lines")

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.faults: list[Fault] = []

    def add(self, text: str, notes: Iterable[str]) -> None:
        self.lines.append(text)
        self.faults += [Fault(len(self.lines), text, note) for note in notes]


class _Named:
    """A computation whose instructions have their names; prints itself when all callees do."""

    __slots__ = (
        "callees",
        "name",
        "names",
        "notes",
        "positions",
        "printed_names",
        "proto",
        "texts",
    )

    def __init__(
        self, proto: HloComputationProto, callees: Names, texts: SharedTexts, budget: Budget
    ) -> None:
        self.proto = proto
        self.callees = callees
        self.texts = texts
        self.notes: list[str] = []
        self.name = callees.add(proto.id, proto.name, self.notes)
        self.names = Names(budget)
        self.positions: dict[int, int] = {}
        self.printed_names: list[tuple[str, list[str]]] = []
        for position, instruction in enumerate(proto.instructions):
            own: list[str] = []
            name = self.names.add(instruction.id, instruction.name, own)
            self.printed_names.append((name, own))
            self.positions.setdefault(instruction.id, position)
        texts.see(proto, HloComputationProto)

    def add_to(self, page: _Page, sequence: Sequence[int] | None, *, is_entry: bool) -> None:
        order = self._order(sequence)
        entry = "ENTRY " if is_entry else ""
        page.add(f"{entry}%{self.name} {self._signature()} {{", self.notes)
        for position in order:
            name, notes = self.printed_names[position]
            text = self._instruction(self.proto.instructions[position], name, notes)
            page.add(text, notes)
        thread = self.proto.execution_thread
        foot = f", execution_thread={quoted(thread)}" if thread not in {b"", b"main"} else ""
        page.lines += (f"}}{foot}", "")

    def _order(self, sequence: Sequence[int] | None) -> Iterable[int]:
        """Positions as scheduled; what the schedule leaves out comes last."""
        count = len(self.printed_names)
        if sequence is None:
            return range(count)
        order = dict.fromkeys(
            self.positions[number] for number in sequence if number in self.positions
        )
        if len(order) != count or len(sequence) != count:
            self.notes.append(f"the schedule lists {len(sequence)} of {count} instructions")
        return (*order, *(position for position in range(count) if position not in order))

    def _signature(self) -> str:
        """`(name: shape, ...) -> shape`."""
        parameters = sorted(
            (
                (proto.parameter_number, position)
                for position, proto in enumerate(self.proto.instructions)
                if proto.opcode == b"parameter"
            ),
        )
        printed = ", ".join(
            f"{self.printed_names[position][0]}: {self._bare_shape(position)}"
            for _, position in parameters
        )
        root = self.positions.get(self.proto.root_id)
        if root is None:
            self.notes.append(f"no instruction has the id {self.proto.root_id} of the root")
        return f"({printed}) -> {'()' if root is None else self._bare_shape(root)}"

    def _bare_shape(self, position: int) -> str:
        return self.texts.bare_shape(self.proto.instructions[position].shape)

    def _instruction(self, proto: HloInstructionProto, name: str, notes: list[str]) -> str:
        opcode = proto.opcode.decode("utf-8", errors="backslashreplace")
        if not _is_opcode(opcode):
            notes.append(f"{opcode[:60]!r} is no opcode")
            opcode = "unknown-" + _NO_OPCODE.sub("_", opcode[:60])
        self.texts.see(proto, HloInstructionProto)
        root = "ROOT " if proto.id == self.proto.root_id else ""
        shape = self.texts.shape(proto.shape, notes)
        line = Line(
            proto=proto,
            opcode=opcode,
            operand_type=self._operand_type(proto) if opcode in TYPED_BY_OPERAND else "",
            callees=tuple(
                self.callees.printed(number, "computation", notes)
                for number in proto.called_computation_ids
            ),
            texts=self.texts,
            notes=notes,
        )
        attributes = [*own_attributes(line), *self._common_attributes(proto, notes)]
        arguments = self._arguments(proto, opcode, notes)
        return f"  {root}%{name} = " + ", ".join([f"{shape} {opcode}({arguments})", *attributes])

    def _operand_type(self, proto: HloInstructionProto) -> str:
        if not proto.operand_ids:
            return ""
        position = self.positions.get(proto.operand_ids[0])
        if position is None:
            return ""
        return self.texts.element_type(self.proto.instructions[position].shape)

    def _arguments(self, proto: HloInstructionProto, opcode: str, notes: list[str]) -> str:
        if opcode == "parameter":
            return str(proto.parameter_number)
        if opcode == "constant":
            return self.texts.literal(proto.literal, notes)
        return with_indices(self._printed(proto.operand_ids, notes))

    def _printed(self, numbers: Sequence[int], notes: list[str]) -> Iterator[str]:
        return (self.names.printed(number, "instruction", notes) for number in numbers)

    def _common_attributes(self, proto: HloInstructionProto, notes: list[str]) -> Iterator[str]:
        """What any instruction may have, in printed order (hlo_instruction.cc)."""
        texts = self.texts
        if proto.HasField("sharding"):
            yield f"sharding={texts.sharding(proto.sharding, notes)}"
        if attributes := texts.frontend_attributes(proto.frontend_attributes, notes):
            yield f"frontend_attributes={attributes}"
        if proto.control_predecessor_ids:
            names = ", ".join(self._printed(proto.control_predecessor_ids, notes))
            yield f"control-predecessors={{{names}}}"
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
