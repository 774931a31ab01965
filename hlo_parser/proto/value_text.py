"""Attribute values that are messages of their own: metadata, configurations, windows, origins.

Given decoded messages, gives the text XLA prints.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from hlo_parser.possessive import compile_pattern
from hlo_parser.proto.budget import Payloads
from hlo_parser.proto.schema import (
    ConvolutionDimensionNumbers,
    MapEntry,
    OpMetadata,
    OriginalValueElementProto,
    OutputOperandAliasing,
    PaddingConfig,
    Payload,
    TensorSparsityConfig,
    Window,
    WindowDimension,
)
from hlo_parser.proto.shape_text import braced
from hlo_parser.values import escape

_KEY = compile_pattern(r"[A-Za-z_][\w.\-]*+", re.ASCII)
_JSON_PIECE = compile_pattern(rb'[^{}"]++|"(?:[^"\\]++|\\.)*+"|[{}]', re.S)
_is_printable = compile_pattern(rb"[ !#-\[\]-~]*+").fullmatch


def quoted(raw: bytes) -> str:
    """A string with quotes, escaped as XLA does."""
    return f'"{escape(raw)}"'


def is_json_dict(raw: bytes) -> bool:
    """Whether a value is printed without quotes: braces that close, on one line.

    XLA's lexer looks at braces and strings only (hlo_lexer.cc, LexesAsJsonDict). It takes line
    breaks too; such a value keeps its quotes here, so that an instruction stays on one line.
    """
    if not raw.startswith(b"{") or not raw.isascii() or b"\n" in raw or b"\r" in raw:
        return False
    depth = position = 0
    while match := _JSON_PIECE.match(raw, position):
        position = match.end()
        piece = match.group()
        if piece == b"{":
            depth += 1
        elif piece == b"}":
            depth -= 1
            if depth == 0:
                return position == len(raw)
    return False


def config_text(raw: bytes) -> str:
    """The value of `backend_config`, or of one frontend attribute."""
    return raw.decode("ascii") if is_json_dict(raw) else quoted(raw)


def frontend_attributes_text(entries: Sequence[MapEntry], notes: list[str]) -> str:
    """`{key="value",...}` sorted by key, as XLA keeps them; empty when there are none."""
    pairs: dict[str, str] = {}
    for entry in entries:
        key = entry.key.decode("utf-8", errors="backslashreplace")
        if _KEY.fullmatch(key) is None:
            notes.append(f"a frontend attribute is called {key[:60]!r}")
            key = re.sub(r"[^\w.\-]", "_", key, flags=re.ASCII) or "_"
        pairs[key] = config_text(entry.value)
    return f"{{{','.join(f'{key}={pairs[key]}' for key in sorted(pairs))}}}" if pairs else ""


# ---- metadata ------------------------------------------------------------------------------------


def metadata_text(metadata: OpMetadata, payloads: Payloads, notes: list[str]) -> str:
    """What stands in `metadata={...}` (hlo_instruction.cc, OpMetadataToString).

    Empty where XLA prints none: when no main field is set.
    """
    payload = ""
    if metadata.HasField("metadata_payload"):
        payload = quoted(payload_bytes(metadata.metadata_payload, payloads, notes))
    if not (payload or _has_main_field(metadata)):
        return ""
    parts = {
        "op_type": metadata.op_type and quoted(metadata.op_type),
        "op_name": metadata.op_name and quoted(metadata.op_name),
        "source_file": metadata.source_file and quoted(metadata.source_file),
        "source_line": metadata.source_line,
        "source_end_line": metadata.source_end_line,
        "source_column": metadata.source_column,
        "source_end_column": metadata.source_end_column,
        "profile_type": metadata.profile_type and braced(metadata.profile_type),
        "deduplicated_name": metadata.deduplicated_name and quoted(metadata.deduplicated_name),
        "scheduling_name": metadata.scheduling_name and _unescaped(metadata.scheduling_name),
        "stack_frame_id": metadata.stack_frame_id,
        "metadata_payload": payload,
    }
    return " ".join(f"{key}={value}" for key, value in parts.items() if value)


def _has_main_field(metadata: OpMetadata) -> bool:
    return bool(
        metadata.op_type
        or metadata.op_name
        or metadata.source_file
        or metadata.scheduling_name
        or metadata.stack_frame_id
    )


def _unescaped(raw: bytes) -> str:
    """The one string that XLA prints as it is; escaped all the same where it would break out."""
    return f'"{raw.decode("ascii")}"' if _is_printable(raw) else quoted(raw)


def payload_bytes(payload: Payload, payloads: Payloads, notes: list[str]) -> bytes:
    """A string that stands here or in the module's table."""
    if not payload.HasField("id"):
        return payload.value
    found = payloads.get(payload.id)
    if found is None:
        notes.append(f"payload {payload.id} is missing")
        return b""
    return found


# ---- windows, convolutions, padding --------------------------------------------------------------


