"""A collective as it stands in one text, in a form in which texts can be compared.

Serves `collective_life`: what runs it, what it is known again by, whom it serves. Given
instructions and their modules; nothing here looks at a second text.
"""

from collections.abc import Sequence
from typing import NamedTuple

from app.analysis.async_pairs import WRAPPERS, is_sync, wrapped_operations
from app.analysis.dataflow import root_elements
from app.analysis.fingerprints import operation_of
from app.analysis.flops import operand_shape
from app.analysis.loop_bodies import value_behind
from app.analysis.opcodes import TPU_START, async_role, collective_opcode
from app.analysis.sources import source_of
from app.model.facts import LoopHistory
from hlo_parser import Callee, Computation, Instruction, Module, Shape

_MOST_NAMES = 6
_LONGEST = 120


class Stage(NamedTuple):
    """The collective in one text: `instruction` in `around` runs `operation`, part of `inner`."""

    dump: int
    module: Module
    around: Computation
    instruction: Instruction
    inner: Computation
    operation: Instruction
    opcode: str

    @property
    def is_async(self) -> bool:
        """Whether it is a start that may overlap with what follows; send and recv always are."""
        if self.opcode in ("send", "recv"):
            return True
        if self.instruction.opcode == "fusion":
            return any(i.custom_call_target == TPU_START for i in self.inner.instructions)
        return async_role(self.instruction.opcode) == "start" and not is_sync(
            self.module, self.instruction
        )

    def beside(self, before: "Stage") -> Computation | None:
        """The computation in which the one before still stands, beside this one."""
        if before.instruction.name == self.instruction.name:
            return None
        there = self.module.get(before.around.name)
        kept = None if there is None else there.get(before.instruction.name)
        same = kept is not None and operation_of(kept) == operation_of(before.instruction)
        return there if same else None


class CollectiveFinder:
    """Says which collective an instruction is or starts; what several lines call is read once."""

    def __init__(self) -> None:
        self._opcodes: dict[Instruction, str | None] = {}
        self._called: dict[
            tuple[Module, tuple[Callee, ...]], tuple[Computation, Instruction] | None
        ] = {}

    def opcode_of(self, instruction: Instruction) -> str | None:
        """As `collective_opcode`, told from the line alone and so once for all texts."""
        if instruction not in self._opcodes:
            self._opcodes[instruction] = collective_opcode(instruction)
        return self._opcodes[instruction]

    def of(
        self, module: Module, computation: Computation, instruction: Instruction
    ) -> tuple[Computation, Instruction] | None:
        """The collective with its computation, None for other instructions."""
        if self.opcode_of(instruction) is not None:
            return computation, instruction
        if instruction.opcode not in WRAPPERS:
            return None
        key = module, instruction.callees
        if key not in self._called:
            self._called[key] = next(
                (
                    (inner, operation)
                    for inner, operation in wrapped_operations(module, instruction)
                    if self.opcode_of(operation) is not None
                ),
                None,
            )
        return self._called[key]


def identity_of(
    module: Module, computation: Computation, operation: Instruction
) -> tuple[object, ...] | None:
    """By which a copy is known again; None without a JAX name.

    Of the name only the end counts: inlining a call puts the caller's name in front of it.
    """
    metadata = operation.metadata
    if metadata is None or not metadata.op_name:
        return None
    kind = operation_of(operation)
    groups = operation.replica_groups
    source = source_of(module, operation)
    return (
        "collective-permute" if kind in ("send", "recv") else kind,
        tuple(shape.without_layout for shape in payload(computation, operation)),
        groups.text if groups else "",
        metadata.op_name.rpartition("/")[2],
        (source.file, source.line) if source else None,
    )


def payload(computation: Computation, operation: Instruction) -> tuple[Shape, ...]:
    """The shapes of what a collective sends, for a recv of what it receives."""
    if operation.opcode == "recv":
        return operation.shape.elements[:1]
    count = len(operation.operands)
    if operation.opcode in ("send", "ragged-all-to-all"):
        count = min(count, 1)
    shapes = (operand_shape(computation, operation, number) for number in range(count))
    return tuple(shape for shape in shapes if shape is not None)


def service_of(stage: Stage) -> str:
    """The line of the program that the collective serves, and JAX's name of it."""
    source = source_of(stage.module, stage.instruction) or source_of(stage.module, stage.operation)
    metadata = stage.operation.metadata or stage.instruction.metadata
    name = metadata.op_name.rpartition("/")[2] if metadata and metadata.op_name else ""
    if source is None:
        return f", for {shortened(name)}" if name else ""
    file = source.file.replace("\\", "/").rpartition("/")[2]
    return f", for {f'{shortened(name)} at ' if name else ''}{file}:{source.line}"


def reads_carry(stage: Stage, loop: LoopHistory) -> bool:
    """Whether it works on what the iteration before left for it."""
    here = loop.occurrences[stage.dump]
    if stage.around is not here.body or not stage.instruction.operands:
        return False
    name, path = stage.instruction.operands[0], stage.instruction.operand_paths[0]
    value = value_behind(stage.around, name, path)
    is_parameter = any(value.name == parameter.name for parameter in stage.around.parameters)
    return is_parameter and not (value.path and value.path[0] in here.invariant)


def feeds_carry(stage: Stage) -> bool:
    """Whether its result is left for the iteration after."""
    return any(
        value_behind(stage.around, value.name, value.path).name == stage.instruction.name
        for value in root_elements(stage.around)
    )


def element_types(stage: Stage) -> tuple[str, ...]:
    """The different element types of what is sent, in order."""
    shapes = payload(stage.inner, stage.operation)
    return tuple(dict.fromkeys(s.element_type for s in shapes if s.kind == "array"))


def listed(names: Sequence[str]) -> str:
    """Names in a row, those past the first few counted."""
    shown = ", ".join(names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


def shortened(text: str) -> str:
    """The text, cut where it is long; the cut is shown."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
