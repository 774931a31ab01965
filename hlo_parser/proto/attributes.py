"""The attributes of an instruction, each opcode's own in the order XLA prints them.

Given an instruction of a proto, gives `key=value` texts (xla/hlo/ir/hlo_instructions.cc,
PrintExtraAttributesImpl of each class). An opcode that is not known here prints whatever it has.
Nothing here looks at other instructions: names of callees and types of operands come in with the
`Line`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from hlo_parser.proto.schema import DotDimensionNumbers, HloInstructionProto
from hlo_parser.proto.shape_text import braced
from hlo_parser.proto.shared_text import SharedTexts
from hlo_parser.proto.sharding_text import replica_groups_text
from hlo_parser.proto.value_text import (
    aliasing_text,
    dimension_labels,
    padding_text,
    quoted,
    sparsity_text,
    window_text,
)

Attributes = Iterable[str]


class Line(NamedTuple):
    """An instruction and what of its surroundings its attributes depend on."""

    proto: HloInstructionProto
    opcode: str
    operand_type: str
    """The type word of the first operand, empty for tuples and without operands."""
    callees: tuple[str, ...]
    """With `%`."""
    texts: SharedTexts
    notes: list[str]


_Printer = Callable[[Line], Attributes]


def own_attributes(line: Line) -> list[str]:
    """What the opcode prints of its own, called computations last."""
    printers = _PRINTERS.get(line.opcode, _ANY)
    return [text for printer in printers for text in printer(line)]


def _enum(line: Line, key: str, words: tuple[str, ...], number: int) -> Attributes:
    if 0 <= number < len(words):
        yield f"{key}={words[number]}"
    else:
        line.notes.append(f"{key} {number} is not known")


# ---- dimensions and sizes ------------------------------------------------------------------------


def _dimensions(line: Line) -> Attributes:
    yield f"dimensions={braced(line.proto.dimensions)}"


def _given_dimensions(line: Line) -> Attributes:
    if line.proto.dimensions:
        yield f"dimensions={braced(line.proto.dimensions)}"


def _inferred_dimension(line: Line) -> Attributes:
    if line.proto.dimensions:
        yield f"inferred_dimension={line.proto.dimensions[0]}"


def _iota(line: Line) -> Attributes:
    dimensions = line.proto.dimensions
    yield f"iota_dimension={dimensions[0] if dimensions else 0}"


def _slice(line: Line) -> Attributes:
    dimensions = line.proto.slice_dimensions
    has_stride = any(dimension.stride != 1 for dimension in dimensions)
    parts = (
        f"[{d.start}:{d.limit}:{d.stride}]" if has_stride else f"[{d.start}:{d.limit}]"
        for d in dimensions
    )
    yield f"slice={{{', '.join(parts)}}}"


def _dynamic_slice_sizes(line: Line) -> Attributes:
    yield f"dynamic_slice_sizes={braced(line.proto.dynamic_slice_sizes)}"


def _padding(line: Line) -> Attributes:
    yield f"padding={padding_text(line.proto.padding_config)}"


def _window(line: Line) -> Attributes:
    if text := window_text(line.proto.window):
        yield f"window={text}"


def _tuple_index(line: Line) -> Attributes:
    yield f"index={line.proto.tuple_index}"


def _gather(line: Line) -> Attributes:
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


def _scatter(line: Line) -> Attributes:
    numbers = line.proto.scatter_dimension_numbers
    yield f"update_window_dims={braced(numbers.update_window_dims)}"
    yield f"inserted_window_dims={braced(numbers.inserted_window_dims)}"
    yield f"scatter_dims_to_operand_dims={braced(numbers.scatter_dims_to_operand_dims)}"
    if numbers.input_batching_dims:
        yield f"input_batching_dims={braced(numbers.input_batching_dims)}"
    if numbers.scatter_indices_batching_dims:
        yield f"scatter_indices_batching_dims={braced(numbers.scatter_indices_batching_dims)}"
    yield f"index_vector_dim={numbers.index_vector_dim}"


def _sorted_indices(line: Line) -> Attributes:
    if line.proto.indices_are_sorted:
        yield "indices_are_sorted=true"


def _unique_indices(line: Line) -> Attributes:
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


def _compare(line: Line) -> Attributes:
    yield f"direction={_word(line.proto.comparison_direction)}"
    kind = _word(line.proto.comparison_type)
    # Printed only where it is not what the operands imply (xla/comparison_util.h).
    implied = {"f": "FLOAT", "b": "FLOAT", "c": "FLOAT", "s": "SIGNED"}
    if kind and kind != implied.get(line.operand_type[:1], "UNSIGNED"):
        yield f"type={kind}"


def _word(raw: bytes) -> str:
    """A word of an enumeration that the proto keeps as a string."""
    text = raw.decode("ascii", errors="replace")
    return "".join(c if c.isalnum() or c in "_-." else "_" for c in text[:100])


def _precision(line: Line) -> Attributes:
    precisions = line.proto.precision_config.operand_precision
    if any(precisions):
        words = (
            _PRECISIONS[number] if 0 <= number < len(_PRECISIONS) else str(number)
            for number in precisions
        )
        yield f"operand_precision={{{','.join(words)}}}"


def _algorithm(line: Line) -> Attributes:
    if algorithm := line.proto.precision_config.algorithm:
        yield from _enum(line, "algorithm", _ALGORITHMS, algorithm)


def _dot_dimensions(numbers: DotDimensionNumbers) -> Attributes:
    if numbers.lhs_batch_dimensions:
        yield f"lhs_batch_dims={braced(numbers.lhs_batch_dimensions)}"
    yield f"lhs_contracting_dims={braced(numbers.lhs_contracting_dimensions)}"
    if numbers.rhs_batch_dimensions:
        yield f"rhs_batch_dims={braced(numbers.rhs_batch_dimensions)}"
    yield f"rhs_contracting_dims={braced(numbers.rhs_contracting_dimensions)}"


def _dot(line: Line) -> Attributes:
    return _dot_dimensions(line.proto.dot_dimension_numbers)


def _ragged_dot(line: Line) -> Attributes:
    numbers = line.proto.ragged_dot_dimension_numbers
    yield from _dot_dimensions(numbers.dot_dimension_numbers)
    if numbers.lhs_ragged_dimensions:
        yield f"lhs_ragged_dims={braced(numbers.lhs_ragged_dimensions)}"
    if numbers.rhs_group_dimensions:
        yield f"rhs_group_dims={braced(numbers.rhs_group_dimensions)}"


def _dimension_labels(line: Line) -> Attributes:
    numbers = line.proto.convolution_dimension_numbers
    yield f"dim_labels={dimension_labels(numbers, line.notes)}"


def _given_dimension_labels(line: Line) -> Attributes:
    if line.proto.HasField("convolution_dimension_numbers"):
        yield from _dimension_labels(line)


def _group_counts(line: Line) -> Attributes:
    if line.proto.feature_group_count > 1:
        yield f"feature_group_count={line.proto.feature_group_count}"
    if line.proto.batch_group_count > 1:
        yield f"batch_group_count={line.proto.batch_group_count}"


def _convolution_kind(line: Line) -> Attributes:
    if kind := line.proto.conv_kind:
        yield from _enum(line, "convolution_kind", ("unset", "fprop", "dgrad", "wgrad"), kind)


def _sparsity(line: Line) -> Attributes:
    config = line.proto.sparsity_config
    sides = [
        f"{name}={sparsity_text(side)}"
        for name, side in (("lhs", config.lhs), ("rhs", config.rhs))
        if config.HasField(name)
    ]
    if sides:
        yield f"sparsity_config={{{' '.join(sides)}}}"


def _batch_norm(line: Line) -> Attributes:
    yield f"epsilon={line.proto.epsilon:g}"
    yield f"feature_index={line.proto.feature_index}"


def _fft(line: Line) -> Attributes:
    yield from _enum(line, "fft_type", ("FFT", "IFFT", "RFFT", "IRFFT"), line.proto.fft_type)
    yield f"fft_length={braced(line.proto.fft_length)}"


def _triangular_solve(line: Line) -> Attributes:
    options = line.proto.triangular_solve_options
    if options.left_side:
        yield "left_side=true"
    if options.lower:
        yield "lower=true"
    if options.unit_diagonal:
        yield "unit_diagonal=true"
    if options.transpose_a:
        words = ("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
        yield from _enum(line, "transpose_a", words, options.transpose_a)


def _cholesky(line: Line) -> Attributes:
    if line.proto.cholesky_options.lower:
        yield "lower=true"


def _reduce_precision(line: Line) -> Attributes:
    yield f"exponent_bits={line.proto.exponent_bits}"
    yield f"mantissa_bits={line.proto.mantissa_bits}"


def _distribution(line: Line) -> Attributes:
    words = ("rng_invalid", "rng_uniform", "rng_normal")
    return _enum(line, "distribution", words, line.proto.distribution)


def _rng_algorithm(line: Line) -> Attributes:
    words = ("rng_default", "rng_three_fry", "rng_philox")
    return _enum(line, "algorithm", words, line.proto.rng_algorithm)


def _delta(line: Line) -> Attributes:
    yield f"delta={line.proto.delta}"


def _stable(line: Line) -> Attributes:
    if line.proto.is_stable:
        yield "is_stable=true"


def _topk(line: Line) -> Attributes:
    yield f"k={line.proto.k}"
    yield f"largest={'true' if line.proto.largest else 'false'}"


def _scan(line: Line) -> Attributes:
    yield f"num_carries={line.proto.num_carries}"
    if line.proto.is_reverse:
        yield "is_reverse=true"
    if associative := line.proto.is_associative:
        yield from _enum(line, "is_associative", ("", "true", "false"), associative)


# ---- devices -------------------------------------------------------------------------------------


def _channel(line: Line) -> Attributes:
    # 0 means none; releases before 2020 had a field of its own for all-reduce.
    if channel := line.proto.channel_id or line.proto.all_reduce_id:
        yield f"channel_id={channel}"


def _replica_groups(line: Line) -> Attributes:
    yield f"replica_groups={replica_groups_text(line.proto)}"


def _given_replica_groups(line: Line) -> Attributes:
    text = replica_groups_text(line.proto)
    if text != "{}":
        yield f"replica_groups={text}"


def _constrain_layout(line: Line) -> Attributes:
    if line.proto.constrain_layout:
        yield "constrain_layout=true"


def _global_ids(line: Line) -> Attributes:
    if line.proto.use_global_device_ids:
        yield "use_global_device_ids=true"


def _pairs(line: Line) -> Attributes:
    pairs = (f"{{{pair.source},{pair.target}}}" for pair in line.proto.source_target_pairs)
    yield f"source_target_pairs={{{','.join(pairs)}}}"


def _permuted_sizes(line: Line) -> Attributes:
    if line.proto.dynamic_slice_sizes:
        sizes = (braced([size]) for size in line.proto.dynamic_slice_sizes)
        yield f"slice_sizes={{{','.join(sizes)}}}"


def _host_transfer(line: Line) -> Attributes:
    if line.proto.is_host_transfer:
        yield "is_host_transfer=true"


def _infeed(line: Line) -> Attributes:
    if line.proto.infeed_config:
        yield f"infeed_config={quoted(line.proto.infeed_config)}"


def _outfeed(line: Line) -> Attributes:
    if line.proto.outfeed_shape:
        yield f"outfeed_shape={line.texts.shape(line.proto.outfeed_shape, line.notes)}"
    if line.proto.outfeed_config:
        yield f"outfeed_config={quoted(line.proto.outfeed_config)}"


def _domain(line: Line) -> Attributes:
    # The text's entry is the user's side, the proto's the operand's (HloDomainInstruction).
    entry = line.texts.sharding(line.proto.domain_exit_sharding, line.notes)
    leave = line.texts.sharding(line.proto.domain_entry_sharding, line.notes)
    yield f'domain={{kind="sharding", entry={entry}, exit={leave}}}'


def _parameter(line: Line) -> Attributes:
    if leaves := line.proto.parameter_replication.replicated_at_leaf_buffers:
        words = ",".join("true" if leaf else "false" for leaf in leaves)
        yield f"parameter_replication={{{words}}}"


# ---- calls ---------------------------------------------------------------------------------------


def _thread(line: Line) -> Attributes:
    thread = line.proto.async_execution_thread
    if thread not in {b"", b"main"}:
        yield f"async_execution_thread={quoted(thread)}"


def _prefetch(line: Line) -> Attributes:
    if line.proto.HasField("cross_program_prefetch_index"):
        yield f"cross_program_prefetch_index={line.proto.cross_program_prefetch_index}"
    elif line.proto.is_cross_program_prefetch:
        yield "is_cross_program_prefetch=true"


def _fusion_kind(line: Line) -> Attributes:
    yield f"kind={_word(line.proto.fusion_kind)}"


def _aliasing(line: Line) -> Attributes:
    if line.proto.output_operand_aliasing:
        yield f"output_to_operand_aliasing={aliasing_text(line.proto.output_operand_aliasing)}"


def _custom_call(line: Line) -> Attributes:
    proto, notes = line.proto, line.notes
    if proto.padding_type:
        words = ("PADDING_INVALID", "PADDING_VALID", "PADDING_SAME")
        yield from _enum(line, "padding_type", words, proto.padding_type)
    yield f"custom_call_target={quoted(proto.custom_call_target)}"
    if proto.constrain_layout:
        shapes = (line.texts.shape(raw, notes) for raw in proto.operand_shapes_with_layout)
        yield f"operand_layout_constraints={{{', '.join(shapes)}}}"
    if proto.custom_call_has_side_effect:
        yield "custom_call_has_side_effect=true"
    if proto.HasField("literal"):
        yield f"literal={line.texts.typed_literal(proto.literal, notes)}"
    yield from _aliasing(line)
    if proto.custom_call_schedule:
        words = ("SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST")
        yield from _enum(line, "schedule", words, proto.custom_call_schedule)
    if proto.custom_call_api_version > 1:
        yield from _enum(line, "api_version", _API_VERSIONS, proto.custom_call_api_version)


_API_VERSIONS = (
    "API_VERSION_UNSPECIFIED",
    "API_VERSION_ORIGINAL",
    "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED",
    "API_VERSION_TYPED_FFI",
)


def _to_apply(line: Line) -> Attributes:
    if len(line.callees) == 1:
        yield f"to_apply={line.callees[0]}"
    elif line.callees:
        yield from _called(line)


def _composite(line: Line) -> Attributes:
    if line.proto.is_composite:
        yield "is_composite=true"


def _calls(line: Line) -> Attributes:
    if len(line.callees) == 1:
        yield f"calls={line.callees[0]}"
    elif line.callees:
        yield f"calls={{{', '.join(line.callees)}}}"


def _called(line: Line) -> Attributes:
    if line.callees:
        yield f"called_computations={{{', '.join(line.callees)}}}"


def _by_role(line: Line, *roles: str) -> Attributes:
    if len(line.callees) != len(roles):
        line.notes.append(f"{len(line.callees)} called computations instead of {len(roles)}")
        yield from _called(line)
        return
    for role, name in zip(roles, line.callees, strict=True):
        yield f"{role}={name}"


def _loop(line: Line) -> Attributes:
    # Kept body first, printed condition first (xla/hlo/ir/hlo_instruction.cc).
    return reversed([*_by_role(line, "body", "condition")])


def _select_and_scatter(line: Line) -> Attributes:
    return _by_role(line, "select", "scatter")


def _branches(line: Line) -> Attributes:
    if line.operand_type == "pred" and len(line.callees) == 2:
        return _by_role(line, "true_computation", "false_computation")
    return (f"branch_computations={{{', '.join(line.callees)}}}",)


_ASYNC = (_thread, _aliasing, _calls)
_REDUCING = (_channel, _replica_groups, _constrain_layout, _global_ids)
_GATHERING = (_channel, _replica_groups, _constrain_layout, _dimensions, _global_ids)
_PERMUTING = (_channel, _pairs, _permuted_sizes)
_TRANSFER = (_channel, _host_transfer)

_PRINTERS: dict[str, tuple[_Printer, ...]] = {
    "all-gather": _GATHERING,
    "all-gather-start": _GATHERING,
    "all-reduce": (*_REDUCING, _to_apply),
    "all-reduce-start": (*_REDUCING, _to_apply),
    "all-to-all": (_channel, _replica_groups, _constrain_layout, _given_dimensions),
    "async-done": _ASYNC,
    "async-start": _ASYNC,
    "async-update": _ASYNC,
    "batch-norm-grad": (_batch_norm,),
    "batch-norm-inference": (_batch_norm,),
    "batch-norm-training": (_batch_norm,),
    "broadcast": (_dimensions,),
    "call": (_to_apply, _composite),
    "cholesky": (_cholesky,),
    "collective-broadcast": (_channel, _replica_groups),
    "collective-permute": _PERMUTING,
    "collective-permute-start": _PERMUTING,
    "compare": (_compare,),
    "concatenate": (_dimensions,),
    "conditional": (_branches,),
    "constant": (),
    "convolution": (
        _window,
        _dimension_labels,
        _group_counts,
        _convolution_kind,
        _precision,
        _algorithm,
        _sparsity,
    ),
    "copy-start": (_prefetch,),
    "custom-call": (
        _window,
        _given_dimension_labels,
        _group_counts,
        _precision,
        _custom_call,
        _called,
    ),
    "domain": (_domain,),
    "dot": (_dot, _precision, _algorithm),
    "dynamic-slice": (_dynamic_slice_sizes,),
    "fft": (_fft,),
    "fusion": (_fusion_kind, _aliasing, _calls),
    "gather": (_gather, _sorted_indices),
    "get-dimension-size": (_dimensions,),
    "get-tuple-element": (_tuple_index,),
    "infeed": (_infeed,),
    "iota": (_iota,),
    "map": (_dimensions, _to_apply),
    "outfeed": (_outfeed,),
    "pad": (_padding,),
    "parameter": (_parameter,),
    "ragged-all-to-all": (_channel, _replica_groups, _given_dimensions),
    "ragged-dot": (_ragged_dot, _precision),
    "recv": _TRANSFER,
    "recv-done": _TRANSFER,
    "reduce": (_dimensions, _to_apply),
    "reduce-precision": (_reduce_precision,),
    "reduce-scatter": (*_REDUCING, _dimensions, _to_apply),
    "reduce-window": (_window, _to_apply),
    "reshape": (_inferred_dimension,),
    "reverse": (_dimensions,),
    "rng": (_distribution,),
    "rng-bit-generator": (_rng_algorithm,),
    "rng-get-and-update-state": (_delta,),
    "scaled-dot": (_dot, _precision, _algorithm),
    "scan": (_dimensions, _scan, _to_apply),
    "scatter": (_scatter, _sorted_indices, _unique_indices, _to_apply),
    "select-and-scatter": (_window, _select_and_scatter),
    "send": _TRANSFER,
    "send-done": _TRANSFER,
    "set-dimension-size": (_dimensions,),
    "slice": (_slice,),
    "sort": (_dimensions, _stable, _to_apply),
    "topk": (_topk, _to_apply),
    "transpose": (_dimensions,),
    "triangular-solve": (_triangular_solve,),
    "while": (_loop,),
}

_ANY: tuple[_Printer, ...] = (
    _window,
    _channel,
    _given_replica_groups,
    _constrain_layout,
    _given_dimensions,
    _global_ids,
    _host_transfer,
    _thread,
    _aliasing,
    _called,
)
"""For opcodes that a newer release added, and for those without attributes of their own."""
