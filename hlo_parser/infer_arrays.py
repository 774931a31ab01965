"""Result shapes of what transforms, gathers, scatters, normalizes or solves.

Given attributes and operand shapes, gives the text of the result's shape as
`xla/service/shape_inference.cc` infers it (InferFftShape, InferGatherShape, InferScatterShape,
InferBatchNorm*Shape, InferTopK, InferTriangularSolveShape), and an empty one where a size is not
static.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from hlo_parser.infer_parts import (
    COMPLEX,
    FLOAT,
    INT,
    NUMBERS,
    PARTS,
    CannotInferError,
    array,
    expect_array,
    expect_kind,
    kind_of,
    one_or_tuple,
)
from hlo_parser.values import int_from_text, ints_from_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo_parser.infer_parts import Rule
    from hlo_parser.shapes import Shape


# Dimensions of the slices, those left out of them, those that indices stand for, and those that
# run along with the indices', which the last one lists.
_GATHER = (
    "offset_dims",
    "collapsed_slice_dims",
    "start_index_map",
    "operand_batching_dims",
    "start_indices_batching_dims",
)
_SCATTER = (
    "update_window_dims",
    "inserted_window_dims",
    "scatter_dims_to_operand_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
)
_TRANSPOSED = frozenset(("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"))


def array_rules() -> dict[str, Rule]:
    """The rule of each opcode that is told here."""
    return {
        "fft": _fft,
        "gather": _gather,
        "scatter": _scatter,
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


class _Slices(NamedTuple):
    """Where the slices lie that a gather takes or a scatter changes.

    `window` are their dimensions in what is taken, or in the updates, and `outer` the sizes of all
    others there. `dropped` and `batched` are dimensions of the operand that the slices leave out.
    """

    window: tuple[int, ...]
    outer: tuple[int, ...]
    dropped: tuple[int, ...]
    batched: tuple[int, ...]


def _slices(
    attributes: Mapping[str, str], operand: Shape, indices: Shape, keys: tuple[str, ...]
) -> _Slices:
    """As the attributes of these keys say; gathers and scatters are held to the same.

    Source: shape_inference.cc, ValidateGatherDimensionNumbers, ValidateScatterDimensionNumbers.
    """
    window_key, dropped_key, mapped_key, batched_key, start_key = keys
    rank, at = len(operand.dimensions), int_from_text(attributes.get("index_vector_dim", ""))
    if at is None or not 0 <= at <= len(indices.dimensions):
        raise CannotInferError(f"{indices.without_layout} has no dimension {at}")
    starts = (*indices.dimensions, 1) if at == len(indices.dimensions) else indices.dimensions
    outer = (*starts[:at], *starts[at + 1 :])
    window = ints_from_text(attributes.get(window_key, ""))
    _once(attributes, window_key, len(window) + len(outer), in_order=True)
    dropped = _once(attributes, dropped_key, rank, in_order=True)
    mapped = _once(attributes, mapped_key, rank)
    batched = _once(attributes, batched_key, rank, in_order=True)
    if len(batched) != len(_once(attributes, start_key, len(starts))):
        raise CannotInferError(f"{batched_key} and {start_key} are as many")
    if starts[at] not in (len(mapped), -1):
        raise CannotInferError(
            f"{mapped_key} are as many as the indices have numbers, {starts[at]}"
        )
    # XLA counts what is in both twice.
    if len(window) + len(dropped) + len(batched) != rank:
        raise CannotInferError(f"{window_key} are not all that is left of {rank} dimensions")
    return _Slices(window, outer, dropped, batched)


def _once(
    attributes: Mapping[str, str], key: str, rank: int, *, in_order: bool = False
) -> tuple[int, ...]:
    """The dimensions that an attribute lists, each of them one of `rank` and listed once."""
    numbers = ints_from_text(attributes.get(key, ""))
    found = sorted(set(numbers))
    is_listed = found == (list(numbers) if in_order else sorted(numbers))
    if not is_listed or any(not 0 <= number < rank for number in found):
        order = ", in order" if in_order else ""
        raise CannotInferError(f"{key} are each once some of {rank} dimensions{order}")
    return numbers


def _gather(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    operand, indices = shapes[0], shapes[-1]
    expect_array("gather", operand)
    expect_kind("gather by indices", indices, INT)
    where = _slices(attributes, operand, indices, _GATHER)
    if operand.is_dynamic or indices.is_dynamic:
        return ""
    slices = ints_from_text(attributes.get("slice_sizes", ""))
    window, dropped = set(where.window), {*where.dropped, *where.batched}
    if len(slices) != len(operand.dimensions) or any(
        not 0 <= size <= (min(whole, 1) if number in dropped else whole)
        for number, (size, whole) in enumerate(zip(slices, operand.dimensions, strict=True))
    ):
        raise CannotInferError(f"slices of {slices} of {operand.without_layout}")
    kept = iter(size for number, size in enumerate(slices) if number not in dropped)
    outer = iter(where.outer)
    rank = len(window) + len(where.outer)
    sizes = tuple(next(kept) if number in window else next(outer) for number in range(rank))
    return array(operand.element_type, sizes)


def _scatter(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    half = len(shapes) // 2
    indices, arrays = shapes[half], shapes[:half]
    expect_kind("scatter by indices", indices, INT)
    if not arrays or len(shapes) != 2 * half + 1:
        raise CannotInferError("scatter takes as many updates as arrays, and the indices")
    for operand, updates in zip(arrays, shapes[half + 1 :], strict=True):
        expect_array("scatter", operand)
        expect_array("scatter by updates", updates)
        if not _are_updates(updates, operand, _slices(attributes, operand, indices, _SCATTER)):
            raise CannotInferError(
                f"scatter of {updates.without_layout} into {operand.without_layout}"
                f" at {indices.without_layout}"
            )
    return one_or_tuple([shape.without_layout for shape in arrays])


def _are_updates(updates: Shape, operand: Shape, slices: _Slices) -> bool:
    """Whether the slices are no larger than the operand, and there are as many as indices.

    What is not bounded, -1, is not judged.
    """
    sizes, window, dropped = updates.dimensions, set(slices.window), set(slices.dropped)
    if len(sizes) != len(window) + len(slices.outer):
        return False
    # XLA passes over both in order: from a batched one on that is dropped, too, none is left out.
    left_out = dropped.union(takewhile(lambda number: number not in dropped, slices.batched))
    most = [size for number, size in enumerate(operand.dimensions) if number not in left_out]
    taken = [sizes[number] for number in slices.window]
    others = [size for number, size in enumerate(sizes) if number not in window]
    return all(
        size <= whole or whole == -1 for size, whole in zip(taken, most, strict=False)
    ) and all(
        one == other or -1 in (one, other) for one, other in zip(others, slices.outer, strict=True)
    )


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
