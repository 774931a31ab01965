"""Floating point operations of matrix products and convolutions, from shapes alone.

Counts two operations per multiply-add and nothing for anything else, as a measure of the work
behind which communication can hide. Products that a GPU module hands to cuBLAS or cuDNN as
custom-calls count too, and those that a CPU module hands to oneDNN.
"""

import re
from math import prod
from typing import cast

from app.analysis.convolutions import multiply_adds
from app.analysis.dataflow import value_of
from app.analysis.opcodes import async_role, config_value, group_config
from hlo_parser import Computation, Instruction, Module, Shape

_PRODUCTS = frozenset({"dot", "convolution", "ragged-dot", "scaled-dot"})
MAY_MULTIPLY = _PRODUCTS | {"custom-call"}
"""Opcodes of which `product_flops` may count anything."""

# Custom-calls that are matrix products (xla/service/gpu/cublas_cudnn.cc).
_GEMM_TARGET = re.compile(r"__cublas\$(?:gemm|lt\$matmul).*+")
# xla/service/cpu/onednn_matmul_rewriter.cc
_ONEDNN_PRODUCT = "__onednn$matmul"


class FlopCounter:
    """Counts within one module; each computation is counted once and remembered."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._known: dict[str, int | None] = {}

    def of_instruction(self, computation: Computation, instruction: Instruction) -> int | None:
        """Operations of one execution, those of called computations included.

        None where the text does not tell: a loop without known trip count, a branch taken or
        not, a shape with an unbounded dimension - unless nothing inside multiplies matrices.
        """
        own = product_flops(computation, instruction)
        if not instruction.callees:
            return own
        # Later parts of an asynchronous call name its computation again.
        is_later = async_role(instruction.opcode) in ("update", "done")
        callees = () if is_later else self._module.callees(instruction)
        called = [self._of_computation(c) for _, c in callees]
        if own is None or None in called:
            return None
        inside = sum(count or 0 for count in called)
        if instruction.opcode == "while" and inside:
            trips = _trip_count(instruction)
            return None if trips is None else _known(inside * trips)
        if instruction.opcode == "conditional" and inside:
            return None
        return own + inside

    def of_instructions(
        self, computation: Computation, instructions: list[Instruction]
    ) -> int | None:
        """The sum over `instructions` of one computation, None when one of them is unknown."""
        total = 0
        for instruction in instructions:
            count = self.of_instruction(computation, instruction)
            if count is None:
                return None
            total += count
        return _known(total)

    def _of_computation(self, computation: Computation) -> int | None:
        """Iterative over the call graph: chains of calls may be deeper than Python's stack."""
        pending = [computation]
        entered: set[str] = set()
        while pending:
            here = pending[-1]
            if here.name in self._known:
                pending.pop()
                continue
            callees = [c for i in here.calling for _, c in self._module.callees(i)]
            missing = [c for c in callees if c.name not in self._known and c.name not in entered]
            if missing and here.name not in entered:
                entered.add(here.name)
                pending += missing
                continue
            # Computations that call themselves (no HLO that compiles does) count as unknown.
            self._known.update({c.name: None for c in callees if c.name not in self._known})
            self._known[here.name] = self.of_instructions(here, list(here.instructions))
            pending.pop()
        return self._known[computation.name]


def product_flops(computation: Computation, instruction: Instruction) -> int | None:
    """Operations of a dot, a convolution or a library call that is one; 0 for all others."""
    opcode = instruction.opcode
    if opcode not in MAY_MULTIPLY:
        return 0
    if opcode == "convolution":
        return _convolution_flops(computation, instruction)
    if opcode in _PRODUCTS:
        return _dot_flops(computation, instruction, _ints(instruction, "lhs_contracting_dims"))
    if opcode == "custom-call":
        target = instruction.custom_call_target or ""
        if _GEMM_TARGET.fullmatch(target):
            return _dot_flops(computation, instruction, _gemm_contraction(instruction))
        if target == _ONEDNN_PRODUCT:
            return _onednn_flops(computation, instruction)
        if "dim_labels" in instruction.attributes:
            return _convolution_flops(computation, instruction)
    return 0


def _dot_flops(
    computation: Computation, instruction: Instruction, contracted: tuple[int, ...]
) -> int | None:
    lhs = operand_shape(computation, instruction, 0)
    result = _first_array(instruction.shape)
    if lhs is None or result is None or any(d >= len(lhs.dimensions) for d in contracted):
        return None
    return _twice((*result.dimensions, *(lhs.dimensions[d] for d in contracted)))


def _onednn_flops(computation: Computation, instruction: Instruction) -> int | None:
    """The last dimension of the left side is summed over, the one before when it is transposed."""
    lhs = operand_shape(computation, instruction, 0)
    if lhs is None or len(lhs.dimensions) < 2:
        return None
    config = instruction.backend_config
    transposed = config_value(config, "onednn_matmul_config", "transpose_a") is True
    last = len(lhs.dimensions) - 1
    return _dot_flops(computation, instruction, (last - transposed,))


def _convolution_flops(computation: Computation, instruction: Instruction) -> int | None:
    kernel = operand_shape(computation, instruction, 1)
    result = _first_array(instruction.shape)
    if kernel is None or result is None:
        return None
    source = operand_shape(computation, instruction, 0)
    count = multiply_adds(instruction.attributes, source, kernel, result)
    return None if count is None else _known(2 * count)


def _twice(sizes: tuple[int, ...]) -> int | None:
    return None if any(size < 0 for size in sizes) else _known(2 * prod(sizes))


def _known(count: int) -> int | None:
    """The count, None where it is past all sense: only edited texts claim such sizes."""
    return count if count < 1 << 63 else None


def _first_array(shape: Shape) -> Shape | None:
    """The result proper of a library call, whose tuple ends with a workspace."""
    while shape.kind == "tuple" and shape.elements:
        shape = shape.elements[0]
    return shape if shape.kind == "array" else None


def operand_shape(computation: Computation, instruction: Instruction, number: int) -> Shape | None:
    """The shape of one operand, seen through tuple access; None when the text does not tell."""
    if number >= len(instruction.operands):
        return None
    value = value_of(computation, instruction.operands[number], instruction.operand_paths[number])
    source = computation.get(value.name)
    shape = None if source is None else source.shape
    for index in value.path:
        if shape is None or index >= len(shape.elements):
            return None
        shape = shape.elements[index]
    return shape


def _ints(instruction: Instruction, key: str) -> tuple[int, ...]:
    text = instruction.attributes.get(key, "")
    return tuple(int(word) for word in re.findall(r"\d{1,9}", text))


def _gemm_contraction(instruction: Instruction) -> tuple[int, ...]:
    config = group_config(instruction.backend_config, "gemm_backend_config")
    found = config_value(config, "dot_dimension_numbers", "lhs_contracting_dimensions")
    if not isinstance(found, list):
        return ()
    words = [str(word) for word in cast(list[object], found)]
    return tuple(int(word) for word in words if word.isdecimal() and len(word) < 10)


def _trip_count(instruction: Instruction) -> int | None:
    found = config_value(instruction.backend_config, "known_trip_count", "n")
    return int(found) if isinstance(found, str) and found.isdecimal() and len(found) < 20 else None
