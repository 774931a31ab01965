"""Which values an attribute may have: one pattern for each attribute.

Values are judged after `squeezed` took comments and idle blanks out. An attribute without a
pattern here takes anything that closes. What a release from 0.4.30 to 0.12 takes is taken.
"""

from __future__ import annotations

import re
from functools import cache
from math import prod
from typing import Final

from hlo_parser import patterns
from hlo_parser.possessive import compile_pattern

STRING: Final = r'(?:"(?:[^"\\]++|\\.)*+"|\'(?:[^\'\\]++|\\.)*+\')'
# One that never closes is taken to the end: else each of its quotes would be tried as a beginning.
ANY_STRING: Final = rf'(?:{STRING}|"(?:[^"\\]++|\\.)*+\\?+\Z|\'(?:[^\'\\]++|\\.)*+\\?+\Z)'
_BLANK = compile_pattern(rf"({ANY_STRING})|(?:\s++|/\*.*?\*/|//[^\n\r]*+)++|(/\*.*+)", re.S)
_IDLE = compile_pattern(rf"({ANY_STRING})| ?([{{}}()\[\],:]|->|<=) ?|(=) ", re.S)

_STRING = compile_pattern(STRING, re.S)
_RESHAPED = compile_pattern(r"(?:<=|device_ids=\()\[([\d,]*+)\](?:T\(([\d,]*+)\))?+")
_KEY = compile_pattern(r"([a-z_]++)=")
_LARGEST_F32 = 3.4028234663852886e38
_NUMBER_TOLD = compile_pattern(r"=(-?\d++)")
# As absl's CUnescape takes them: a byte is one byte, a code point has its digits.
_ESCAPE = (
    r"\\(?:[abfnrtv\\'\"?]|[0-3][0-7]{2}|[0-7]{1,2}(?![0-7])|"
    r"[xX](?:0*+[0-9a-fA-F]{1,2}|0++)(?![0-9a-fA-F])|"
    r"u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})"
)
_SOUND_STRING = compile_pattern(rf"[^\\]*+(?:{_ESCAPE}[^\\]*+)*+", re.S)

_NAME = r"%?+[A-Za-z_][A-Za-z0-9_.\-]*+"
_INT = r"-?\d{1,19}+(?!\d)"
_BOOL = r"(?:true|false)"


def _list(item: str, least: int = 0) -> str:
    return rf"\{{{item}(?:,{item})*+\}}" if least else rf"\{{(?:{item}(?:,{item})*+)?+\}}"


def _words(text: str) -> str:
    return f"(?:{'|'.join(text.split())})"


