"""Which attributes each opcode prints, in XLA's order.

Given an instruction of a proto, gives its own attributes (xla/hlo/ir/hlo_instructions.cc, the
PrintExtraAttributesImpl of each class). An opcode that is not in the table prints what it has.
"""

from __future__ import annotations

from hlo_parser.proto import call_attributes as call
from hlo_parser.proto import dimension_attributes as of
from hlo_parser.proto.line import Line, Printer

TYPED_BY_OPERAND = frozenset({"compare", "conditional"})
"""Opcodes whose attributes depend on the type of the first operand."""


def own_attributes(line: Line) -> list[str]:
    """What the opcode prints of its own, called computations last."""
    printers = PRINTERS.get(line.opcode, _ANY)
    return [text for printer in printers for text in printer(line)]


_ASYNC = (call.group, call.thread, call.aliasing, call.calls)
_REDUCING = (call.channel, call.replica_groups, call.constrain_layout, call.global_ids)
_GATHERING = (
    call.channel,
    call.replica_groups,
    call.constrain_layout,
    of.dimensions,
    call.global_ids,
)
_PERMUTING = (call.channel, call.pairs, call.permuted_sizes)
_TRANSFER = (call.channel, call.host_transfer)

_PLAIN = (
    "abs acos acosh add add-dependency after-all all-gather-done all-reduce-done and asin "
    "asinh atan2 atanh bitcast bitcast-convert cbrt ceil clamp collective-permute-done "
    "complex convert copy copy-done cosh cosine count-leading-zeros divide dynamic-reshape "
    "dynamic-update-slice erf exponential exponential-minus-one floor imag is-finite log "
    "log-plus-one logistic maximum minimum mulhi multiply negate not opt-barrier or "
    "partition-id popcnt power real remainder replica-id round-nearest-afz round-nearest-even "
    "rsqrt select shift-left shift-right-arithmetic shift-right-logical sign sine sinh sqrt "
    "stochastic-convert subtract tan tanh tuple xor"
).split()
"""Opcodes without attributes of their own."""

PRINTERS: dict[str, tuple[Printer, ...]] = {
    "all-gather": _GATHERING,
    "all-gather-start": _GATHERING,
    "all-reduce": (*_REDUCING, call.to_apply),
    "all-reduce-start": (*_REDUCING, call.to_apply),
    "all-to-all": (call.channel, call.replica_groups, call.constrain_layout, of.given_dimensions),
    "async-done": _ASYNC,
    "async-start": _ASYNC,
    "async-update": _ASYNC,
    "batch-norm-grad": (of.batch_norm,),
    "batch-norm-inference": (of.batch_norm,),
    "batch-norm-training": (of.batch_norm,),
    "broadcast": (of.dimensions,),
    "call": (call.to_apply, call.composite),
    "cholesky": (of.cholesky,),
    "collective-broadcast": (call.channel, call.replica_groups),
    "collective-permute": _PERMUTING,
    "collective-permute-start": _PERMUTING,
    "compare": (of.compare,),
    "concatenate": (of.dimensions,),
    "conditional": (call.branches,),
    "constant": (),
    "convolution": (
        of.window,
        of.dimension_labels,
        of.group_counts,
        of.convolution_kind,
        of.precision,
        of.algorithm,
        of.sparsity,
    ),
    "copy-start": (call.prefetch,),
    "custom-call": (
        of.window,
        of.given_dimension_labels,
        of.group_counts,
        of.precision,
        call.custom_call,
        call.called,
    ),
    "domain": (call.domain,),
    "dot": (of.dot, of.precision, of.algorithm),
    "dynamic-slice": (of.dynamic_slice_sizes,),
    "fft": (of.fft,),
    "fusion": (call.fusion_kind, call.aliasing, call.calls),
    "gather": (of.gather, of.sorted_indices),
    "get-dimension-size": (of.dimensions,),
    "get-tuple-element": (of.tuple_index,),
    "infeed": (call.infeed,),
    "iota": (of.iota,),
    "map": (of.dimensions, call.to_apply),
    "outfeed": (call.outfeed,),
    "pad": (of.padding,),
    "parameter": (call.parameter,),
    "ragged-all-to-all": (call.channel, call.replica_groups, of.given_dimensions),
    "ragged-dot": (of.ragged_dot, of.precision),
    "recv": _TRANSFER,
    "recv-done": _TRANSFER,
    "reduce": (of.dimensions, call.to_apply),
    "reduce-precision": (of.reduce_precision,),
    "reduce-scatter": (*_REDUCING, of.dimensions, call.to_apply),
    "reduce-window": (of.window, call.to_apply),
    "reshape": (of.inferred_dimension,),
    "reverse": (of.dimensions,),
    "rng": (of.distribution,),
    "rng-bit-generator": (of.rng_algorithm,),
    "rng-get-and-update-state": (of.delta,),
    "scaled-dot": (of.dot, of.precision, of.algorithm),
    "scan": (of.dimensions, of.scan, call.to_apply),
    "scatter": (of.scatter, of.sorted_indices, of.unique_indices, call.to_apply),
    "select-and-scatter": (of.window, call.select_and_scatter),
    "send": _TRANSFER,
    "send-done": _TRANSFER,
    "set-dimension-size": (of.dimensions,),
    "slice": (of.slice_bounds,),
    "sort": (of.dimensions, of.stable, call.to_apply),
    "topk": (of.topk, call.to_apply),
    "transpose": (of.dimensions,),
    "triangular-solve": (of.triangular_solve,),
    "while": (call.loop,),
    **dict.fromkeys(_PLAIN, ()),
}

_ANY: tuple[Printer, ...] = (
    of.window,
    call.channel,
    call.given_replica_groups,
    call.constrain_layout,
    of.given_dimensions,
    call.global_ids,
    call.host_transfer,
    call.thread,
    call.aliasing,
    call.called,
)
"""For opcodes that another release has."""
