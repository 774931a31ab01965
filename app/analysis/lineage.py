"""One instruction followed back through the passes of its module.

Steps from text to text: by name while the name stays, else to the counterpart that the diff of
the two texts finds (an all-reduce that became a reduce-scatter, an operation that became
asynchronous), from a combined collective to the first of its parts, and from a copy to what its
name says it was copied from. Nothing is followed into the computations of fusions.
"""

from collections.abc import Iterator
from typing import NamedTuple

from app.analysis.diff import Differ
from app.analysis.fingerprints import operation_of
from app.model.dump import ModuleHistory
from hlo_parser import Computation, Instruction, Module
from hlo_parser.possessive import compile_pattern


class Sighting(NamedTuple):
    """An instruction as it stands in the text at position `dump` of its history."""

    dump: int
    computation: Computation
    instruction: Instruction


def trace_back(
    history: ModuleHistory,
    position: int,
    computation: Computation,
    instruction: Instruction,
    differ: Differ,
) -> Iterator[Sighting]:
    """The instruction in the texts before `position`, newest first, until it has no counterpart.

    Use one `differ` for all instructions of one history.
    """
    here = computation, instruction
    for dump in range(position - 1, -1, -1):
        after = history.dumps[dump + 1].module
        found = _before(history.dumps[dump].module, after, here, differ)
        if found is None:
            return
        here = found
        yield Sighting(dump, *here)


def _before(
    before: Module, after: Module, here: tuple[Computation, Instruction], differ: Differ
) -> tuple[Computation, Instruction] | None:
    computation, instruction = here
    same = before.get(computation.name)
    if same is computation:
        return here
    namesake = None if same is None else same.get(instruction.name)
    if same is not None and namesake is not None and namesake.opcode == instruction.opcode:
        return same, namesake
    other = differ.computation_before(before, after, computation)
    if other is None:
        return _original(before, instruction)
    modules = before, after
    found = differ.instruction_before(*modules, computation, instruction) or _first_part(
        modules, other, here, differ
    )
    return (other, found) if found is not None else _original(before, instruction)


def _first_part(
    modules: tuple[Module, Module],
    before: Computation,
    here: tuple[Computation, Instruction],
    differ: Differ,
) -> Instruction | None:
    """The operation on the first operand that was combined with those on the others.

    The combiners make one operation with many operands of several with one
    (xla/hlo/transforms/collectives/all_reduce_combiner.cc and its kin).
    """
    after, combined = here
    if len(combined.operands) < 2:
        return None
    operation = operation_of(combined)
    for name in combined.operands:
        operand = after.get(name)
        source = None if operand is None else differ.instruction_before(*modules, after, operand)
        for user in () if source is None else before.users.get(source.name, ()):
            if operation_of(user) == operation:
                return user
    return None


# What loop-double-buffer-transformer and the cloning of computations append to names
# (xla/service/gpu/transforms/double_buffer_loop_unrolling.cc); numbers may follow.
_COPY = compile_pattern(r"(.+)\.(?:double_buffer_clone|peeled_double_buffer|clone)(?:\.\d+)*+")


def _original(module: Module, copy: Instruction) -> tuple[Computation, Instruction] | None:
    """The one instruction of `module` that bears the name `copy` was given a copy's ending to."""
    name = _COPY.fullmatch(copy.name)
    if name is None:
        return None
    found = [
        (computation, original)
        for computation in module.computations
        if (original := computation.get(name.group(1))) is not None
        and operation_of(original) == operation_of(copy)
    ]
    return found[0] if len(found) == 1 else None
