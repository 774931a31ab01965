"""Shapes as HLO prints them, typed on demand.

A `Shape` is made from its text alone and shared by equal text; its fields are worked out when
first asked for. It does not check that a layout fits the dimensions. Sizes are dense: no tiling,
no padding, since the text does not say how a backend stores an array.
"""

from __future__ import annotations

import re
from typing import Literal as OneOf
from typing import NamedTuple

from hlo_parser.possessive import compile_pattern

ShapeKind = OneOf["array", "tuple", "token", "opaque", "buffer", "unknown"]

_ARRAY = compile_pattern(
    r"\s*+(?P<type>[a-z][a-z0-9]*+)\s*+\[(?P<dims>[^\]]*+)\]\s*+(?:\{(?P<layout>.*)\})?\s*+", re.S
)
_LEAF = compile_pattern(r"(?P<type>[a-z][a-z0-9]*+)\s*+\[(?P<dims>[^\]]*+)\]")
_COMMENT = compile_pattern(r"/\*.*?\*/", re.S)
_MOST_BITS = 8 * (2**63 - 1)
_BITS = compile_pattern(r"[a-z]+(\d++)")
_MEMORY_SPACE = compile_pattern(r"S\((\d{1,9})\)")
_MINOR_TO_MAJOR = compile_pattern(r"\s*+\d++(?:\s*+,\s*+\d++)*+")
_PIECE = compile_pattern(r"[^(){}\[\],]++|[(){}\[\],]")
_LAYOUT = compile_pattern(r"\{[^{}]*+(?:\{[^{}]*+\}[^{}]*+)*+\}")


def element_bits(element_type: str) -> int:
    """Width of one element in bits; 0 for `token`, `opaque` and words without a width.

    Every type word but `pred` carries its width as its first number (`f8e4m3fn`, `s4`, `c64`),
    so types that newer releases add need no table (xla/primitive_util.h, `BitWidth`).
    """
    if element_type == "pred":
        return 8
    found = _BITS.match(element_type)
    return int(found.group(1)[:4]) if found else 0


class _Fields(NamedTuple):
    kind: ShapeKind
    element_type: str
    dimensions: tuple[int, ...]
    is_dynamic: bool
    minor_to_major: tuple[int, ...] | None
    layout_text: str
    memory_space: int
    elements: tuple[Shape, ...]


class Shape:
    """The shape of a value, from its printed text."""

    __slots__ = ("_byte_size", "_fields", "_without_layout", "text")

    text: str
    """As printed, with layout and comments."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._fields: _Fields | None = None
        self._byte_size: int | None = None
        self._without_layout: str | None = None

    def __repr__(self) -> str:
        return f"Shape({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def _typed(self) -> _Fields:
        fields = self._fields
        if fields is None:
            fields = self._fields = _fields_of(self.text)
        return fields

    @property
    def kind(self) -> ShapeKind:
        """Array, tuple, token, opaque, or buffer (`b(f32[4])`, since May 2025).

        Unknown where the text prints no shape and it does not follow from the operands.
        """
        return self._typed().kind

    @property
    def element_type(self) -> str:
        """The type word (`f32`, `bf16`, `pred`); empty for tuples and buffers."""
        return self._typed().element_type

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Sizes, major first; a bounded dimension `<=N` gives N, an unbounded `?` gives -1."""
        return self._typed().dimensions

    @property
    def is_dynamic(self) -> bool:
        """Whether a dimension, here or in an element, is bounded or unbounded."""
        return self._typed().is_dynamic

    @property
    def minor_to_major(self) -> tuple[int, ...] | None:
        """Dimension numbers from minor to major; None when the text prints no layout."""
        return self._typed().minor_to_major

    @property
    def layout_text(self) -> str:
        """What stands between the braces of the layout, empty without one."""
        return self._typed().layout_text

    @property
    def memory_space(self) -> int:
        """The number in `S(n)`, 0 when not printed (the default memory)."""
        return self._typed().memory_space

    @property
    def elements(self) -> tuple[Shape, ...]:
        """Element shapes of a tuple, the one inner shape of a buffer, else empty."""
        return self._typed().elements

    @property
    def byte_size(self) -> int:
        """Dense bytes: the sum over all leaves, each rounded up to whole bytes.

        Tokens and opaques count 0; so does an array with an unbounded dimension, whose size
        the text does not tell. No array counts more than XLA can hold, 2**63 - 1 bytes.
        """
        size = self._byte_size
        if size is None:
            size = self._byte_size = sum(
                _leaf_bytes(leaf["type"], leaf["dims"]) for leaf in _LEAF.finditer(self.text)
            )
        return size

    @property
    def without_layout(self) -> str:
        """Element types and dimensions only, without layouts and comments."""
        found = self._without_layout
        if found is None:
            found = self._without_layout = _LAYOUT.sub("", _COMMENT.sub("", self.text))
        return found