def _sides(part: str) -> str:
    """`{lhs={part part} rhs={part}}`, without commas."""
    side = rf"(?:lhs|rhs)=\{{(?:{part}(?: {part})*+)?+\}}"
    return rf"\{{(?:{side}(?: ?{side})*+)?+\}}"


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
    rf"(?:(?:size|stride|lhs_dilate|rhs_dilate|rhs_reversal)=(?:-\d++|{_DXD})|"
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
    rf"mesh\[(?:{STRING} ?={_INT}(?:,{STRING} ?={_INT})*+)?+\]"
    rf"(?:,device_ids=\((?:{_DIMS}(?:{_ORDER})?+|\d++(?:,\d++)*+)\))?+"
)
_METADATA_INT = "source_line source_end_line source_column source_end_column stack_frame_id"
_METADATA_TEXT = "op_type op_name source_file deduplicated_name scheduling_name metadata_payload"
_METADATA_PART = (
    rf"(?:{_words(_METADATA_TEXT)}={STRING}|{_words(_METADATA_INT)}=-?\d{{1,10}}|"
    rf"profile_type={_list('[0-3]')}|preserve_layout={_BOOL})"
)
METADATA: Final = rf"\{{(?:[ ,]?{_METADATA_PART})*+\}}"
_SUBGROUP = _words("maximal replicated manual unreduced")
_TILED = rf"devices={_DIMS}(?:<={_DIMS}(?:{_ORDER})?+|{_INT}(?:,{_INT})*+)"
_METADATA_LIST = rf"metadata=(?:{METADATA}|{_list(METADATA)})"
# In any order, each as often as one likes; what does not go together is told by `_words_fault`.
_SHARDING_PART = (
    rf"(?:replicated|manual|unknown|unreduced|maximal|last_tile_dim_replicate|"
    rf"last_tile_dims={_list(_SUBGROUP)}|shard_as {_INT}|shard_like {_INT}|"
    rf"device={_INT}|{_TILED}|{_METADATA_LIST})"
)
_DIMENSION = rf"\{{(?:\?|{_AXIS}(?:,{_AXIS})*+(?:,\?)?+)?+\}}"
_REDUCED = rf"unreduced={_words('sum max min')}"
_NAMED_PART = rf"(?:(?:replicated|manual|unreduced)={_AXES}|{_REDUCED}{_AXES}|{_METADATA_LIST})"
# All axes of a mesh are used alike, or its dimensions are listed.
_NAMED = (
    rf"{_MESH},(?:replicated|manual|(?:{_REDUCED}|unreduced)(?!=)(?:{_AXES})?+)"
    rf"(?:,{_METADATA_LIST})*+|"
    rf"{_MESH},?\[(?:{_DIMENSION}(?:,{_DIMENSION})*+)?+\](?:,{_NAMED_PART})*+|"
    rf"maximal_mesh\[device_id=\d++\](?:,{_METADATA_LIST})*+"
)
_UNNAMED = rf"\{{{_SHARDING_PART}(?: ?{_SHARDING_PART})*+\}}"
_ONE_SHARDING = rf"(?:{_UNNAMED}|\{{(?:{_NAMED})\}})"
SHARDING: Final = rf"(?:{_ONE_SHARDING}|{_list(_ONE_SHARDING)})"
_LAYOUTS = _list(patterns.SHAPE_TEXT.replace(", ", ",").replace("(?!\\))|(?=\\))", "|(?=\\))"))
_ALGORITHM = (
    r"(?i:unset|dot_(?:any_f8_any_f8_f32(?:_fast_accum)?+|f16_f16_f16|f16_f16_f32|bf16_bf16_bf16|"
    r"bf16_bf16_(?:f32(?:_x[369])?+|fp8x[34])|tf32_tf32_f32(?:_x3)?+|f32_f32_f32|f64_f64_f64)|"
    r"rng_(?:default|three_fry|philox))"
)
_DOMAIN_PART = rf'(?:kind="sharding"|(?:entry|exit)={SHARDING})'
_NUMBER = rf"(?:{_FLOAT})"
_STATISTIC = r"[A-Za-z_][\w.\-]*+"
_ARRAY_ORIGIN = rf"\{{(?:{STRING}(?: ?{_INTS})?+)?+\}}"


def _origin(depth: int) -> str:
    """A tree of tuples whose leaves name where an array came from."""
    pattern = _ARRAY_ORIGIN
    for _ in range(depth):
        pattern = rf"(?:{_ARRAY_ORIGIN}|\((?:{pattern},?)*+\))"
    return pattern


