"""What each opcode takes: how many operands, which attributes, which of them it must have.

A table and nothing else, as XLA's parser has it (xla/hlo/parser/hlo_parser.cc,
CreateInstruction): a form that one of the releases from 0.4.30 to 0.12 takes is no fault. Values
are judged in `value_forms.py`.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple


class Opcode(NamedTuple):
    """The form of one opcode; `most` is None when there is no upper bound of operands."""

    least: int
    most: int | None
    allowed: frozenset[str]
    required: frozenset[str]


COMMON = frozenset(
    (
        "sharding frontend_attributes statistics parameter_replication control-predecessors "
        "origin metadata backend_config"
    ).split()
)
"""Attributes that every instruction may have."""

_DOT = "lhs_batch_dims lhs_contracting_dims rhs_batch_dims rhs_contracting_dims operand_precision"
_GROUPS = "channel_id replica_groups constrain_layout"
_SUM = f"{_GROUPS} use_global_device_ids mode !to_apply"
_GATHER = f"{_GROUPS} use_global_device_ids !dimensions"
_NORM = "!epsilon !feature_index"
_CONVOLUTION = "window {}dim_labels feature_group_count batch_group_count operand_precision"
_SCALED = "sparsity_config block_scaling_config"
_TRANSFER = "channel_id is_host_transfer"
_ASYNC = "async_execution_thread {}calls"

_SUGAR = {"async_execution_thread", "output_to_operand_aliasing"}
NATIVE = frozenset("all-gather all-reduce collective-permute copy send recv".split())
"""Opcodes whose asynchronous steps are opcodes too, with shapes of their own."""

_UNSTARTED = NATIVE | {"constant", "parameter"}
"""Opcodes that no async-start is told for in short: it has no place for a value in brackets."""

_COUNTED = frozenset(
    (
        "reduce reduce-window scatter dynamic-slice dynamic-update-slice conditional infeed "
        "partition-id replica-id"
    ).split()
)
"""Opcodes whose operands XLA counts in a start too; to the others an update may add some."""

# Opcodes, operands (`2`, `1-3`, `2+`), attributes; `!` marks those that are required.
_TABLE = (
    (
        "abs ceil count-leading-zeros floor imag is-finite negate not popcnt real "
        "round-nearest-afz round-nearest-even sign copy bitcast opt-barrier copy-done "
        "all-gather-done all-reduce-done collective-permute-done convert bitcast-convert",
        "1",
        "",
    ),
    (
        "exponential exponential-minus-one log log-plus-one logistic sqrt rsqrt cbrt tanh cosine "
        "sine tan erf acos acosh asin asinh atanh cosh sinh",
        "1",
        "result_accuracy",
    ),
    (
        "add subtract multiply mulhi divide remainder power maximum minimum and or xor atan2 "
        "complex shift-left shift-right-arithmetic shift-right-logical stochastic-convert "
        "add-dependency",
        "2",
        "",
    ),
    ("clamp select", "3", ""),
    ("compare", "2", "!direction type order"),
    ("parameter constant partition-id replica-id", "0", ""),
    ("iota", "0", "!iota_dimension"),
    ("tuple after-all", "0+", ""),
    ("get-tuple-element", "1", "!index"),
    ("broadcast", "1", "dimensions"),
    ("reshape", "1", "inferred_dimension"),
    ("dynamic-reshape", "1+", ""),
    ("transpose reverse", "1", "!dimensions"),
    ("shuffle", "1", "!dimensions !mode !shifts"),
    ("concatenate", "1+", "!dimensions"),
    ("slice", "1", "!slice"),
    ("dynamic-slice", "1+", "!dynamic_slice_sizes"),
    ("dynamic-update-slice", "2+", ""),
    ("pad", "2", "!padding"),
    ("reduce", "2+", "!dimensions !to_apply"),
    ("reduce-window", "2+", "window !to_apply"),
    ("select-and-scatter", "3", "window !select !scatter"),
    ("map", "0+", "dimensions !to_apply"),
    ("sort", "1+", "!dimensions is_stable !to_apply"),
    ("topk", "1", "!k largest is_stable"),
    ("scan", "0+", "!dimensions !num_carries is_reverse is_associative !to_apply"),
    ("reduce-precision", "1", "!exponent_bits !mantissa_bits"),
    (
        "gather",
        "2",
        "!offset_dims !collapsed_slice_dims !start_index_map operand_batching_dims "
        "start_indices_batching_dims !index_vector_dim !slice_sizes indices_are_sorted",
    ),
    (
        "scatter",
        "3+",
        "!update_window_dims !inserted_window_dims !scatter_dims_to_operand_dims "
        "input_batching_dims scatter_indices_batching_dims !index_vector_dim "
        "indices_are_sorted unique_indices !to_apply",
    ),
    ("dot", "2+", f"{_DOT} algorithm sparsity {_SCALED}"),
    ("ragged-dot", "3", f"{_DOT} lhs_ragged_dims rhs_group_dims"),
    ("scaled-dot", "4", f"{_DOT} algorithm"),
    (
        "convolution",
        "2+",
        f"{_CONVOLUTION.format('!')} convolution_kind conv_kind algorithm {_SCALED}",
    ),
    ("fft", "1", "!fft_type !fft_length"),
    ("cholesky", "1", "lower"),
    ("triangular-solve", "2", "left_side lower unit_diagonal transpose_a"),
    ("batch-norm-training", "3", _NORM),
    ("batch-norm-inference batch-norm-grad", "5", _NORM),
    ("rng", "0+", "!distribution"),
    ("rng-bit-generator", "1", "!algorithm"),
    ("rng-get-and-update-state", "0", "!delta"),
    ("get-dimension-size", "1", "!dimensions"),
    ("set-dimension-size", "2", "!dimensions"),
    ("while", "1", "!condition !body"),
    ("conditional", "2+", "true_computation false_computation branch_computations"),
    ("call", "0+", "!to_apply is_composite"),
    ("fusion", "0+", "!kind output_to_operand_aliasing !calls"),
    (
        "custom-call",
        "0+",
        f"{_CONVOLUTION.format('')} padding_type !custom_call_target "
        "operand_layout_constraints custom_call_has_side_effect literal "
        "output_to_operand_aliasing schedule api_version called_computations to_apply",
    ),
    ("all-reduce all-reduce-start", "0+", _SUM),
    ("reduce-scatter", "0+", f"{_SUM} !dimensions"),
    ("all-gather all-gather-start", "0+", _GATHER),
    ("all-to-all", "0+", f"{_GROUPS} dimensions"),
    ("ragged-all-to-all", "0+", f"{_GROUPS} dimensions"),
    ("collective-broadcast", "0+", f"{_GROUPS} has_dynamic_root"),
    (
        "collective-reduce",
        "0+",
        f"{_GROUPS} use_global_device_ids has_dynamic_root !to_apply",
    ),
    (
        "collective-permute collective-permute-start",
        "0+",
        "channel_id !source_target_pairs slice_sizes",
    ),
    ("send", "2", _TRANSFER),
    ("send-done recv recv-done", "1", _TRANSFER),
    ("copy-start", "1", "cross_program_prefetch_index"),
    ("infeed", "1", "infeed_config"),
    ("outfeed", "2", "outfeed_shape outfeed_config"),
    ("domain", "1", "!domain"),
    ("async-start", "0+", f"{_ASYNC.format('!')} output_to_operand_aliasing"),
    ("async-update", "1+", f"{_ASYNC.format('')} output_to_operand_aliasing"),
    ("async-done", "1+", _ASYNC.format("")),
)


@cache
def opcodes() -> dict[str, Opcode]:
    """The form of each opcode by its name."""
    found: dict[str, Opcode] = {}
    for names, operands, attributes in _TABLE:
        least, _, most = operands.removesuffix("+").partition("-")
        words = attributes.split()
        form = Opcode(
            least=int(least),
            most=None if operands.endswith("+") else int(most or least),
            allowed=COMMON | {word.removeprefix("!") for word in words},
            required=frozenset(word[1:] for word in words if word.startswith("!")),
        )
        found.update(dict.fromkeys(names.split(), form))
    return found


@cache
def form_of(opcode: str) -> Opcode | None:
    """The form of an opcode, None for one XLA never had.

    `reduce-scatter-start` and the like stand for an async-start of reduce-scatter; those that XLA
    has as opcodes of their own do not.
    """
    known = opcodes().get(opcode)
    if known is not None:
        return known
    for end in ("-start", "-update", "-done"):
        stem = opcode.removesuffix(end)
        inner = opcodes().get(stem) if opcode.endswith(end) and stem not in _UNSTARTED else None
        if inner is not None and end == "-start":
            least, most = inner[:2] if stem in _COUNTED else (0, None)
            return inner._replace(least=least, most=most, allowed=inner.allowed | _SUGAR)
        if inner is not None:
            allowed = COMMON | (_SUGAR if end == "-update" else {"async_execution_thread"})
            return Opcode(1, None, allowed, frozenset())
    return None
