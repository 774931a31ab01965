"""Large arrays that stand in a program as constants, and how they came to be there.

A constant of the first text was an array that the traced function closed over, or a literal; one
that only later texts hold was computed by the compiler. Sizes are bytes.
"""

from dataclasses import dataclass

from app.model.dump import ModuleHistory, PassDump
from hlo_parser import Computation, Instruction, Module


@dataclass(frozen=True, slots=True)
class LargeConstant:
    """One constant as it stands in `dump`.

    `made_in` is the first text with a constant of this shape; where it is the first of the module
    nobody folded it. `user` is the first instruction that reads it.
    """

    dump: PassDump
    computation: Computation
    instruction: Instruction
    user: Instruction | None
    made_in: PassDump

    @property
    def bytes(self) -> int:
        """Size of the array."""
        return self.instruction.shape.byte_size

    @property
    def is_folded(self) -> bool:
        """Whether the compiler computed it."""
        return self.made_in.index > 0

    @property
    def is_traced(self) -> bool:
        """Whether the program held it before any pass; neither, where the first texts are gone."""
        return not self.is_folded and self.made_in.name.kind in ("before_optimizations", "other")


def find_large_constants(history: ModuleHistory, *, least: int) -> tuple[LargeConstant, ...]:
    """Those of at least `least` bytes in the first or in the last text, the largest first.

    A constant of the first text is not told again for the last one.
    """
    first, last = history.dumps[0], history.last
    held = _shapes(first.module, least)
    found = list(_constants(history, first, least))
    if last is not first:
        found += [
            constant
            for constant in _constants(history, last, least)
            if constant.instruction.shape.without_layout not in held
        ]
    return tuple(sorted(found, key=lambda c: -c.bytes))


def _constants(history: ModuleHistory, dump: PassDump, least: int) -> list[LargeConstant]:
    made: dict[str, PassDump] = {}
    found: list[LargeConstant] = []
    for computation in dump.module.computations:
        for instruction in computation.instructions:
            if instruction.opcode != "constant" or instruction.shape.byte_size < least:
                continue
            shape = instruction.shape.without_layout
            if shape not in made:
                made[shape] = _first_with(history, shape, dump, least)
            users = computation.users.get(instruction.name, ())
            user = users[0] if users else None
            found.append(LargeConstant(dump, computation, instruction, user, made[shape]))
    return found


def _first_with(history: ModuleHistory, shape: str, last: PassDump, least: int) -> PassDump:
    """The first of the newest run of texts that hold a constant of the shape."""
    found = last
    for dump in reversed(history.dumps[: last.index]):
        if shape not in _shapes(dump.module, least):
            return found
        found = dump
    return found


def _shapes(module: Module, least: int) -> frozenset[str]:
    return frozenset(
        instruction.shape.without_layout
        for computation in module.computations
        for instruction in computation.instructions
        if instruction.opcode == "constant" and instruction.shape.byte_size >= least
    )
