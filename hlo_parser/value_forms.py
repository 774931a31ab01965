"""Which values an attribute may have: one pattern for each attribute.

Values are judged after `squeezed` took comments and idle blanks out. An attribute without a
pattern here takes anything that closes. Forms of releases before and after 0.10.2 are taken too.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from hlo_parser import patterns

STRING: Final = r'(?:"(?:[^"\\]++|\\.)*+"|\'(?:[^\'\\]++|\\.)*+\')'
# One that never closes is taken to the end: else each of its quotes would be tried as a beginning.
ANY_STRING: Final = rf'(?:{STRING}|"(?:[^"\\]++|\\.)*+\\?+\Z|\'(?:[^\'\\]++|\\.)*+\\?+\Z)'
_BLANK = re.compile(rf"({ANY_STRING})|(?:\s++|/\*.*?\*/|//[^\n\r]*+)++|(/\*.*+)", re.S)
_IDLE = re.compile(rf"({ANY_STRING})| ?([{{}}()\[\],:]|->|<=) ?|(=) ", re.S)

_STRING = re.compile(STRING, re.S)
_RESHAPED = re.compile(r"<=\[([\d,]*+)\](?:T\(([\d,]*+)\))?+")
_KEY = re.compile(r"([a-z_]++)=")
_BAD_ESCAPE = re.compile(r"^[^\\]*+(?:\\[abfnrtv\\'\"?0-7xXuU][^\\]*+)*+\\")

_NAME = r"%?+[A-Za-z_][A-Za-z0-9_.\-]*+"
_INT = r"-?\d{1,19}+(?!\d)"
_BOOL = r"(?:true|false)"


def _list(item: str, least: int = 0) -> str:
    return rf"\{{{item}(?:,{item})*+\}}" if least else rf"\{{(?:{item}(?:,{item})*+)?+\}}"


def _words(text: str) -> str:
    return f"(?:{'|'.join(text.split())})"


def braces(depth: int) -> str:
    """Balanced braces; only double-quoted strings and braces count inside."""
    pattern = r"(?!)"
    for _ in range(depth):
        pattern = rf'\{{(?:[^{{}}"]++|"(?:[^"\\]++|\\.)*+"|{pattern})*+\}}'
    return pattern


_INTS = _list(_INT)
_FLOAT = r"(?:-?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+|-?inf|-?nan(?:\(0x[0-9a-fA-F]++\))?)"
_DXD = r"\d++(?:x\d++)*+"
_PAD = r"-?\d++_-?\d++(?:_\d++)?+"
_WINDOW_PAD = r"-?\d++_-?\d++(?!_)"
_PADS = rf"{_PAD}(?:x{_PAD})*+"
_ANY_BRACES = braces(16)
_WINDOW_PART = (
    rf"(?:(?:size|stride|lhs_dilate|rhs_dilate|rhs_reversal)={_DXD}|"
    rf"pad={_WINDOW_PAD}(?:x{_WINDOW_PAD})*+)"
)
_INDEX = _list(r"\d++")
_ALIAS = rf"{_INDEX}:\(\d++,{_INDEX}\)"
_DIMS = r"\[\d++(?:,\d++)*+\]"
_ORDER = r"T\(\d++(?:,\d++)*+\)"
_IOTA = rf"{_DIMS}<={_DIMS}(?:{_ORDER})?+"
_AXIS = rf"{STRING}(?::\(\d++\)\d++)?+"
_AXES = _list(_AXIS)
_MESH = (
    rf"mesh\[(?:{STRING}=\d++(?:,{STRING}=\d++)*+)?+\]"
    rf"(?:,device_ids=\((?:{_DIMS}{_ORDER}|\d++(?:,\d++)*+)\))?+"
)
_METADATA_INT = "source_line source_end_line source_column source_end_column stack_frame_id"
_METADATA_TEXT = "op_type op_name source_file deduplicated_name scheduling_name metadata_payload"
_METADATA_PART = (
    rf"(?:{_words(_METADATA_TEXT)}={STRING}|{_words(_METADATA_INT)}=-?\d{{1,10}}|"
    rf"profile_type=\{{\d++\}}|preserve_layout={_BOOL})"
)
METADATA: Final = rf"\{{(?:{_METADATA_PART}(?:[ ,]?{_METADATA_PART})*+)?+\}}"
_SUBGROUP = _words("maximal replicated manual unreduced")
_TILED = rf"devices={_DIMS}(?:<={_DIMS}(?:{_ORDER})?+|\d++(?:,\d++)++)"
_KIND = rf"(?:replicated|manual|unknown|unreduced|maximal device=\d++(?: device=\d++)*+|{_TILED})"
_MORE = (
    rf"(?:last_tile_dim_replicate|last_tile_dims={_list(_SUBGROUP)}|shard_as \d++|"
    rf"shard_like \d++|metadata=(?:{METADATA}|{_list(METADATA)}))"
)
_DIMENSION = rf"\{{(?:(?:{_AXIS}|\?)(?:,(?:{_AXIS}|\?))*+)?+\}}"
_NAMED_PART = (
    rf"(?:(?:replicated|unreduced|manual)(?:=[a-z]*+{_AXES})?+|"
    rf"metadata=(?:{METADATA}|{_list(METADATA)}))"
)
_NAMED = (
    rf"{_MESH}(?:,\[(?:{_DIMENSION}(?:,{_DIMENSION})*+)?+\])?+(?:,{_NAMED_PART})*+|"
    rf"maximal_mesh\[device_id=\d++\](?:,{_NAMED_PART})*+"
)
_ONE_SHARDING = rf"\{{(?:{_KIND}(?: ?{_MORE})*+|{_NAMED})\}}"
SHARDING: Final = rf"(?:{_ONE_SHARDING}|{_list(_ONE_SHARDING)})"
_LAYOUTS = _list(patterns.SHAPE_TEXT.replace(", ", ",").replace("(?!\\))|(?=\\))", "|(?=\\))"))
_ALGORITHM = (
    r"(?i:unset|dot_(?:any_f8_any_f8_f32(?:_fast_accum)?+|f16_f16_f16|f16_f16_f32|bf16_bf16_bf16|"
    r"bf16_bf16_f32(?:_x[369])?+|tf32_tf32_f32(?:_x3)?+|f32_f32_f32|f64_f64_f64)|"
    r"rng_(?:default|three_fry|philox))"
)
_DOMAIN_PART = rf'(?:kind="sharding"|(?:entry|exit)={SHARDING})'
_NUMBER = rf"(?:{_FLOAT})"
_JSON = rf"(?:{STRING}|\{{.*\}})"
_PATTERNS: dict[str, str] = {
    **dict.fromkeys(
        "dynamic_slice_sizes offset_dims collapsed_slice_dims start_index_map "
        "operand_batching_dims start_indices_batching_dims update_window_dims "
        "inserted_window_dims scatter_dims_to_operand_dims input_batching_dims "
        "scatter_indices_batching_dims lhs_batch_dims lhs_contracting_dims rhs_batch_dims "
        "rhs_contracting_dims lhs_ragged_dims rhs_group_dims fft_length dimensions "
        "outer_dimension_partitions".split(),
        _INTS,
    ),
    **dict.fromkeys(
        "iota_dimension index inferred_dimension k num_carries exponent_bits mantissa_bits "
        "index_vector_dim feature_group_count batch_group_count feature_index delta "
        "cross_program_prefetch_index async_group_id".split(),
        _INT,
    ),
    **dict.fromkeys(
        "is_stable largest is_reverse is_associative indices_are_sorted unique_indices lower "
        "left_side unit_diagonal is_composite custom_call_has_side_effect constrain_layout "
        "use_global_device_ids has_dynamic_root is_host_transfer "
        "is_cross_program_prefetch".split(),
        _BOOL,
    ),
    **dict.fromkeys(
        "custom_call_target infeed_config outfeed_config async_execution_thread tag".split(),
        STRING,
    ),
    **dict.fromkeys(
        "condition body to_apply calls select scatter true_computation false_computation".split(),
        _NAME,
    ),
    "branch_computations": _list(_NAME),
    "called_computations": _list(_NAME),
    "control-predecessors": _list(_NAME, 1),
    "channel_id": rf"(?:{_INT}|_)",
    "slice_sizes": rf"(?:{_INTS}|{_list(_INTS)})",
    "outfeed_shape": r"[a-z(].*[\])}]",
    "direction": _words("EQ NE GE GT LE LT"),
    "type": _words("FLOAT TOTALORDER SIGNED UNSIGNED"),
    "order": _words("TOTAL PARTIAL DEFAULT"),
    "slice": _list(rf"\[{_INT}:{_INT}(?::{_INT})?+\]"),
    "padding": rf"(?:{_PADS}|\{{\}})",
    "window": rf"\{{(?:{_WINDOW_PART}(?: {_WINDOW_PART})*+)?+\}}",
    "dim_labels": r"[0-9bf?]{2,}+_[0-9io?]{2,}+->[0-9bf?]{2,}+",
    "operand_precision": _list(r"(?i:default|highest|high|packed_nibble)"),
    "algorithm": _ALGORITHM,
    "convolution_kind": _words("fprop wgrad dgrad unset"),
    "conv_kind": _words("fprop wgrad dgrad unset"),
    "fft_type": _words("FFT IFFT RFFT IRFFT"),
    "transpose_a": _words("NO_TRANSPOSE TRANSPOSE ADJOINT TRANSPOSE_INVALID"),
    "epsilon": _FLOAT,
    "distribution": r"(?i:rng_uniform|rng_normal)",
    "kind": _words("kLoop kInput kOutput kCustom"),
    "output_to_operand_aliasing": _list(_ALIAS),
    "padding_type": _words("PADDING_VALID PADDING_SAME PADDING_INVALID"),
    "schedule": r"(?i:schedule_(?:latest|earliest|none))",
    "api_version": r"(?i:api_version_(?:original|typed_ffi|status_returning(?:_unified)?+))",
    "mode": _words("cross_replica cross_partition cross_replica_and_partition flattened_id"),
    "replica_groups": rf"(?:{_list(_INTS)}|\[\d++,\d++\]<={_DIMS}(?:{_ORDER})?+|{_MESH} ?{_AXES})",
    "source_target_pairs": _list(rf"\{{{_INT},{_INT}\}}"),
    "domain": rf"\{{{_DOMAIN_PART}(?:[, ]?{_DOMAIN_PART}){{2}}\}}",
    "sharding": SHARDING,
    "parameter_replication": _list(_BOOL),
    "frontend_attributes": _list(rf"{patterns.KEY}(?:{STRING}|{_ANY_BRACES})"),
    "statistics": rf"\{{visualizing_index=\d++(?:,[A-Za-z_][\w.\-]*+={_NUMBER})*+\}}",
    "metadata": METADATA,
    "backend_config": _JSON,
    "result_accuracy": r"\{(?:mode=(?i:default|highest)|tolerance=\{[^{}]*+\})\}",
}
_HEADER_PATTERNS: dict[str, str] = {
    "is_scheduled": _BOOL,
    "alias_passthrough_params": _BOOL,
    "replica_count": _INT,
    "num_partitions": _INT,
    "allow_spmd_sharding_propagation_to_parameters": rf"(?:{_BOOL}|{_list(_BOOL)})",
    "allow_spmd_sharding_propagation_to_output": rf"(?:{_BOOL}|{_list(_BOOL)})",
    "input_output_alias": _list(
        rf"{_INDEX}:\(\d++,{_INDEX}(?:,(?:may-alias|must-alias|may_alias|must_alias))?+\)"
    ),
    "buffer_donor": _list(rf"\(\d++,{_INDEX}\)"),
    "frontend_attributes": _PATTERNS["frontend_attributes"],
    "entry_computation_layout": r"\{\(.*\)->.*\}",
    "origin_recovery_table": r"\{.*\}",
    "debug_attributes": r"\{.*\}",
}
_KINDS = {
    _INT: "an integer",
    _BOOL: "true or false",
    _INTS: "integers in braces",
    STRING: "a string",
}


def squeezed(text: str) -> str:
    """The text without comments, and with blanks only where they part two words."""
    return _IDLE.sub(_kept, _BLANK.sub(lambda found: found[1] or found[2] or " ", text)).strip()


def _kept(found: re.Match[str]) -> str:
    return found[1] or found[2] or found[3]


@cache
def _pattern(key: str, in_header: bool) -> re.Pattern[str] | None:
    text = (_HEADER_PATTERNS if in_header else _PATTERNS).get(key)
    return None if text is None else re.compile(text, re.S | re.ASCII)


def value_fault(key: str, text: str, *, in_header: bool = False) -> str | None:
    """Why a value is none that the attribute takes; None when it is one."""
    pattern = _pattern(key, in_header)
    plain = squeezed(text)
    if pattern is not None and pattern.fullmatch(plain) is None:
        kind = _KINDS.get((_HEADER_PATTERNS if in_header else _PATTERNS)[key], "another value")
        return f"{key} takes {kind}"
    if key in {"sharding", "replica_groups"} and not all(
        _is_order(*found) for found in _RESHAPED.findall(plain)
    ):
        return "an order of dimensions has one number for each dimension"
    if key == "metadata":
        keys = _KEY.findall(_STRING.sub("", plain))
        if len(set(keys)) < len(keys):
            return "metadata has a key twice"
        if any(_BAD_ESCAPE.search(string) for string in _STRING.findall(plain)):
            return "a string has an unknown escape"
    return None


def _is_order(sizes: str, order: str) -> bool:
    """Whether `T(1,0)` fits `<=[2,4]`; it may be missing for one dimension alone."""
    rank = sizes.count(",") + 1
    return order.count(",") + 1 == rank if order else rank == 1


def is_header_key(key: str) -> bool:
    """Whether a module header has an attribute of that name."""
    return key in _HEADER_PATTERNS
