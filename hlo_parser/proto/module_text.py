"""A decoded module to the text XLA prints of it, line by line.

Given a module, gives its text in the long form of dumps since March 2025: names with `%`,
operands without shapes, one instruction a line. Ids become names, and asynchronous instructions
stay in the generic form that the proto has (`async-start`, never `slice-start`). What a line
cannot say as it stands in the proto (names that are no names, ids that nothing has, numbers and
fields of a newer release) becomes a `Fault` of that line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hlo_parser.proto.budget import Budget, Payloads
from hlo_parser.proto.call_order import printed_order
from hlo_parser.proto.header_text import frame_lines, header_text
from hlo_parser.proto.instruction_text import Record, Records, Surroundings
from hlo_parser.proto.names import Names, legal_thread
from hlo_parser.proto.notes import UnknownField, note_unknown_fields
from hlo_parser.proto.schema import HloComputationProto, HloModuleProto


class Fault(NamedTuple):
    """What a line could not say; lines count from 1."""

    line: int
    text: str
    reason: str


class Rendering(NamedTuple):
    """A module as text, and what the text does not hold."""

    text: str
    faults: tuple[Fault, ...]


def render(module: HloModuleProto, size: int, records: Records | None = None) -> Rendering:
    """The text of a module that came in `size` bytes.

    `records` remembers instructions of other modules; they are left alone where the module has
    payloads, since the text of an instruction then depends on its module.
    """
    budget = Budget(size)
    payloads = Payloads(module.payloads, budget)
    if records is None or payloads:
        records = Records(payloads)
    page = _Page(budget)
    notes: list[str] = []
    header = header_text(module, notes)
    note_unknown_fields(module, HloModuleProto, notes)
    page.add(header, notes)
    page.lines.append("")
    page.lines += frame_lines(module.stack_frame_index)
    callees = Names(budget)
    named = [_Named(proto, callees, records, budget) for proto in module.computations]
    sequences = {entry.key: entry.value.instruction_ids for entry in module.schedule.sequences}
    numbers = [computation.number for computation in named]
    for position in printed_order(numbers, [computation.calls() for computation in named]):
        computation = named[position]
        is_entry = computation.number == module.entry_computation_id
        computation.add_to(page, sequences.get(computation.number), is_entry=is_entry)
    return Rendering("\n".join(page.lines) + "\n", page.all_faults())


class _Page:
    """Lines, and what is wrong with them."""

    __slots__ = ("_budget", "_faults", "_unknown", "lines")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.lines: list[str] = []
        self._faults: list[Fault] = []
        self._unknown: dict[UnknownField, list[int]] = {}

    def add(self, text: str, notes: Iterable[str]) -> None:
        self._budget.spend(len(text))
        self.lines.append(text)
        for note in notes:
            if isinstance(note, UnknownField):
                self._unknown.setdefault(note, []).append(len(self.lines))
            else:
                self._faults.append(Fault(len(self.lines), text, note))

    def all_faults(self) -> tuple[Fault, ...]:
        """One for each unknown field, at the first line that has it, and all others."""
        unknown = [
            Fault(lines[0], self.lines[lines[0] - 1], f"{note}; lines that have it: {len(lines)}")
            for note, lines in self._unknown.items()
        ]
        return (*unknown, *self._faults)


class _Named:
    """A computation whose instructions have their names; prints itself when all callees do."""

    __slots__ = (
        "_by_id",
        "_callees",
        "_instructions",
        "_name",
        "_names",
        "_notes",
        "_proto",
        "_records",
        "number",
    )

    def __init__(
        self, proto: HloComputationProto, callees: Names, records: Records, budget: Budget
    ) -> None:
        self.number = proto.id
        self._proto = proto
        self._callees = callees
        self._records = records
        self._notes: list[str] = []
        self._name = callees.add(proto.id, proto.name, self._notes)
        self._names = Names(budget)
        self._instructions: list[tuple[Record, str, list[str]]] = []
        self._by_id: dict[int, int] = {}
        for position, raw in enumerate(proto.instructions):
            record = records.get(raw)
            notes: list[str] = []
            name = self._names.add(record.number, record.name, notes)
            self._instructions.append((record, name, notes))
            self._by_id.setdefault(record.number, position)

    def calls(self) -> list[tuple[int, ...]]:
        """The ids that instructions call, in the order of the instructions' ids."""
        calling = [(record.number, record.callees) for record, _, _ in self._instructions]
        return [callees for _, callees in sorted(calling) if callees]

    def add_to(self, page: _Page, sequence: Sequence[int] | None, *, is_entry: bool) -> None:
        order = self._order(sequence)
        thread = legal_thread(self._proto.execution_thread, self._notes)
        entry = "ENTRY " if is_entry else ""
        page.add(f"{entry}%{self._name} {self._signature()} {{", self._notes)
        for position in order:
            record, name, notes = self._instructions[position]
            line = self._records.line(record, self._surroundings(record, name, notes))
            page.add(line.text, (*notes, *line.notes))
        foot = "" if thread == "main" else f', execution_thread="{thread}"'
        page.lines += (f"}}{foot}", "")

    def _order(self, sequence: Sequence[int] | None) -> Iterable[int]:
        """Positions as scheduled; what the schedule leaves out comes last."""
        count = len(self._instructions)
        if sequence is None:
            return range(count)
        order = dict.fromkeys(self._by_id[number] for number in sequence if number in self._by_id)
        if len(order) != count or len(sequence) != count:
            self._notes.append("the schedule does not list every instruction once")
        return (*order, *(position for position in range(count) if position not in order))

    def _signature(self) -> str:
        """`(name: shape, ...) -> shape`."""
        bare = self._records.texts.bare_shape
        parameters = sorted(
            (record.parameter_number, position)
            for position, (record, _, _) in enumerate(self._instructions)
            if record.opcode == "parameter"
        )
        printed: list[str] = []
        for _, position in parameters:
            record, name, _ = self._instructions[position]
            printed.append(f"{name}: {bare(record.shape)}")
        root = self._by_id.get(self._proto.root_id)
        if root is None:
            self._notes.append(f"no instruction has the id {self._proto.root_id} of the root")
        result = "()" if root is None else bare(self._instructions[root][0].shape)
        return f"({', '.join(printed)}) -> {result}"

    def _surroundings(self, record: Record, name: str, notes: list[str]) -> Surroundings:
        return Surroundings(
            name=name,
            is_root=record.number == self._proto.root_id,
            operands=self._names.printed(record.operands, "instruction", notes),
            control_predecessors=self._names.printed(
                record.control_predecessors, "instruction", notes
            ),
            callees=self._callees.printed(record.callees, "computation", notes),
            operand_type=self._operand_type(record) if record.is_typed_by_operand else "",
        )

    def _operand_type(self, record: Record) -> str:
        position = self._by_id.get(record.operands[0]) if record.operands else None
        if position is None:
            return ""
        return self._records.texts.element_type(self._instructions[position][0].shape)
