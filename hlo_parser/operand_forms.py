"""Whether an instruction fits the operands it has: their shapes, their opcodes, their number.

Given an instruction and those its operands name, gives its first fault. What XLA's verifier
judges later is not judged here; nor is anything where a shape is not known.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from hlo_parser.infer import inferred
from hlo_parser.infer_parts import CannotInferError
from hlo_parser.instruction_forms import Fault, split_list
from hlo_parser.literal_forms import compatible, leaf_count
from hlo_parser.value_forms import squeezed
from hlo_parser.values import names_from_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo_parser.instruction import Instruction

_TWO_BRANCHES = ("true_computation", "false_computation")
_MANY_BRANCHES = ("branch_computations",)
# A start has the operands of what it starts, and XLA makes that too; its shape is another.
_STARTED = {
    f"{opcode}-start": opcode
    for opcode in (
        "scatter broadcast conditional custom-call dynamic-slice dynamic-update-slice".split()
    )
}
_JUDGED = frozenset(
    [*_STARTED, *_STARTED.values(), "parameter", "get-tuple-element", "reshape", "tuple"]
)
# Operands in front of the indices.
_SLICED = {"dynamic-slice": 1, "dynamic-update-slice": 2}


def depends_on_operands(instruction: Instruction) -> bool:
    """Whether there is anything to be judged about its operands."""
    return instruction.opcode in _JUDGED or instruction.shape.kind == "unknown"


def operands_fault(instruction: Instruction, operands: Sequence[Instruction]) -> Fault | None:
    """The first fault that depends on the operands."""
    opcode, attributes = instruction.opcode, instruction.attributes
    opcode = _STARTED.get(opcode, opcode)
    first = operands[0].shape if operands else None
    if opcode == "parameter" and "parameter_replication" in attributes:
        leaves = leaf_count(instruction.shape.text)
        told = attributes["parameter_replication"]
        if told.count("true") + told.count("false") != leaves:
            return Fault("one value for each array of the parameter", "parameter_replication=")
    if opcode == "tuple" and instruction.shape.kind == "tuple":
        wanted = len(instruction.shape.elements)
        if len(operands) != wanted:
            return Fault(f"the shape has {wanted} elements, found {len(operands)}", opcode)
    if opcode == "scatter" and len(operands) % 2 == 0:
        return Fault("scatter takes as many updates as arrays, and the indices", opcode)
    if first is None or first.kind == "unknown" or any(instruction.operand_paths):
        return None
    if opcode == "broadcast" and "dimensions" not in attributes and first.dimensions:
        return Fault("broadcast needs the attribute dimensions", opcode)
    if opcode == "get-tuple-element" and instruction.shape.kind == "unknown":
        return Fault("the operand has no such element", opcode)
    if instruction.shape.kind == "unknown":
        return _inference_fault(instruction, operands)
    judge = _CHECKS.get(opcode)
    return None if judge is None else judge(instruction, operands)


def _inference_fault(instruction: Instruction, operands: Sequence[Instruction]) -> Fault | None:
    """Why XLA infers no shape for an instruction that prints none."""
    shapes = [operand.shape for operand in operands]
    if all(shape.kind != "unknown" for shape in shapes):
        try:
            inferred(instruction.opcode, instruction.attributes, shapes)
        except CannotInferError as error:
            return Fault(str(error), instruction.opcode)
    return None


def _reshape_fault(instruction: Instruction, operands: Sequence[Instruction]) -> Fault | None:
    operand = operands[0]
    shape, given = instruction.shape, operand.shape
    if shape.kind != "array" or given.kind != "array" or shape.is_dynamic or given.is_dynamic:
        return None
    if prod(shape.dimensions) != prod(given.dimensions):
        return Fault(f"{operand.name} has another number of elements", "reshape")
    return None


def _indices_fault(instruction: Instruction, operands: Sequence[Instruction]) -> Fault | None:
    indices = operands[_SLICED[instruction.opcode.removesuffix("-start")] :]
    rank = len(operands[0].shape.dimensions)
    if operands[0].shape.kind != "array" or (len(indices) == 1 and indices[0].shape.dimensions):
        return None
    if len(indices) != rank:
        return Fault(f"{len(indices)} indices for {rank} dimensions", instruction.opcode)
    return None


def _conditional_fault(instruction: Instruction, operands: Sequence[Instruction]) -> Fault | None:
    index = operands[0].shape
    if index.element_type not in {"pred", "s32"} or index.dimensions:
        return Fault("the first operand tells the branch: pred[] or s32[]", "conditional")
    keys = _TWO_BRANCHES if index.element_type == "pred" else _MANY_BRANCHES
    given = [key for key in instruction.attributes if key in (*_TWO_BRANCHES, *_MANY_BRANCHES)]
    if sorted(given) != sorted(keys):
        return Fault(f"this conditional needs {' and '.join(keys)}", "conditional")
    branches = sum(len(names_from_text(instruction.attributes[key])) for key in keys)
    if branches != len(operands) - 1 or not branches:
        return Fault(f"{branches} branches for {len(operands) - 1} operands", "conditional")
    return None


def _constraints_fault(instruction: Instruction, operands: Sequence[Instruction]) -> Fault | None:
    text = instruction.attributes.get("operand_layout_constraints")
    if text is None:
        return None
    for shape, operand in zip(split_list(squeezed(text)[1:-1]), operands, strict=False):
        if not compatible(shape, operand.shape.text):
            return Fault(f"{operand.name} has another shape", "operand_layout_constraints=")
    return None


_CHECKS = {
    "reshape": _reshape_fault,
    "dynamic-slice": _indices_fault,
    "dynamic-update-slice": _indices_fault,
    "conditional": _conditional_fault,
    "custom-call": _constraints_fault,
}
