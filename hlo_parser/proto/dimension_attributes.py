# ruff: noqa: D103 -- each function prints the attributes it is named after
"""Attributes of shapes and arithmetic: dimensions, windows, gathers, dots, convolutions.

Each function gives the `key=value` texts of one group of attributes, in the order and under the
conditions of xla/hlo/ir/hlo_instructions.cc, PrintExtraAttributesImpl.
"""

from __future__ import annotations

from hlo_parser.proto.line import Attributes, Line, enumerated, word
from hlo_parser.proto.schema import DotDimensionNumbers
from hlo_parser.proto.shape_text import braced
from hlo_parser.proto.value_text import (
    dimension_labels_text,
    padding_text,
    sparsity_text,
    window_text,
)

# ---- dimensions and sizes ------------------------------------------------------------------------


def dimensions(line: Line) -> Attributes:
    yield f"dimensions={braced(line.proto.dimensions)}"


def given_dimensions(line: Line) -> Attributes:
    if line.proto.dimensions:
        yield f"dimensions={braced(line.proto.dimensions)}"


def inferred_dimension(line: Line) -> Attributes:
    if line.proto.dimensions:
        yield f"inferred_dimension={line.proto.dimensions[0]}"


def iota(line: Line) -> Attributes:
    dimensions = line.proto.dimensions
    yield f"iota_dimension={dimensions[0] if dimensions else 0}"


def slice_bounds(line: Line) -> Attributes:
    dimensions = line.proto.slice_dimensions
    has_stride = any(dimension.stride != 1 for dimension in dimensions)
    parts = (
        f"[{d.start}:{d.limit}:{d.stride}]" if has_stride else f"[{d.start}:{d.limit}]"
        for d in dimensions
    )
    yield f"slice={{{', '.join(parts)}}}"


def dynamic_slice_sizes(line: Line) -> Attributes:
    yield f"dynamic_slice_sizes={braced(line.proto.dynamic_slice_sizes)}"


def padding(line: Line) -> Attributes:
    yield f"padding={padding_text(line.proto.padding_config)}"


def window(line: Line) -> Attributes:
    if text := window_text(line.proto.window):
        yield f"window={text}"


def tuple_index(line: Line) -> Attributes:
    yield f"index={line.proto.tuple_index}"


def gather(line: Line) -> Attributes:
    numbers = line.proto.gather_dimension_numbers
    yield f"offset_dims={braced(numbers.offset_dims)}"
    yield f"collapsed_slice_dims={braced(numbers.collapsed_slice_dims)}"
    yield f"start_index_map={braced(numbers.start_index_map)}"
    if numbers.operand_batching_dims:
        yield f"operand_batching_dims={braced(numbers.operand_batching_dims)}"
    if numbers.start_indices_batching_dims:
        yield f"start_indices_batching_dims={braced(numbers.start_indices_batching_dims)}"
    yield f"index_vector_dim={numbers.index_vector_dim}"
    yield f"slice_sizes={braced(line.proto.gather_slice_sizes)}"


def scatter(line: Line) -> Attributes:
    numbers = line.proto.scatter_dimension_numbers
    yield f"update_window_dims={braced(numbers.update_window_dims)}"
    yield f"inserted_window_dims={braced(numbers.inserted_window_dims)}"
    yield f"scatter_dims_to_operand_dims={braced(numbers.scatter_dims_to_operand_dims)}"
    if numbers.input_batching_dims:
        yield f"input_batching_dims={braced(numbers.input_batching_dims)}"
    if numbers.scatter_indices_batching_dims:
        yield f"scatter_indices_batching_dims={braced(numbers.scatter_indices_batching_dims)}"
    yield f"index_vector_dim={numbers.index_vector_dim}"


def sorted_indices(line: Line) -> Attributes:
    if line.proto.indices_are_sorted:
        yield "indices_are_sorted=true"


def unique_indices(line: Line) -> Attributes:
    if line.proto.unique_indices:
        yield "unique_indices=true"


# ---- arithmetic ----------------------------------------------------------------------------------

_PRECISIONS = ("default", "high", "highest", "packed_nibble")
_ALGORITHMS = (
    "unset",
    "dot_any_f8_any_f8_f32",
    "dot_any_f8_any_f8_f32_fast_accum",
    "dot_f16_f16_f16",
    "dot_f16_f16_f32",
    "dot_bf16_bf16_bf16",
    "dot_bf16_bf16_f32",
    "dot_bf16_bf16_f32_x3",
    "dot_bf16_bf16_f32_x6",
    "dot_tf32_tf32_f32",
    "dot_tf32_tf32_f32_x3",
    "dot_f32_f32_f32",
    "dot_f64_f64_f64",
    "dot_bf16_bf16_f32_x9",
)


def compare(line: Line) -> Attributes:
    yield f"direction={word(line.proto.comparison_direction)}"
    kind = word(line.proto.comparison_type)
    # Printed only where it is not what the operands imply (xla/comparison_util.h).
    implied = {"f": "FLOAT", "b": "FLOAT", "c": "FLOAT", "s": "SIGNED"}
    if kind and kind != implied.get(line.operand_type[:1], "UNSIGNED"):
        yield f"type={kind}"


