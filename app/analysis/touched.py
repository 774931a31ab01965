"""Bytes that single instructions read and write, from shapes alone.

Of what a fusion only slices or updates in place the part that it touches counts, not the whole.
What an instruction runs (the body of a loop, a branch) is not looked into.
"""

from collections.abc import Mapping

from app.analysis.dataflow import value_of
from app.analysis.flops import operand_shape
from hlo_parser import Computation, Instruction, Module

FREE = frozenset(
    {
        "after-all", "bitcast", "constant", "get-tuple-element", "opt-barrier", "parameter",
        "partition-id", "replica-id", "tuple",
    }
)  # fmt: skip
"""Opcodes that touch nothing and take no time: they name values or wait."""

_SLICES = frozenset({"dynamic-slice", "gather", "slice"})


class TouchReader:
    """Reads the instructions of one module; each fused computation once."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._known: dict[Computation, tuple[dict[int, int], int | None]] = {}

    def of(self, computation: Computation, instruction: Instruction) -> int:
        """Bytes read and written in one execution."""
        if instruction.opcode in FREE:
            return 0
        read: Mapping[int, int] = {}
        written: int | None = None
        if instruction.opcode == "fusion":
            for _, fused in self._module.callees(instruction):
                read, written = self._parts_touched(fused)
        elif instruction.opcode in _SLICES:
            read = {0: instruction.shape.byte_size}
        elif instruction.opcode == "dynamic-update-slice":
            update = operand_shape(computation, instruction, 1)
            written = 0 if update is None else update.byte_size
            read = {0: 0}
        total = instruction.shape.byte_size if written is None else written
        for number in range(len(instruction.operands)):
            part = read.get(number)
            if part is None:
                shape = operand_shape(computation, instruction, number)
                part = 0 if shape is None else shape.byte_size
            total += part
        return total

    def _parts_touched(self, fused: Computation) -> tuple[dict[int, int], int | None]:
        """Bytes of parameters that are only sliced or updated, and of a root that updates one."""
        known = self._known.get(fused)
        if known is not None:
            return known
        read: dict[int, int] = {}
        written: int | None = None
        for number, parameter in enumerate(fused.parameters):
            users = fused.users.get(parameter.name, ())
            if users and all(
                u.opcode in _SLICES and u.operands[0] == parameter.name for u in users
            ):
                read[number] = sum(user.shape.byte_size for user in users)
        root = fused.root
        if root.opcode == "dynamic-update-slice" and len(root.operands) > 1:
            update = operand_shape(fused, root, 1)
            written = 0 if update is None else update.byte_size
            target = fused.get(value_of(fused, root.operands[0], root.operand_paths[0]).name)
            if target is not None and target.parameter_number is not None:
                read[target.parameter_number] = 0
        self._known[fused] = read, written
        return read, written
