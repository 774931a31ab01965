"""Exchanges that the partitioner added to change the sharding of a value.

Reads the newest text of a history that is partitioned and not fused yet, so that what simplifiers
took away again is gone and slices still stand by themselves. Exchanges that the program asks for
(by a primitive of its own, or by a sharding constraint) are left out: their `op_name` says so.
Opinions on what they cost belong to the rules.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from app.analysis.dataflow import walk_operands
from app.analysis.opcodes import collective_opcode
from app.analysis.suspects import instructions
from app.model.dump import ModuleHistory, PassDump
from hlo_parser import Computation, Instruction, Module

Kind = Literal["gathered-and-sliced", "exchanged"]

# They hand a value on in another form; the gathered bytes are the same.
_SAME_BYTES = frozenset({"bitcast", "convert", "copy", "reshape", "transpose"})
_NUMBER_OF_DEVICE = frozenset({"partition-id", "replica-id"})
# Last parts of an `op_name` that ask for an exchange.
_ASKED_FOR = frozenset(
    "all_gather all_gather_invariant all_to_all pall_to_all pgather pbroadcast ppermute pshuffle "
    "psum psum_scatter ragged_all_to_all reduce_scatter sharding_constraint shard_map reshard "
    "with_sharding_constraint".split()
)
# Neighbours swap edges of their parts for these: there is no other way to compute them sharded.
_WITH_EDGES = frozenset(
    "concatenate conv_general_dilated cumlogsumexp cummax cummin cumprod cumsum dynamic_slice "
    "dynamic_update_slice gather pad reduce_window rev scatter scatter_add select_and_scatter_add "
    "slice sort split".split()
)
_MOST_STEPS = 8


@dataclass(frozen=True, slots=True)
class Resharding:
    """One value that changes its sharding in `dump`.

    `exchange` is the collective and `computation` holds it; for `gathered-and-sliced` each device
    keeps only `slices` of what it was given. `bytes` is the size of the gathered value, or of the
    value exchanged, on one device.
    """

    kind: Kind
    dump: PassDump
    computation: Computation
    exchange: Instruction
    slices: tuple[Instruction, ...]
    bytes: int


def find_reshardings(history: ModuleHistory) -> tuple[Resharding, ...]:
    """The changes of sharding that nobody asked for, the largest first."""
    dump = partitioned_text(history)
    if dump is None:
        return ()
    found = [
        resharding
        for computation, instruction in instructions(dump.module)
        if (resharding := _resharding(dump, computation, instruction)) is not None
    ]
    return tuple(sorted(found, key=lambda r: -r.bytes))


def partitioned_text(history: ModuleHistory) -> PassDump | None:
    """The newest text that is partitioned and not fused yet, None where there is none."""
    fused: dict[Computation, bool] = {}
    for dump in reversed(history.dumps):
        if dump.module.header.num_partitions < 2:
            return None
        for computation in dump.module.computations:
            if computation not in fused:
                fused[computation] = any(i.opcode == "fusion" for i in computation.instructions)
        if not any(fused[computation] for computation in dump.module.computations):
            opcodes = _opcodes(dump.module)
            return dump if opcodes & _NUMBER_OF_DEVICE or _has_collective(dump.module) else None
    return None


def _opcodes(module: Module) -> frozenset[str]:
    return frozenset(i.opcode for _, i in instructions(module))


def _has_collective(module: Module) -> bool:
    return any(
        collective_opcode(i) is not None for c in module.computations for i in c.instructions
    )


def _resharding(
    dump: PassDump, computation: Computation, instruction: Instruction
) -> Resharding | None:
    opcode = collective_opcode(instruction)
    primitive = _primitive(instruction)
    if primitive is None or primitive in _ASKED_FOR:
        return None
    size = instruction.shape.byte_size
    if opcode == "all-gather":
        slices = _own_slices(computation, instruction)
        if slices:
            return Resharding("gathered-and-sliced", dump, computation, instruction, slices, size)
    if opcode == "all-to-all" or (opcode == "collective-permute" and primitive not in _WITH_EDGES):
        return Resharding("exchanged", dump, computation, instruction, (), size)
    return None


def _primitive(instruction: Instruction) -> str | None:
    """The last part of the `op_name`, without its parameters (older releases) and number."""
    metadata = instruction.metadata
    if metadata is None or not metadata.op_name:
        return None
    last = metadata.op_name.partition("[")[0].rsplit("/", 1)[-1]
    return last.partition(".")[0].replace("-", "_")


def _own_slices(computation: Computation, gather: Instruction) -> tuple[Instruction, ...]:
    """The slices that are all that becomes of a gathered value, if they are by device number."""
    slices: list[Instruction] = []
    pending = [(gather, 0)]
    for value, steps in pending:
        users = computation.users.get(value.name, ())
        if value is computation.root or not users or steps > _MOST_STEPS:
            return ()
        for user in users:
            if user.opcode in _SAME_BYTES:
                pending.append((user, steps + 1))
            elif user.opcode == "dynamic-slice" and _is_by_device(computation, user, value.name):
                slices.append(user)
            else:
                return ()
    return tuple(slices)


def _is_by_device(computation: Computation, piece: Instruction, sliced: str) -> bool:
    """Whether an offset of the slice comes from the number of the device, and nothing else does."""
    if not piece.operands or piece.operands[0] != sliced:
        return False
    return any(_comes_from_device(computation, name) for name in piece.operands[1:])


def _comes_from_device(computation: Computation, name: str) -> bool:
    offset = computation.get(name)
    return offset is not None and any(
        i.opcode in _NUMBER_OF_DEVICE for i in _with_operands(computation, offset)
    )


def _with_operands(computation: Computation, instruction: Instruction) -> Iterator[Instruction]:
    yield instruction
    yield from walk_operands(computation, instruction)
