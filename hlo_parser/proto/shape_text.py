"""Shapes, layouts and program shapes as XLA prints them.

Given decoded messages, gives their text. What a number means that no release up to 0.10.2 knows
is added to `notes` and printed as a word that is none of XLA's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hlo_parser.proto.schema import LayoutProto, ProgramShapeProto, ShapeProto

# xla/xla_data.proto, PrimitiveType; the words of xla/primitive_util.h.
TYPE_WORDS = {
    1: "pred",
    2: "s8",
    3: "s16",
    4: "s32",
    5: "s64",
    6: "u8",
    7: "u16",
    8: "u32",
    9: "u64",
    10: "f16",
    11: "f32",
    12: "f64",
    14: "opaque",
    15: "c64",
    16: "bf16",
    17: "token",
    18: "c128",
    19: "f8e5m2",
    20: "f8e4m3fn",
    21: "s4",
    22: "u4",
    23: "f8e4m3b11fnuz",
    24: "f8e5m2fnuz",
    25: "f8e4m3fnuz",
    26: "s2",
    27: "u2",
    28: "f8e4m3",
    29: "f8e3m4",
    30: "s1",
    31: "u1",
    32: "f4e2m1fn",
    33: "f8e8m0fnu",
    35: "f6e3m2fn",
    36: "f6e2m3fn",
}
TUPLE, BUFFER = 13, 34
UNKNOWN_TYPE = "unknown"

_UNBOUNDED = -(1 << 63)
_COMBINE = -(1 << 63)
_LEVEL_LETTERS = {0: "D", 1: "C", 2: "S", 3: "H"}
INDEX_INTERVAL = 5
"""Before each fifth element of a list XLA prints its index as a comment (HloPrintOptions)."""


def with_indices(texts: Iterable[str]) -> str:
    """Elements after commas, each fifth after its index."""
    return ", ".join(
        f"/*index={index}*/{text}" if index and index % INDEX_INTERVAL == 0 else text
        for index, text in enumerate(texts)
    )


def int_list(numbers: Iterable[int]) -> str:
    """`1,0`."""
    return ",".join(map(str, numbers))


def braced(numbers: Iterable[int]) -> str:
    """`{1,0}`."""
    return f"{{{','.join(map(str, numbers))}}}"


def type_word(element_type: int, notes: list[str]) -> str:
    """The word of a primitive type that is not a tuple."""
    word = TYPE_WORDS.get(element_type)
    if word is None:
        notes.append(f"element type {element_type} is not known")
        return UNKNOWN_TYPE
    return word


def shape_text(shape: ShapeProto, notes: list[str], *, with_layout: bool = True) -> str:
    """A shape as `Shape::ToString(print_layout)` has it (xla/shape_util.cc, HumanString)."""
    if shape.element_type == TUPLE:
        elements = [shape_text(e, notes, with_layout=with_layout) for e in shape.tuple_shapes]
        return f"({with_indices(elements)})"
    if shape.element_type == BUFFER:
        inner = (shape_text(e, notes, with_layout=with_layout) for e in shape.tuple_shapes)
        return f"b({', '.join(inner)})"
    word = type_word(shape.element_type, notes)
    text = f"{word}[{_dimensions(shape.dimensions, shape.is_dynamic_dimension)}]"
    if with_layout and shape.HasField("layout") and word not in {"token", "opaque"}:
        layout = layout_text(shape.layout, notes)
        # A scalar prints no empty layout.
        if shape.dimensions or layout != "{}":
            text += layout
    return text


def _dimensions(sizes: Sequence[int], dynamic: Sequence[bool]) -> str:
    if not any(dynamic):
        return int_list(sizes)
    marks = [*dynamic, *[False] * (len(sizes) - len(dynamic))]
    words = [
        "?" if size == _UNBOUNDED else f"<={size}" if is_dynamic else str(size)
        for size, is_dynamic in zip(sizes, marks, strict=False)
    ]
    return ",".join(words)


def layout_text(layout: LayoutProto, notes: list[str]) -> str:
    """A layout with its braces (xla/layout.cc, Layout::Print)."""
    text = "{" + int_list(layout.minor_to_major)
    parts = "".join(part(layout, notes) for part in _LAYOUT_PARTS)
    return f"{text}:{parts}}}" if parts else f"{text}}}"


def _levels(layout: LayoutProto, _notes: list[str]) -> str:
    """Dimension levels, printed until May 2025 and only where one is not dense."""
    levels, unique, ordered = layout.dim_level_types, layout.dim_unique, layout.dim_ordered
    if not any(levels):
        return ""
    words: list[str] = []
    for index, level in enumerate(levels):
        word = _LEVEL_LETTERS.get(level, "?")
        word += "+" if index < len(unique) and not unique[index] else ""
        word += "~" if index < len(ordered) and not ordered[index] else ""
        words.append(word)
    return f"D({','.join(words)})"


def _tiles(layout: LayoutProto, _notes: list[str]) -> str:
    if not layout.tiles:
        return ""
    tiles = (
        ",".join("*" if size == _COMBINE else str(size) for size in tile.dimensions)
        for tile in layout.tiles
    )
    return "T" + "".join(f"({tile})" for tile in tiles)


def _tail(layout: LayoutProto, _notes: list[str]) -> str:
    alignment = layout.tail_padding_alignment_in_elements
    return f"L({alignment})" if alignment not in {0, 1} else ""


def _index_type(layout: LayoutProto, notes: list[str]) -> str:
    kind = layout.index_primitive_type
    return f"#({type_word(kind, notes)})" if kind else ""


def _pointer_type(layout: LayoutProto, notes: list[str]) -> str:
    kind = layout.pointer_primitive_type
    return f"*({type_word(kind, notes)})" if kind else ""


def _element_size(layout: LayoutProto, _notes: list[str]) -> str:
    size = layout.element_size_in_bits
    return f"E({size})" if size else ""


def _memory_space(layout: LayoutProto, _notes: list[str]) -> str:
    return f"S({layout.memory_space})" if layout.memory_space else ""


def _splits(layout: LayoutProto, _notes: list[str]) -> str:
    if not layout.split_configs:
        return ""
    splits = (
        f"({split.dimension}:{int_list(split.split_indices)})" for split in layout.split_configs
    )
    return "SC" + "".join(splits)


def _physical_shape(layout: LayoutProto, notes: list[str]) -> str:
    if not layout.HasField("physical_shape"):
        return ""
    return f"P({shape_text(layout.physical_shape, notes)})"


def _prefix_bytes(layout: LayoutProto, _notes: list[str]) -> str:
    size = layout.dynamic_shape_metadata_prefix_bytes
    return f"M({size})" if size else ""


_LAYOUT_PARTS: tuple[Callable[[LayoutProto, list[str]], str], ...] = (
    _levels,
    _tiles,
    _tail,
    _index_type,
    _pointer_type,
    _element_size,
    _memory_space,
    _splits,
    _physical_shape,
    _prefix_bytes,
)


def program_layout_text(program: ProgramShapeProto, notes: list[str]) -> str:
    """`{(shape, ...)->shape}` of the header (xla/service/computation_layout.cc)."""
    parameters = with_indices(shape_text(shape, notes) for shape in program.parameters)
    return f"{{({parameters})->{shape_text(program.result, notes)}}}"
