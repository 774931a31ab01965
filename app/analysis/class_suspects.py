"""Instructions that a class of failures is known to stumble over, beyond those of `suspects.py`.

What is listed is a suspect; healthy programs hold it, too. Results are pairs of computation and
instruction.
"""

import re
from collections.abc import Iterable, Iterator
from math import prod

from app.analysis.opcodes import collective_opcode
from app.analysis.suspects import Place, instructions
from hlo_parser import Computation, Instruction, Module

_LANES = 128
_MAKES_CONSTANTS = frozenset({"constant", "iota"})
_NO_WORK = frozenset({"broadcast", "constant", "iota", "parameter", "tuple", "get-tuple-element"})
# xla/service/gpu/gpu_compiler.cc, OptimizeHloModule, from 2023 on: expanders, and rewriters to
# library calls.
_REPLACED = frozenset(
    (
        *("batch-norm-grad", "batch-norm-inference", "batch-norm-training", "cholesky"),
        *("convolution", "opt-barrier", "rng", "rng-bit-generator", "select-and-scatter", "topk"),
    )
)
_GRID = re.compile(r"\bgrid_[xyz] = (\d{1,9})\b")
_MOST_READ = 500
_SIZES = frozenset({"get-dimension-size", "set-dimension-size"})


def computed_from_constants(module: Module) -> Iterator[Place]:
    """Array operations whose inputs are all constants, through any number of steps; largest first.

    What a constant folder would evaluate (xla/hlo/transforms/simplifiers/hlo_constant_folding.cc).
    """
    found: list[Place] = []
    for computation in module.computations:
        constant: set[str] = set()
        for instruction in computation.instructions:
            if instruction.opcode in _MAKES_CONSTANTS or (
                instruction.operands and constant.issuperset(instruction.operands)
            ):
                constant.add(instruction.name)
                if instruction.opcode not in _NO_WORK and instruction.shape.dimensions:
                    found.append((computation, instruction))
    return iter(sorted(found, key=lambda place: -_largest_operand(*place)))


def off_the_lanes(module: Module) -> Iterator[Place]:
    """Concatenations and updates of slices whose last dimension fills no whole number of lanes."""
    for computation, instruction in instructions(module):
        if instruction.opcode in ("concatenate", "dynamic-update-slice"):
            sizes = instruction.shape.dimensions
            if sizes and sizes[-1] % _LANES:
                yield computation, instruction


def with_bounds(module: Module) -> Iterator[Place]:
    """Values with a dimension that is only bounded, and what reads or sets such sizes."""
    for computation, instruction in instructions(module):
        if instruction.opcode in _SIZES or (
            instruction.shape.is_dynamic and instruction.opcode != "parameter"
        ):
            yield computation, instruction


def fusions_of_updates(module: Module) -> Iterator[Place]:
    """Fusions with several results of which two and more are updates of slices."""
    for computation, fusion in instructions(module):
        if fusion.opcode != "fusion" or len(fusion.shape.elements) < 2:
            continue
        for _, fused in module.callees(fusion):
            results = (fused.get(name) for name in fused.root.operands)
            if sum(r is not None and r.opcode == "dynamic-update-slice" for r in results) > 1:
                yield computation, fusion


def calls_without_collectives(module: Module) -> Iterator[Place]:
    """Where the rewriter of pipelined transfers looks up a computation that it has not noted.

    Callees first, it notes a computation that belongs to a fusion, or that holds a collective, a
    transfer, a custom call or a call of one noted for those; of all others it knows nothing, and
    dies at the first call of one (xla/service/gpu/pipelined_p2p_rewriter.cc, MayInvokeCollectiveOp
    and ProcessComputation, jaxlib 0.4.28 to 0.4.35; it runs on scheduled modules alone).
    """
    if not module.header.is_scheduled:
        return
    has_collective = dict.fromkeys(_inside_fusions(module), False)
    for computation in module.computations:
        if computation.name in has_collective:
            continue
        for instruction in computation.instructions:
            if instruction.opcode == "custom-call" or collective_opcode(instruction) is not None:
                has_collective[computation.name] = True
                continue
            for name in _called_in_order(instruction):
                if name not in has_collective:
                    yield computation, instruction
                    break
                if has_collective[name]:
                    has_collective[computation.name] = True
                    break


def by_need_of_a_block(places: Iterable[Place]) -> Iterator[Place]:
    """Kernels written for Triton, those that read and write most per block of their grid first.

    The grid stands in the configuration of the call (`grid_x = 4 : i32`); without one all of it is
    a single block's. How much of it a kernel holds in shared memory at once, only its code tells.
    """
    return iter(sorted(places, key=lambda place: -_bytes_of_a_block(*place)))


def _inside_fusions(module: Module) -> set[str]:
    return {c.name for _, i in instructions(module) if i.opcode == "fusion" for c in i.callees}


def _bytes_of_a_block(computation: Computation, call: Instruction) -> int:
    operands = (computation.get(name) for name in call.operands)
    held = [call.shape.byte_size, *(i.shape.byte_size for i in operands if i is not None)]
    sizes = _GRID.findall(call.attributes.get("backend_config", "")[:_MOST_READ])
    return sum(held) // max(1, prod(map(int, sizes)))


def left_over(module: Module) -> Iterator[Place]:
    """Operations that passes for GPUs replace before code is made, such as a bare convolution.

    They may stay in fusions of a custom kind, which libraries and Triton take whole.
    """
    whole = {
        callee.name
        for _, fusion in instructions(module)
        if fusion.opcode == "fusion" and fusion.attributes.get("kind") == "kCustom"
        for callee in fusion.callees
    }
    for computation, instruction in instructions(module):
        if instruction.opcode in _REPLACED and computation.name not in whole:
            yield computation, instruction


def of_opcode(module: Module, opcode: str) -> Iterator[Place]:
    """Instructions of this opcode, hyphens aside; those inside fusions, without a step, last."""
    fused = _inside_fusions(module)
    wanted = opcode.replace("-", "")
    found = [p for p in instructions(module) if p[1].opcode.replace("-", "") == wanted]
    return iter(sorted(found, key=lambda place: place[0].name in fused))


def _called_in_order(instruction: Instruction) -> list[str]:
    """XLA keeps the body of a loop in front of its condition, which the text has first."""
    ordered = sorted(instruction.callees, key=lambda callee: callee.role == "condition")
    return [callee.name for callee in ordered]


def _largest_operand(computation: Computation, instruction: Instruction) -> int:
    operands = (computation.get(name) for name in instruction.operands)
    sizes = [operand.shape.byte_size for operand in operands if operand is not None]
    return max(instruction.shape.byte_size, *sizes) if sizes else instruction.shape.byte_size