def _leaf_bytes(element_type: str, dimensions_text: str) -> int:
    bits = element_bits(element_type)
    for size in _dimensions(dimensions_text)[0]:
        bits = min(bits * max(size, 0), _MOST_BITS)
    return (bits + 7) // 8


def _dimensions(text: str) -> tuple[tuple[int, ...], bool]:
    """The sizes in `2,<=8,?` and whether one of them is dynamic."""
    sizes: list[int] = []
    is_dynamic = False
    for piece in _COMMENT.sub("", text).split(","):
        word = piece.strip()
        if not word:
            continue
        if word.startswith("<="):
            is_dynamic = True
            word = word[2:].strip()
        if word.isascii() and word.isdigit() and len(word) <= 19:
            sizes.append(int(word))
        else:
            is_dynamic = True
            sizes.append(-1)
    return tuple(sizes), is_dynamic


def _fields_of(text: str) -> _Fields:
    array = _ARRAY.fullmatch(text)
    if array is not None:
        return _array_fields(array["type"], array["dims"], array["layout"])
    stripped = text.strip()
    if not stripped:
        return _Fields("unknown", "", (), False, None, "", 0, ())
    is_buffer = stripped.startswith("b(")
    elements = tuple(
        Shape(piece) for piece in _split_elements(stripped[2 if is_buffer else 1 : -1])
    )
    return _Fields(
        kind="buffer" if is_buffer else "tuple",
        element_type="",
        dimensions=(),
        is_dynamic=any(_dimensions(leaf["dims"])[1] for leaf in _LEAF.finditer(text)),
        minor_to_major=None,
        layout_text="",
        memory_space=0,
        elements=elements,
    )


def _array_fields(element_type: str, dimensions_text: str, layout: str | None) -> _Fields:
    dimensions, is_dynamic = _dimensions(dimensions_text)
    minor_to_major: tuple[int, ...] | None = None
    memory_space = 0
    if layout is not None:
        order = _MINOR_TO_MAJOR.match(layout)
        minor_to_major = tuple(map(_capped, order.group().split(","))) if order else ()
        space = _MEMORY_SPACE.search(layout)
        memory_space = _capped(space.group(1)) if space else 0
    kind: ShapeKind = "array"
    if element_type == "token":
        kind = "token"
    elif element_type == "opaque":
        kind = "opaque"
    return _Fields(
        kind=kind,
        element_type=element_type,
        dimensions=dimensions,
        is_dynamic=is_dynamic,
        minor_to_major=minor_to_major,
        layout_text=layout or "",
        memory_space=memory_space,
        elements=(),
    )


def _capped(digits: str) -> int:
    """The number, or -1 where no 64-bit integer can hold it, which XLA refuses to read."""
    return int(digits) if len(digits.strip()) <= 19 else -1


def _split_elements(text: str) -> list[str]:
    """Cut `f32[2]{0}, (s32[], pred[])` at the commas outside of all brackets."""
    pieces: list[str] = []
    current: list[str] = []
    depth = 0
    for piece in _PIECE.findall(_COMMENT.sub("", text)):
        if piece in "([{":
            depth += 1
        elif piece in ")]}":
            depth -= 1
        elif piece == "," and depth == 0:
            pieces.append("".join(current).strip())
            current.clear()
            continue
        current.append(piece)
    last = "".join(current).strip()
    if last:
        pieces.append(last)
    return pieces
