"""The values of constants as XLA prints them on one line.

Given a decoded literal, gives the text between the parentheses of `constant(...)`. XLA's dumps
print arrays of at most ten elements and elide larger ones and all tuples
(xla/hlo/ir/hlo_instructions.cc, HloConstantInstruction); so does this, and never looks at large
data.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

from hlo_parser.proto.schema import LiteralProto, ShapeProto
from hlo_parser.proto.shape_text import TUPLE, TYPE_WORDS, shape_text

ELIDED = "{...}"
_MAX_ELEMENTS = 10
_MAX_TYPED_ELEMENTS = 10_000
_MAX_RANK = 100
_SHOWN_RANK = 3


class _Float(NamedTuple):
    """How a floating-point type lays out its bits, from the highest: sign, exponent, mantissa."""

    exponent_bits: int
    mantissa_bits: int
    bias: int
    digits: int
    """That tell any two values apart (`max_digits10`)."""
    nan: str
    """`ieee`: the highest exponent holds infinities and NaNs; `ones`: all bits set, and no
    infinity; `negative_zero`: the bits of -0, and no infinity; `none`."""
    has_sign: bool = True


_FLOATS = {
    "f16": _Float(5, 10, 15, 5, "ieee"),
    "bf16": _Float(8, 7, 127, 4, "ieee"),
    "f32": _Float(8, 23, 127, 9, "ieee"),
    "f64": _Float(11, 52, 1023, 17, "ieee"),
    "f8e5m2": _Float(5, 2, 15, 2, "ieee"),
    "f8e4m3": _Float(4, 3, 7, 3, "ieee"),
    "f8e3m4": _Float(3, 4, 3, 3, "ieee"),
    "f8e4m3fn": _Float(4, 3, 7, 3, "ones"),
    "f8e4m3b11fnuz": _Float(4, 3, 11, 3, "negative_zero"),
    "f8e4m3fnuz": _Float(4, 3, 8, 3, "negative_zero"),
    "f8e5m2fnuz": _Float(5, 2, 16, 2, "negative_zero"),
    "f8e8m0fnu": _Float(8, 0, 127, 2, "ones", has_sign=False),
    "f6e3m2fn": _Float(3, 2, 3, 2, "none"),
    "f6e2m3fn": _Float(2, 3, 1, 3, "none"),
    "f4e2m1fn": _Float(2, 1, 1, 2, "none"),
}
# What fewer digits suffice for is printed with these (xla/util.cc, RoundTripFpToString).
_SHORT_DIGITS = {"f32": 6, "f64": 15}
_UNPACK = {"f32": ("<f", 4), "f64": ("<d", 8)}


def float_text(bits: int, word: str) -> str:
    """A value of a floating-point type, given as its bits."""
    kind = _FLOATS[word]
    sign = bits >> (kind.exponent_bits + kind.mantissa_bits) if kind.has_sign else 0
    exponent = bits >> kind.mantissa_bits & (1 << kind.exponent_bits) - 1
    mantissa = bits & (1 << kind.mantissa_bits) - 1
    minus = "-" if sign else ""
    special = _special(kind, sign, exponent, mantissa)
    if special:
        return minus + special
    if word in _UNPACK:
        code, size = _UNPACK[word]
        value = struct.unpack(code, bits.to_bytes(size, "little"))[0]
        short = f"{value:.{_SHORT_DIGITS[word]}g}"
        return short if _reads_back(short, value, code) else f"{value:.{kind.digits}g}"
    return minus + f"{_small_value(kind, exponent, mantissa):.{kind.digits}g}"


def _reads_back(text: str, value: float, code: str) -> bool:
    try:
        return struct.unpack(code, struct.pack(code, float(text)))[0] == value
    except OverflowError:
        return False


def _special(kind: _Float, sign: int, exponent: int, mantissa: int) -> str:
    """Infinity or NaN without its sign; empty for numbers."""
    if kind.nan == "none":
        return ""
    if kind.nan == "negative_zero":
        return "nan" if sign and not exponent and not mantissa else ""
    if exponent != (1 << kind.exponent_bits) - 1:
        return ""
    if kind.nan == "ones":
        return "nan" if mantissa == (1 << kind.mantissa_bits) - 1 else ""
    if not mantissa:
        return "inf"
    quiet = 1 << (kind.mantissa_bits - 1)
    return "nan" if mantissa == quiet else f"nan({mantissa:#x})"


def _small_value(kind: _Float, exponent: int, mantissa: int) -> float:
    if exponent == 0 and kind.has_sign:
        return mantissa * 2.0 ** (1 - kind.bias - kind.mantissa_bits)
    one = 1 << kind.mantissa_bits
    return (one + mantissa) * 2.0 ** (exponent - kind.bias - kind.mantissa_bits)


def _integers(data: bytes, size: int, *, signed: bool) -> list[int]:
    return [
        int.from_bytes(data[start : start + size], "little", signed=signed)
        for start in range(0, len(data) - size + 1, size)
    ]


def _narrow(data: bytes, bits: int) -> list[int]:
    """Signed integers of fewer than eight bits, one in the low bits of each byte."""
    half = 1 << (bits - 1)
    return [((byte & (2 * half - 1)) ^ half) - half for byte in data]


def _floats(data: bytes, word: str) -> list[str]:
    kind = _FLOATS[word]
    size = (kind.has_sign + kind.exponent_bits + kind.mantissa_bits + 7) // 8
    return [float_text(bits, word) for bits in _integers(data, size, signed=False)]


def _complexes(data: bytes, word: str) -> list[str]:
    parts = _floats(data, word)
    return [
        f"({real}, {imaginary})" for real, imaginary in zip(parts[::2], parts[1::2], strict=False)
    ]


def _words(numbers: Sequence[int]) -> list[str]:
    return [str(int(number)) for number in numbers]


_ELEMENTS: dict[str, Callable[[LiteralProto], list[str]]] = {
    "pred": lambda literal: _words(literal.preds),
    "s1": lambda literal: _words(_narrow(literal.s1s, 1)),
    "s2": lambda literal: _words(_narrow(literal.s2s, 2)),
    "s4": lambda literal: _words(_narrow(literal.s4s, 4)),
    "s8": lambda literal: _words(_integers(literal.s8s, 1, signed=True)),
    "s16": lambda literal: _words(_integers(literal.s16s, 2, signed=True)),
    "s32": lambda literal: _words(literal.s32s),
    "s64": lambda literal: _words(literal.s64s),
    "u1": lambda literal: _words([byte & 1 for byte in literal.u1s]),
    "u2": lambda literal: _words([byte & 3 for byte in literal.u2s]),
    "u4": lambda literal: _words([byte & 15 for byte in literal.u4s]),
    "u8": lambda literal: _words(_integers(literal.u8s, 1, signed=False)),
    "u16": lambda literal: _words(_integers(literal.u16s, 2, signed=False)),
    "u32": lambda literal: _words(literal.u32s),
    "u64": lambda literal: _words(literal.u64s),
    "f16": lambda literal: _floats(literal.f16s, "f16"),
    "bf16": lambda literal: _floats(literal.bf16s, "bf16"),
    "f32": lambda literal: _floats(literal.f32s, "f32"),
    "f64": lambda literal: _floats(literal.f64s, "f64"),
    "c64": lambda literal: _complexes(literal.c64s, "f32"),
    "c128": lambda literal: _complexes(literal.c128s, "f64"),
    "f8e5m2": lambda literal: _floats(literal.f8e5m2s, "f8e5m2"),
    "f8e4m3": lambda literal: _floats(literal.f8e4m3s, "f8e4m3"),
    "f8e3m4": lambda literal: _floats(literal.f8e3m4s, "f8e3m4"),
    "f8e4m3fn": lambda literal: _floats(literal.f8e4m3fns, "f8e4m3fn"),
    "f8e4m3b11fnuz": lambda literal: _floats(literal.f8e4m3b11fnuzs, "f8e4m3b11fnuz"),
    "f8e4m3fnuz": lambda literal: _floats(literal.f8e4m3fnuzs, "f8e4m3fnuz"),
    "f8e5m2fnuz": lambda literal: _floats(literal.f8e5m2fnuzs, "f8e5m2fnuz"),
    "f8e8m0fnu": lambda literal: _floats(literal.f8e8m0fnus, "f8e8m0fnu"),
    "f6e3m2fn": lambda literal: _floats(literal.f6e3m2fns, "f6e3m2fn"),
    "f6e2m3fn": lambda literal: _floats(literal.f6e2m3fns, "f6e2m3fn"),
    "f4e2m1fn": lambda literal: _floats(literal.f4e2m1fns, "f4e2m1fn"),
}


def typed_literal_text(literal: LiteralProto, notes: list[str]) -> str:
    """The value of `literal=` of a custom-call, which tells its shape and elides nothing."""
    shape = literal.shape
    if shape.element_type == TUPLE:
        parts = ", ".join(typed_literal_text(part, notes) for part in literal.tuple_literals)
        return f"( {parts} )" if parts else "()"
    return f"{shape_text(shape, notes)} {literal_text(literal, notes, most=_MAX_TYPED_ELEMENTS)}"


def literal_text(literal: LiteralProto, notes: list[str], *, most: int = _MAX_ELEMENTS) -> str:
    """What stands in `constant(...)`."""
    shape = literal.shape
    word = TYPE_WORDS.get(shape.element_type, "")
    if word not in _ELEMENTS or len(shape.dimensions) > _MAX_RANK:
        return "token" if word == "token" else ELIDED
    count = prod(max(size, 0) for size in shape.dimensions)
    if count > most or _braces(shape.dimensions) > most:
        return ELIDED
    elements = _ELEMENTS[word](literal)
    order = _logical_order(shape) if count else []
    if len(elements) < count or order is None:
        notes.append("the literal does not fit its shape")
        return ELIDED
    if not shape.dimensions:
        return {"0": "false", "1": "true"}[elements[0]] if word == "pred" else elements[0]
    return _nested(shape.dimensions, [elements[index] for index in order])


def _braces(dimensions: Sequence[int]) -> int:
    """How many innermost braces an array prints, even when it holds nothing."""
    count = 1
    for size in dimensions:
        if size <= 0:
            break
        count *= size
    return count


def _logical_order(shape: ShapeProto) -> list[int] | None:
    """Where each element, major first, stands in the data; None for an impossible layout."""
    rank = len(shape.dimensions)
    minor_to_major = list(shape.layout.minor_to_major) or list(range(rank))[::-1]
    if sorted(minor_to_major) != list(range(rank)):
        return None
    strides = [1] * rank
    stride = 1
    for dimension in minor_to_major:
        strides[dimension] = stride
        stride *= shape.dimensions[dimension]
    order = [0]
    for size, stride in zip(shape.dimensions, strides, strict=True):
        order = [base + step * stride for base in order for step in range(size)]
    return order


def _nested(dimensions: Sequence[int], elements: list[str]) -> str:
    """Braces as xla/literal.cc, DenseArrayPrintHelper, sets them on one line."""
    rank = len(dimensions)
    remaining = iter(elements)

    def printed(depth: int, index: int) -> str:
        size = max(dimensions[depth], 0)
        if depth == rank - 1:
            inner = ", ".join(next(remaining) for _ in range(size))
            return f"{{{inner}}}" if rank == 1 or size <= 1 else f"{{ {inner} }}"
        inner = ", ".join(printed(depth + 1, step) for step in range(size))
        comment = f"/*i{depth - 1}={index}*/ " if rank > _SHOWN_RANK and depth else ""
        return f"{{ {comment}{inner} }}"

    return printed(0, 0)
