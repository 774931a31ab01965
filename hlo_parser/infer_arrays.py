"""Result shapes of what transforms, gathers, normalizes or solves.

Given attributes and operand shapes, gives the text of the result's shape as
`xla/service/shape_inference.cc` infers it (InferFftShape, InferGatherShape, InferBatchNorm*Shape,
InferTopK, InferTriangularSolveShape), and an empty one where a size is not static.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo_parser.infer_parts import (
    COMPLEX,
    FLOAT,
    NUMBERS,
    PARTS,
    CannotInferError,
    array,
    expect_array,
    expect_kind,
    kind_of,
    listed,
)
from hlo_parser.values import int_from_text, ints_from_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo_parser.infer_parts import Rule
    from hlo_parser.shapes import Shape


_TRANSPOSED = frozenset(("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"))


def array_rules() -> dict[str, Rule]:
    """The rule of each opcode that is told here."""
    return {
        "fft": _fft,
        "gather": _gather,
        "batch-norm-training": _batch_norm_training,
        "batch-norm-inference": _batch_norm_inference,
        "batch-norm-grad": _batch_norm_grad,
        "topk": _topk,
        "triangular-solve": _triangular_solve,
    }


def _fft(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    shape, kind = shapes[0], attributes.get("fft_type", "").strip()
    lengths = ints_from_text(attributes.get("fft_length", ""))
    expect_array("fft", shape)
    if not 1 <= len(lengths) <= min(3, len(shape.dimensions)):
        raise CannotInferError(f"fft of {len(lengths)} dimensions of {shape.without_layout}")
    is_real = kind == "RFFT"
    if shape.element_type not in (COMPLEX if is_real else PARTS):
        raise CannotInferError(f"{kind} of {shape.without_layout}")
    if shape.is_dynamic:
        return ""
    if kind in {"FFT", "IFFT"}:
        return shape.without_layout
    kept, sizes = shape.dimensions[: -len(lengths)], shape.dimensions[-len(lengths) :]
    half = lengths[-1] // 2 + 1
    if is_real:
        wanted, last = lengths, half if lengths[-1] else sizes[-1]
    else:
        is_empty = not sizes[-1] and not lengths[-1]
        wanted, last = (*lengths[:-1], sizes[-1] if is_empty else half), lengths[-1]
    if sizes != wanted:
        raise CannotInferError(f"{kind} of the lengths {lengths} of {shape.without_layout}")
    types = COMPLEX if is_real else PARTS
    return array(types[shape.element_type], (*kept, *lengths[:-1], last))


def _gather(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    operand, indices = shapes[0], shapes[-1]
    expect_array("gather", operand)
    expect_kind("gather by indices", indices, frozenset(("int",)))
    if operand.is_dynamic or indices.is_dynamic:
        return ""
    at = int_from_text(attributes.get("index_vector_dim", ""))
    if at is None or not 0 <= at <= len(indices.dimensions):
        raise CannotInferError(f"{indices.without_layout} has no dimension {at}")
    starts = (*indices.dimensions, 1) if at == len(indices.dimensions) else indices.dimensions
    slices = ints_from_text(attributes.get("slice_sizes", ""))
    offsets = ints_from_text(attributes.get("offset_dims", ""))
    dropped = {
        *_ordered(attributes, operand, "collapsed_slice_dims"),
        *_ordered(attributes, operand, "operand_batching_dims"),
    }
    mapped = listed(attributes, operand, "start_index_map")
    rank = len(offsets) + len(starts) - 1
    fits_result = list(offsets) == sorted(set(offsets)) and all(0 <= n < rank for n in offsets)
    if not fits_result or len(set(mapped)) != len(mapped) or len(mapped) != starts[at]:
        raise CannotInferError("the dimensions of a gather are each used once")
    fits_operand = len(slices) == len(operand.dimensions) == len(offsets) + len(dropped)
    if not fits_operand or any(
        not 0 <= size <= (min(whole, 1) if number in dropped else whole)
        for number, (size, whole) in enumerate(zip(slices, operand.dimensions, strict=True))
    ):
        raise CannotInferError(f"slices of {slices} of {operand.without_layout}")
    kept = iter(size for number, size in enumerate(slices) if number not in dropped)
    outer = iter(size for number, size in enumerate(starts) if number != at)
    sizes = tuple(next(kept) if number in offsets else next(outer) for number in range(rank))
    return array(operand.element_type, sizes)


def _ordered(attributes: Mapping[str, str], shape: Shape, key: str) -> list[int]:
    """The dimensions an attribute lists, which stand in order."""
    numbers = listed(attributes, shape, key)
    if numbers != sorted(set(numbers)):
        raise CannotInferError(f"{key} are in order, each once")
    return numbers


def _features(opcode: str, attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    """The shape of mean and variance, which is that of the operands between."""
    operand, vectors = shapes[0], shapes[1:]
    index = int_from_text(attributes.get("feature_index", ""))
    expect_kind(opcode, operand, FLOAT)
    if opcode == "batch-norm-grad" and index is not None and index < 0:
        # The only one that XLA does not hold to be 0 or more.
        return ""
    if index is None or not 0 <= index < len(operand.dimensions):
        raise CannotInferError(f"{operand.without_layout} has no dimension {index}")
    size = operand.dimensions[index]
    for number, vector in enumerate(vectors):
        expect_kind(opcode, vector, FLOAT)
        # An inference looks at the first dimension of mean and variance, and at no other.
        is_loose = opcode == "batch-norm-inference" and number > 1 and vector.dimensions
        is_vector = len(vector.dimensions) == 1 or is_loose
        is_static = not (vector.is_dynamic or operand.is_dynamic)
        if not is_vector or (is_static and vector.dimensions[0] != size):
            raise CannotInferError(f"{opcode} takes vectors of {size}")
    return "" if operand.is_dynamic else array(operand.element_type, (size,))


def _batch_norm_training(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    told = _features("batch-norm-training", attributes, shapes)
    return told and f"({shapes[0].without_layout}, {told}, {told})"


def _batch_norm_inference(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    told = _features("batch-norm-inference", attributes, shapes)
    return told and shapes[0].without_layout


def _batch_norm_grad(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    operand, output = shapes[0], shapes[-1]
    if len(shapes) < 2:
        raise CannotInferError("batch-norm-grad takes the gradient of its output, too")
    told = _features("batch-norm-grad", attributes, shapes[:-1])
    expect_kind("batch-norm-grad", output, FLOAT)
    if not output.is_dynamic and told and output.dimensions != operand.dimensions:
        raise CannotInferError(f"batch-norm-grad of {operand.without_layout} takes one as large")
    return told and f"({operand.without_layout}, {told}, {told})"


def _topk(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    shape, count = shapes[0], int_from_text(attributes.get("k", ""))
    expect_array("topk", shape)
    if count is None or shape.is_dynamic:
        return ""
    if count > (shape.dimensions[-1] if shape.dimensions else 0):
        raise CannotInferError(f"the largest {count} of {shape.without_layout}")
    if not shape.dimensions:
        return ""
    sizes = (*shape.dimensions[:-1], count)
    return f"({array(shape.element_type, sizes)}, {array('s32', sizes)})"


def _triangular_solve(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    matrix, other = shapes[0], shapes[-1]
    expect_array("triangular-solve", other)
    expect_kind("triangular-solve", matrix, NUMBERS)
    if kind_of(matrix.element_type) == "int" or matrix.element_type != other.element_type:
        raise CannotInferError(
            f"triangular-solve of {matrix.without_layout} and {other.without_layout}"
        )
    if attributes.get("transpose_a", "").strip() not in _TRANSPOSED:
        raise CannotInferError("triangular-solve needs transpose_a where no shape is told")
    sizes, others = matrix.dimensions, other.dimensions
    if matrix.is_dynamic or other.is_dynamic:
        return ""
    side = -2 if attributes.get("left_side", "").strip() == "true" else -1
    ranks = {len(sizes), len(others)}
    if (
        len(ranks) > 1
        or min(ranks) < 2
        or sizes[:-2] != others[:-2]
        or sizes[-2:] != (others[side], others[side])
    ):
        raise CannotInferError(
            f"triangular-solve of {matrix.without_layout} and {other.without_layout}"
        )
    return other.without_layout