def window_text(window: Window) -> str:
    """`{size=3x3 stride=2x2 ...}`, parts that say nothing left out; empty without dimensions."""
    dimensions = window.dimensions
    if not dimensions:
        return ""

    def joined(part: Callable[[WindowDimension], object]) -> str:
        return "x".join(str(part(dimension)) for dimension in dimensions)

    text = f"size={joined(lambda d: d.size)}"
    if any(d.stride != 1 for d in dimensions):
        text += f" stride={joined(lambda d: d.stride)}"
    if any(d.padding_low or d.padding_high for d in dimensions):
        text += f" pad={joined(lambda d: f'{d.padding_low}_{d.padding_high}')}"
    if any(d.base_dilation != 1 for d in dimensions):
        text += f" lhs_dilate={joined(lambda d: d.base_dilation)}"
    if any(d.window_dilation != 1 for d in dimensions):
        text += f" rhs_dilate={joined(lambda d: d.window_dilation)}"
    if any(d.window_reversal for d in dimensions):
        text += f" rhs_reversal={joined(lambda d: int(d.window_reversal))}"
    return f"{{{text}}}"


def padding_text(padding: PaddingConfig) -> str:
    """`0_0_0x1_-1_2`; without interior padding anywhere, two numbers each."""
    dimensions = padding.dimensions
    has_interior = any(dimension.interior_padding for dimension in dimensions)
    return "x".join(
        f"{dimension.edge_padding_low}_{dimension.edge_padding_high}"
        + (f"_{dimension.interior_padding}" if has_interior else "")
        for dimension in dimensions
    )


def dimension_labels_text(numbers: ConvolutionDimensionNumbers, notes: list[str]) -> str:
    """`b01f_01io->b01f` (hlo_instruction.cc, ConvolutionDimensionNumbersToString)."""
    lhs = {numbers.input_batch_dimension: "b", numbers.input_feature_dimension: "f"}
    rhs = {
        numbers.kernel_input_feature_dimension: "i",
        numbers.kernel_output_feature_dimension: "o",
    }
    out = {numbers.output_batch_dimension: "b", numbers.output_feature_dimension: "f"}
    for labels, spatial in (
        (lhs, numbers.input_spatial_dimensions),
        (rhs, numbers.kernel_spatial_dimensions),
        (out, numbers.output_spatial_dimensions),
    ):
        labels.update({dimension: str(index) for index, dimension in enumerate(spatial)})
    texts: list[str] = []
    for labels in (lhs, rhs, out):
        highest = max(labels)
        if min(labels) < 0 or highest > len(labels) + _MAX_UNUSED_DIMENSIONS:
            notes.append("the dimension numbers of a convolution are out of range")
            return "unknown"
        texts.append("".join(labels.get(index, "?") for index in range(highest + 1)))
    return f"{texts[0]}_{texts[1]}->{texts[2]}"


_MAX_UNUSED_DIMENSIONS = 32


def sparsity_text(config: TensorSparsityConfig) -> str:
    """One side of `sparsity_config` (since March 2026)."""
    return (
        f"{{sparsity={config.num_non_zero}x{config.block_size}"
        f" dimension={config.dimension} stride={config.stride}}}"
    )


def aliasing_text(aliases: Sequence[OutputOperandAliasing]) -> str:
    """`{{}: (0, {}), {1}: (2, {0,1})}`."""
    entries = (
        f"{braced(alias.output_shape_index)}:"
        f" ({alias.operand_index}, {braced(alias.operand_shape_index)})"
        for alias in aliases
    )
    return f"{{{', '.join(entries)}}}"


# ---- origins -------------------------------------------------------------------------------------

_OriginTree = dict[int, "_OriginTree"] | str
_MAX_DEPTH = 100
"""Of tuples; protobuf decodes no shape that nests deeper."""


def origin_text(elements: Sequence[OriginalValueElementProto], notes: list[str]) -> str:
    """The tree in `origin={...}` (hlo_original_value.cc), built from its leaves."""
    if len(elements) == 1 and not elements[0].shape_index:
        return _origin_leaf(elements[0])
    root: dict[int, _OriginTree] = {}
    for element in elements:
        if not _add_leaf(root, element.shape_index, _origin_leaf(element)):
            notes.append("the tree of an origin contradicts itself or is too deep")
            return "{}"
    return _origin_tree(root)


def _add_leaf(root: dict[int, _OriginTree], path: Sequence[int], leaf: str) -> bool:
    """Whether a leaf finds its place: no leaf above, below or at it, and not too deep."""
    if not 0 < len(path) <= _MAX_DEPTH:
        return False
    node = root
    for index in path[:-1]:
        below = node.setdefault(index, {})
        if isinstance(below, str):
            return False
        node = below
    return node.setdefault(path[-1], leaf) is leaf


def _origin_leaf(element: OriginalValueElementProto) -> str:
    if not element.HasField("original_array"):
        return "{}"
    array = element.original_array
    index = f" {braced(array.shape_index)}" if array.shape_index else ""
    return f"{{{quoted(array.instruction_name)}{index}}}"


def _origin_tree(tree: _OriginTree) -> str:
    if isinstance(tree, str):
        return tree
    return f"({', '.join(_origin_tree(tree[index]) for index in sorted(tree))})"