def precision(line: Line) -> Attributes:
    precisions = line.proto.precision_config.operand_precision
    if any(precisions):
        words = (
            _PRECISIONS[number] if 0 <= number < len(_PRECISIONS) else str(number)
            for number in precisions
        )
        yield f"operand_precision={{{','.join(words)}}}"


def algorithm(line: Line) -> Attributes:
    if algorithm := line.proto.precision_config.algorithm:
        yield from enumerated(line, "algorithm", _ALGORITHMS, algorithm)


def _dot_dimensions(numbers: DotDimensionNumbers) -> Attributes:
    if numbers.lhs_batch_dimensions:
        yield f"lhs_batch_dims={braced(numbers.lhs_batch_dimensions)}"
    yield f"lhs_contracting_dims={braced(numbers.lhs_contracting_dimensions)}"
    if numbers.rhs_batch_dimensions:
        yield f"rhs_batch_dims={braced(numbers.rhs_batch_dimensions)}"
    yield f"rhs_contracting_dims={braced(numbers.rhs_contracting_dimensions)}"


def dot(line: Line) -> Attributes:
    return _dot_dimensions(line.proto.dot_dimension_numbers)


def ragged_dot(line: Line) -> Attributes:
    numbers = line.proto.ragged_dot_dimension_numbers
    yield from _dot_dimensions(numbers.dot_dimension_numbers)
    if numbers.lhs_ragged_dimensions:
        yield f"lhs_ragged_dims={braced(numbers.lhs_ragged_dimensions)}"
    if numbers.rhs_group_dimensions:
        yield f"rhs_group_dims={braced(numbers.rhs_group_dimensions)}"


def dimension_labels(line: Line) -> Attributes:
    numbers = line.proto.convolution_dimension_numbers
    yield f"dim_labels={dimension_labels_text(numbers, line.notes)}"


def given_dimension_labels(line: Line) -> Attributes:
    if line.proto.HasField("convolution_dimension_numbers"):
        yield from dimension_labels(line)


def group_counts(line: Line) -> Attributes:
    if line.proto.feature_group_count > 1:
        yield f"feature_group_count={line.proto.feature_group_count}"
    if line.proto.batch_group_count > 1:
        yield f"batch_group_count={line.proto.batch_group_count}"


def convolution_kind(line: Line) -> Attributes:
    if kind := line.proto.conv_kind:
        yield from enumerated(line, "convolution_kind", ("unset", "fprop", "dgrad", "wgrad"), kind)


def sparsity(line: Line) -> Attributes:
    config = line.proto.sparsity_config
    sides = [
        f"{name}={sparsity_text(side)}"
        for name, side in (("lhs", config.lhs), ("rhs", config.rhs))
        if config.HasField(name)
    ]
    if sides:
        yield f"sparsity_config={{{' '.join(sides)}}}"


def batch_norm(line: Line) -> Attributes:
    yield f"epsilon={line.proto.epsilon:g}"
    yield f"feature_index={line.proto.feature_index}"


def fft(line: Line) -> Attributes:
    yield from enumerated(line, "fft_type", ("FFT", "IFFT", "RFFT", "IRFFT"), line.proto.fft_type)
    yield f"fft_length={braced(line.proto.fft_length)}"


def triangular_solve(line: Line) -> Attributes:
    options = line.proto.triangular_solve_options
    if options.left_side:
        yield "left_side=true"
    if options.lower:
        yield "lower=true"
    if options.unit_diagonal:
        yield "unit_diagonal=true"
    if options.transpose_a:
        words = ("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
        yield from enumerated(line, "transpose_a", words, options.transpose_a)


def cholesky(line: Line) -> Attributes:
    if line.proto.cholesky_options.lower:
        yield "lower=true"


def reduce_precision(line: Line) -> Attributes:
    yield f"exponent_bits={line.proto.exponent_bits}"
    yield f"mantissa_bits={line.proto.mantissa_bits}"


def distribution(line: Line) -> Attributes:
    words = ("rng_invalid", "rng_uniform", "rng_normal")
    return enumerated(line, "distribution", words, line.proto.distribution)


def rng_algorithm(line: Line) -> Attributes:
    words = ("rng_default", "rng_three_fry", "rng_philox")
    return enumerated(line, "algorithm", words, line.proto.rng_algorithm)


def delta(line: Line) -> Attributes:
    yield f"delta={line.proto.delta}"


def stable(line: Line) -> Attributes:
    if line.proto.is_stable:
        yield "is_stable=true"


def topk(line: Line) -> Attributes:
    yield f"k={line.proto.k}"
    yield f"largest={'true' if line.proto.largest else 'false'}"


def scan(line: Line) -> Attributes:
    yield f"num_carries={line.proto.num_carries}"
    if line.proto.is_reverse:
        yield "is_reverse=true"
    if associative := line.proto.is_associative:
        yield from enumerated(line, "is_associative", ("", "true", "false"), associative)
