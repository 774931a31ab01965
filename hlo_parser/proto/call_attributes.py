# ruff: noqa: D103 -- each function prints the attributes it is named after
"""Attributes of communication and calls: channels, device groups, aliases, called computations.

Each function gives the `key=value` texts of one group of attributes, in the order and under the
conditions of xla/hlo/ir/hlo_instructions.cc, PrintExtraAttributesImpl.
"""

from __future__ import annotations

from hlo_parser.proto.line import Attributes, Line, enumerated, word
from hlo_parser.proto.shape_text import braced
from hlo_parser.proto.sharding_text import replica_groups_text
from hlo_parser.proto.value_text import aliasing_text, quoted

# ---- devices -------------------------------------------------------------------------------------


def channel(line: Line) -> Attributes:
    # 0 means none; releases before 2020 had a field of its own for all-reduce.
    if channel := line.proto.channel_id or line.proto.all_reduce_id:
        yield f"channel_id={channel}"


def replica_groups(line: Line) -> Attributes:
    yield f"replica_groups={replica_groups_text(line.proto)}"


def given_replica_groups(line: Line) -> Attributes:
    text = replica_groups_text(line.proto)
    if text != "{}":
        yield f"replica_groups={text}"


def constrain_layout(line: Line) -> Attributes:
    if line.proto.constrain_layout:
        yield "constrain_layout=true"


def global_ids(line: Line) -> Attributes:
    if line.proto.use_global_device_ids:
        yield "use_global_device_ids=true"


def pairs(line: Line) -> Attributes:
    pairs = (f"{{{pair.source},{pair.target}}}" for pair in line.proto.source_target_pairs)
    yield f"source_target_pairs={{{','.join(pairs)}}}"


def permuted_sizes(line: Line) -> Attributes:
    if line.proto.dynamic_slice_sizes:
        sizes = (braced([size]) for size in line.proto.dynamic_slice_sizes)
        yield f"slice_sizes={{{','.join(sizes)}}}"


def host_transfer(line: Line) -> Attributes:
    if line.proto.is_host_transfer:
        yield "is_host_transfer=true"


def infeed(line: Line) -> Attributes:
    if line.proto.infeed_config:
        yield f"infeed_config={quoted(line.proto.infeed_config)}"


def outfeed(line: Line) -> Attributes:
    if line.proto.outfeed_shape:
        yield f"outfeed_shape={line.texts.shape(line.proto.outfeed_shape, line.notes)}"
    if line.proto.outfeed_config:
        yield f"outfeed_config={quoted(line.proto.outfeed_config)}"


def domain(line: Line) -> Attributes:
    # The text's entry is the user's side, the proto's the operand's (HloDomainInstruction).
    entry = line.texts.sharding(line.proto.domain_exit_sharding, line.notes)
    leave = line.texts.sharding(line.proto.domain_entry_sharding, line.notes)
    yield f'domain={{kind="sharding", entry={entry}, exit={leave}}}'


def parameter(line: Line) -> Attributes:
    if leaves := line.proto.parameter_replication.replicated_at_leaf_buffers:
        words = ",".join("true" if leaf else "false" for leaf in leaves)
        yield f"parameter_replication={{{words}}}"


# ---- calls ---------------------------------------------------------------------------------------


def group(line: Line) -> Attributes:
    # Until January 2024; of -1 there was no group.
    if line.proto.HasField("async_group_id") and line.proto.async_group_id >= 0:
        yield f"async_group_id={line.proto.async_group_id}"


def thread(line: Line) -> Attributes:
    thread = line.proto.async_execution_thread
    if thread not in {b"", b"main"}:
        yield f"async_execution_thread={quoted(thread)}"


def prefetch(line: Line) -> Attributes:
    if line.proto.HasField("cross_program_prefetch_index"):
        yield f"cross_program_prefetch_index={line.proto.cross_program_prefetch_index}"
    elif line.proto.is_cross_program_prefetch:
        yield "is_cross_program_prefetch=true"


def fusion_kind(line: Line) -> Attributes:
    yield f"kind={word(line.proto.fusion_kind)}"


def aliasing(line: Line) -> Attributes:
    if line.proto.output_operand_aliasing:
        yield f"output_to_operand_aliasing={aliasing_text(line.proto.output_operand_aliasing)}"


def custom_call(line: Line) -> Attributes:
    proto, notes = line.proto, line.notes
    if proto.padding_type:
        words = ("PADDING_INVALID", "PADDING_VALID", "PADDING_SAME")
        yield from enumerated(line, "padding_type", words, proto.padding_type)
    yield f"custom_call_target={quoted(proto.custom_call_target)}"
    if proto.constrain_layout:
        shapes = (line.texts.shape(raw, notes) for raw in proto.operand_shapes_with_layout)
        yield f"operand_layout_constraints={{{', '.join(shapes)}}}"
    if proto.custom_call_has_side_effect:
        yield "custom_call_has_side_effect=true"
    if proto.HasField("literal"):
        yield f"literal={line.texts.typed_literal(proto.literal, notes)}"
    yield from aliasing(line)
    if proto.custom_call_schedule:
        words = ("SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST")
        yield from enumerated(line, "schedule", words, proto.custom_call_schedule)
    if proto.custom_call_api_version > 1:
        yield from enumerated(line, "api_version", _API_VERSIONS, proto.custom_call_api_version)


_API_VERSIONS = (
    "API_VERSION_UNSPECIFIED",
    "API_VERSION_ORIGINAL",
    "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED",
    "API_VERSION_TYPED_FFI",
)


def to_apply(line: Line) -> Attributes:
    if len(line.callees) == 1:
        yield f"to_apply={line.callees[0]}"
    elif line.callees:
        yield from called(line)


def composite(line: Line) -> Attributes:
    if line.proto.is_composite:
        yield "is_composite=true"


def calls(line: Line) -> Attributes:
    if len(line.callees) == 1:
        yield f"calls={line.callees[0]}"
    elif line.callees:
        yield f"calls={{{', '.join(line.callees)}}}"


def called(line: Line) -> Attributes:
    if line.callees:
        yield f"called_computations={{{', '.join(line.callees)}}}"


def by_role(line: Line, *roles: str) -> Attributes:
    if len(line.callees) != len(roles):
        line.notes.append(f"{len(line.callees)} called computations instead of {len(roles)}")
        yield from called(line)
        return
    for role, name in zip(roles, line.callees, strict=True):
        yield f"{role}={name}"


def loop(line: Line) -> Attributes:
    # Kept body first, printed condition first (xla/hlo/ir/hlo_instruction.cc).
    return reversed([*by_role(line, "body", "condition")])


def select_and_scatter(line: Line) -> Attributes:
    return by_role(line, "select", "scatter")


def branches(line: Line) -> Attributes:
    if line.operand_type == "pred" and len(line.callees) == 2:
        return by_role(line, "true_computation", "false_computation")
    return (f"branch_computations={{{', '.join(line.callees)}}}",)