_DEBUGGED = _list(
    rf"(?:log_mode={_words('default fusion_debugger')}|[a-z]++_id={_INT}|partitioned={_BOOL})", 1
)
_TOLERANCE = rf"(?:atol|rtol|ulps)={_NUMBER}"
_JSON = rf"(?:{STRING}|\{{.*\}})"
_METADATA = compile_pattern(_METADATA_LIST, re.S)
_UNNAMED_SHARDING = compile_pattern(_UNNAMED, re.S)
_SUBGROUPS = compile_pattern(r"last_tile_dims=\{[^{}]*+\}")
_SHARDING_WORD = compile_pattern(r"\b(?:replicated|manual|unknown|unreduced|maximal)\b")
_LISTED_DEVICES = compile_pattern(rf"devices={_DIMS}({_INT}(?:,{_INT})*+)")
_MESH_TEXT = rf"mesh\[((?:{STRING}|[^\]'\"])*+)\]"
_LISTED_MESH = compile_pattern(rf"{_MESH_TEXT},device_ids=\((\d[\d,]*+)\)")
_MESH_SIZE = compile_pattern(r"= ?(-?\d++)(?=,|\Z)")
_MESH_AXES = compile_pattern(_MESH_TEXT)
_FRONTEND_JSON = compile_pattern(
    rf"({patterns.KEY}(?:\s++|/\*.*?\*/)*+)(?:({STRING})|{_ANY_BRACES})", re.S
)
_FRONTEND_VALUE = compile_pattern(rf"[{{,]{patterns.KEY}({STRING}|{_ANY_BRACES})", re.S)
_PATTERNS: dict[str, str] = {
    **dict.fromkeys(
        "dynamic_slice_sizes offset_dims collapsed_slice_dims start_index_map "
        "operand_batching_dims start_indices_batching_dims update_window_dims "
        "inserted_window_dims scatter_dims_to_operand_dims input_batching_dims "
        "scatter_indices_batching_dims lhs_batch_dims lhs_contracting_dims rhs_batch_dims "
        "rhs_contracting_dims lhs_ragged_dims rhs_group_dims fft_length dimensions shifts".split(),
        _INTS,
    ),
    **dict.fromkeys(
        "iota_dimension index inferred_dimension k num_carries exponent_bits mantissa_bits "
        "index_vector_dim feature_group_count batch_group_count feature_index delta "
        "cross_program_prefetch_index channel_id".split(),
        _INT,
    ),
    **dict.fromkeys(
        "is_stable largest is_reverse is_associative indices_are_sorted unique_indices lower "
        "left_side unit_diagonal is_composite custom_call_has_side_effect constrain_layout "
        "use_global_device_ids has_dynamic_root is_host_transfer".split(),
        _BOOL,
    ),
    **dict.fromkeys(
        "custom_call_target infeed_config outfeed_config async_execution_thread "
        "execution_thread".split(),
        STRING,
    ),
    **dict.fromkeys(
        "condition body to_apply calls select scatter true_computation false_computation".split(),
        _NAME,
    ),
    "branch_computations": _list(_NAME),
    "called_computations": _list(_NAME),
    "control-predecessors": _list(_NAME, 1),
    "slice_sizes": rf"(?:{_INTS}|{_list(_INTS)})",
    "outfeed_shape": r"[a-z(].*[\])}]",
    "direction": _words("EQ NE GE GT LE LT"),
    "type": _words("FLOAT TOTALORDER SIGNED UNSIGNED"),
    "order": _words("TOTAL PARTIAL WEAK"),
    "slice": _list(rf"\[{_INT}:{_INT}(?::{_INT})?+\]"),
    "padding": _PADS,
    "window": rf"\{{(?:{_WINDOW_PART}(?: {_WINDOW_PART})*+)?+\}}",
    "dim_labels": r"[0-9bf?]{2,}+_[0-9io?]{2,}+->[0-9bf?]{2,}+",
    "operand_precision": _list(r"(?i:default|highest|high|packed_nibble)"),
    "algorithm": _ALGORITHM,
    **dict.fromkeys(("convolution_kind", "conv_kind"), _words("fprop wgrad dgrad unset")),
    "fft_type": _words("FFT IFFT RFFT IRFFT"),
    "transpose_a": _words("NO_TRANSPOSE TRANSPOSE ADJOINT TRANSPOSE_INVALID"),
    "epsilon": rf"(?!-?inf){_FLOAT}",
    "distribution": r"(?i:rng_uniform|rng_normal)",
    "kind": _words("kLoop kInput kOutput kCustom"),
    "output_to_operand_aliasing": _list(_ALIAS),
    "padding_type": _words("PADDING_VALID PADDING_SAME PADDING_INVALID"),
    "schedule": r"(?i:schedule_(?:latest|earliest|none))",
    "api_version": r"(?i:api_version_(?:original|typed_ffi|status_returning(?:_unified)?+))",
    "mode": _words("cross_replica cross_partition cross_replica_and_partition flattened_id rotate"),
    "sparsity_config": _sides(
        rf"(?:sparsity=\d++x\d++(?!x)|{_words('dimension stride idx')}={_INT})"
    ),
    "block_scaling_config": _sides(
        rf"(?:{_words('scale_idx zero_idx')}={_INT}|{_words('strides steps')}=-?{_DXD})"
    ),
    "replica_groups": rf"(?:{_list(_INTS)}|\[\d++,\d++\]<={_DIMS}(?:{_ORDER})?+|{_MESH} ?{_AXES})",
    "source_target_pairs": _list(rf"\{{{_INT},{_INT}\}}"),
    "domain": rf"\{{{_DOMAIN_PART}(?:[, ]?{_DOMAIN_PART}){{2}}\}}",
    "sharding": SHARDING,
    "parameter_replication": _list(_BOOL),
    "frontend_attributes": _list(rf"{patterns.KEY}(?:{STRING}|{_ANY_BRACES})"),
    "statistics": rf"\{{(?:{_STATISTIC}={_INT}(?:,{_STATISTIC}=(?!-?inf){_NUMBER})*+)?+\}}",
    "metadata": METADATA,
    "origin": rf"\{{(?:\[synthetic_call\]|(?:{_origin(12)}(?:,{_origin(12)})*+)?+)\}}",
    "backend_config": _JSON,
    "result_accuracy": rf"\{{(?:mode=(?i:default|highest)|tolerance={_list(_TOLERANCE)})\}}",
}
_HEADER_PATTERNS: dict[str, str] = {
    "is_scheduled": _BOOL,
    "alias_passthrough_params": _BOOL,
    "replica_count": _INT,
    "num_partitions": _INT,
    "allow_spmd_sharding_propagation_to_parameters": rf"(?:{_BOOL}|{_list(_BOOL)})",
    "allow_spmd_sharding_propagation_to_output": rf"(?:{_BOOL}|{_list(_BOOL)})",
    "input_output_alias": _list(rf"{_INDEX}:\(\d++,{_INDEX}(?:,(?:may|must)-alias)?+\)"),
    "buffer_donor": _list(rf"\(\d++,{_INDEX}\)"),
    "frontend_attributes": _PATTERNS["frontend_attributes"],
    "entry_computation_layout": r"\{\(.*\)->.*\}",
    "backend_config": _JSON,
    "origin_recovery_table": (
        rf'\{{(?:{_ARRAY_ORIGIN}:{_ARRAY_ORIGIN}(?:,(?!""){STRING})?+[ ,]*+)*+\}}'
    ),
    "debug_attributes": _list(rf"{_ARRAY_ORIGIN}:\((?:{_DEBUGGED}(?:,{_DEBUGGED})*+)?+\)"),
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
    return None if text is None else compile_pattern(text, re.S | re.ASCII)


def value_fault(key: str, text: str, *, in_header: bool = False) -> str | None:
    """Why a value is none that the attribute takes; None when it is one."""
    pattern = _pattern(key, in_header)
    if key == "backend_config" and text.startswith("{"):
        return None
    if key == "frontend_attributes" and text.startswith("{"):
        # Quotes and comments mean nothing in these.
        text = f"{{{_FRONTEND_JSON.sub(_without_json, text[1:-1])}}}"
    plain = squeezed(text)
    if pattern is not None and pattern.fullmatch(plain) is None:
        kind = _KINDS.get((_HEADER_PATTERNS if in_header else _PATTERNS)[key], "another value")
        return f"{key} takes {kind}"
    fault = _JUDGES[key](plain) if key in _JUDGES else None
    if fault is None and not all(map(_is_sound, _strings(key, plain))):
        fault = "a string has an unknown escape"
    return fault


def _without_json(found: re.Match[str]) -> str:
    return found[1] + (found[2] or "{}")


def _strings(key: str, text: str) -> list[str]:
    """The strings of a value that are read as such; those of JSON are not looked into."""
    if key == "metadata" or text[:1] in "\"'":
        return _STRING.findall(text)
    if key == "frontend_attributes":
        return [value for value in _FRONTEND_VALUE.findall(text) if value[0] in "\"'"]
    return []


def _is_sound(string: str) -> bool:
    return _SOUND_STRING.fullmatch(string[1:-1]) is not None


def _metadata_fault(text: str) -> str | None:
    plain = _STRING.sub("", text)
    keys = _KEY.findall(plain)
    if len(set(keys)) < len(keys):
        return "metadata has a key twice"
    is_small = all(-(1 << 31) <= int(number) < 1 << 31 for number in _NUMBER_TOLD.findall(plain))
    return None if is_small else "a number of metadata has 32 bits"


def _epsilon_fault(text: str) -> str | None:
    is_number = text.lstrip("-")[:1].isdigit() or text.startswith(("-.", "."))
    is_large = is_number and abs(float(text)) > _LARGEST_F32
    return "epsilon is a 32-bit number" if is_large else None


def _groups_fault(text: str) -> str | None:
    if not all(_is_order(*found) for found in _RESHAPED.findall(text)):
        return "an order of dimensions has one number for each of several dimensions"
    if not _fits_mesh(text):
        return "device_ids lists each device of the mesh"
    return None if _has_known_axes(text) else "an axis is not one of the mesh"


def _shardings_fault(text: str) -> str | None:
    faults = (_words_fault(_METADATA.sub("", one)) for one in _UNNAMED_SHARDING.findall(text))
    return _groups_fault(text) or next((fault for fault in faults if fault is not None), None)


def _words_fault(text: str) -> str | None:
    """Why the words between the braces of a sharding do not go together."""
    words = _SHARDING_WORD.findall(_SUBGROUPS.sub("", text))
    devices = text.count("device=") + sum(
        found.count(",") + 1 for found in _LISTED_DEVICES.findall(text)
    )
    if "replicated" in words:
        return "a replicated sharding has no devices" if devices else None
    if "maximal" in words:
        return None if devices == 1 or "device=" in text else "a maximal sharding has one device"
    if {"manual", "unknown", "unreduced"} & set(words):
        return "this sharding has no devices" if devices else None
    if "devices=" not in text:
        return "a sharding needs its kind or devices"
    if "<=" not in text and devices < 2:
        return "a tiled sharding has more than one device"
    return None


def _has_known_axes(text: str) -> bool:
    """Whether the axes that a mesh is used with are its own; a number may stand for one."""
    mesh = _MESH_AXES.search(text)
    if mesh is None or text.count("mesh[") > 1:
        return True
    known = {name[1:-1] for name in _STRING.findall(mesh[1])}
    used = _METADATA.sub("", text[mesh.end() :])
    return all(name[1:-1] in known or name[1:-1].isdigit() for name in _STRING.findall(used))


def _is_order(sizes: str, order: str) -> bool:
    """Whether `T(1,0)` fits `<=[2,4]`; one dimension alone has no order."""
    rank = sizes.count(",") + 1
    numbers = [int(number[:18]) for number in order.split(",")] if order else [0]
    return len(numbers) == rank and max(numbers) < rank and (rank > 1 or not order)


def _fits_mesh(text: str) -> bool:
    """Whether as many devices are listed as a mesh has."""
    return all(
        devices.count(",") + 1 == prod(int(size[:18]) for size in _MESH_SIZE.findall(axes))
        for axes, devices in _LISTED_MESH.findall(text)
    )


_JUDGES = {
    "epsilon": _epsilon_fault,
    "metadata": _metadata_fault,
    "replica_groups": _groups_fault,
    "sharding": _shardings_fault,
}


def is_header_key(key: str) -> bool:
    """Whether a module header has an attribute of that name."""
    return key in _HEADER_PATTERNS
