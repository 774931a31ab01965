"""Whether shapes and literals are sound: types, ranks, layouts, counts and ranges of elements.

Given text and typed shapes, gives why one is not sound, or None. After hlo_parser.cc
(ParseShape, ParseLayout, ParseLiteral); which order of dimensions a layout has is not judged.
"""

from __future__ import annotations

import re
from math import inf, nextafter
from typing import TYPE_CHECKING, Final, NamedTuple

from hlo_parser.possessive import compile_pattern
from hlo_parser.value_forms import squeezed

if TYPE_CHECKING:
    from hlo_parser.shapes import Shape

TYPE_WORDS: Final = frozenset(
    (
        "pred s1 s2 s4 s8 s16 s32 s64 u1 u2 u4 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128 f8e5m2 "
        "f8e4m3 f8e4m3fn f8e4m3b11fnuz f8e3m4 f8e5m2fnuz f8e4m3fnuz f4e2m1fn f8e8m0fnu "
        "f6e3m2fn f6e2m3fn token opaque"
    ).split()
)
"""Element types of all releases so far (xla_data.proto, PrimitiveType)."""

_LEAF = compile_pattern(
    r"([a-z][a-z0-9]*+)\[([^\]]*+)\](\{(?:[^{}()]++|\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\))*+\})?+"
)
_TUPLE_OF_LEAVES = compile_pattern(r"b\(@\)|\((?:@(?:,@)*+)?+\)")
_MAX_DEPTH = 1_000
_SPARSE = compile_pattern(r"[CSH]")
_SIZE = compile_pattern(r"(?:<=)?+\d{1,19}|\?")
_LAYOUT = compile_pattern(
    r"(?P<order>(?:-?\d{1,19}(?:,-?\d{1,19})*+)?+)(?::(?P<levels>D\([DCSH][+~]*+(?:,[DCSH][+~]*+)*+\))?+(?:T(?:\((?:(?:-?\d{1,19}|[*])(?:,(?:-?\d{1,19}|[*]))*+)?+\))++)?+"
    r"(?:L\(-?\d{1,19}\))?+(?:#\([a-z0-9]++\))?+(?:\*\([a-z0-9]++\))?+(?:E\(-?\d{1,19}\))?+(?:S\(-?\d{1,19}\))?+"
    r"(?:SC(?:\(-?\d{1,19}:(?:-?\d{1,19}(?:,-?\d{1,19})*+)?+\))++)?+"
    r"(?P<physical>P\(.*\))?(?:M\(-?\d{1,19}\))?+)?"
)
_TOKEN = compile_pattern(r"/\*.*?(?:\*/|\Z)|//[^\n]*+|[{}(),]|[^\s{}(),/]++", re.S)
_INT = compile_pattern(r"-?\d{1,25}")
_FLOAT = compile_pattern(
    r"-?(?:\d++(?:\.\d*+)?+(?:[eE][+-]?\d++)?+|(?<=-)\.\d++(?:[eE][+-]?\d++)?+|inf|"
    r"nan(?:\(0x[0-9a-fA-F]++\))?+)"
)
_NAN_PAYLOAD = compile_pattern(r"nan\((0x[0-9a-fA-F]++)\)")
# How large the payload of a NaN may be (literal.cc); types that are not here have none.
_PAYLOADS = {
    "bf16": 0x7F,
    "f16": 0x3FF,
    "f32": 0x7FFFFF,
    "f64": 0xFFFFFFFFFFFFF,
    "c64": 0x7FFFFF,
    "c128": 0xFFFFFFFFFFFFF,
    "f8e5m2": 0x3,
    "f8e4m3": 0x7,
    "f8e3m4": 0xF,
}
_INT_TYPE = compile_pattern(r"([su])(\d++)")
# What these and more are rounded to is no number of the type; f4e2m1fn takes its largest for all.
_TOO_LARGE = {
    "f16": 65520.0,
    "bf16": 3.3961775292304601e38,
    "f32": 3.4028235677973366e38,
    "c64": 3.4028235677973366e38,
    "f8e5m2": 61440.0,
    "f8e5m2fnuz": 61440.0,
    "f8e4m3": 248.0,
    "f8e4m3fn": nextafter(464.0, inf),
    "f8e4m3fnuz": 248.0,
    "f8e4m3b11fnuz": 31.0,
    "f8e3m4": 15.75,
    "f8e8m0fnu": nextafter(1.7014118346046923e38, inf),
}
_DIMENSION = compile_pattern(r"((?<=[\[,])(?:\d++|\?)(?=[,\]]))")
_LAYOUT_TEXT = compile_pattern(r"\{[^{}]*+\}")


def shape_fault(text: str) -> str | None:
    """Why a shape is not sound."""
    plain = squeezed(text)
    if not _is_shape(plain):
        return "not a shape"
    for leaf in _LEAF.finditer(plain):
        element_type, sizes, layout = leaf[1], leaf[2], leaf[3]
        if element_type not in TYPE_WORDS:
            return f"unknown element type {element_type}"
        dimensions = sizes.split(",") if sizes else []
        if not all(_SIZE.fullmatch(size) for size in dimensions):
            return "a dimension is a size, a bound or '?'"
        if dimensions and element_type in {"token", "opaque"}:
            return f"{element_type} has no dimensions"
        if layout:
            form = _LAYOUT.fullmatch(layout[1:-1])
            if form is None:
                return "not a layout"
            if form["physical"] and not _SPARSE.search(form["levels"] or ""):
                return "only a sparse array has a physical shape"
            ranks = form["order"].count(",") + 1 if form["order"] else 0
            if ranks != len(dimensions):
                return f"a layout of {ranks} dimensions for a shape of {len(dimensions)}"
    return None


def _is_shape(text: str) -> bool:
    """Whether a squeezed text is arrays in tuples and buffers, whatever the arrays are like."""
    left = _LEAF.sub("@", text)
    for _ in range(_MAX_DEPTH):
        if len(left) < 2:
            break
        left, count = _TUPLE_OF_LEAVES.subn("@", left)
        if not count:
            break
    return left in {"", "@"}


def leaf_count(text: str) -> int:
    """How many arrays a shape holds."""
    return len(_LEAF.findall(squeezed(text)))


def compatible(left: str, right: str) -> bool:
    """Whether two shapes agree in types and dimensions; unknown ones agree with all.

    So does a dimension without a bound with any other in its place.
    """
    if not left or not right:
        return True
    left, right = _plain(left), _plain(right)
    if "?" not in left and "?" not in right:
        return left == right
    pieces = _DIMENSION.split(left), _DIMENSION.split(right)
    return len(pieces[0]) == len(pieces[1]) and all(
        one == other or (one and other and "?" in (one, other))
        for one, other in zip(*pieces, strict=True)
    )


def _plain(text: str) -> str:
    return _LAYOUT_TEXT.sub("", squeezed(text)).replace("<=", "").replace(" ", "")


# Python takes no more than 4,300 in one number.
_MOST_DIGITS = 1_000


class _LiteralFault(Exception):
    """Why a literal is not sound."""


class LiteralFault(NamedTuple):
    """Why a literal is not sound, and where: a 0-based offset in its text."""

    message: str
    offset: int


def literal_fault(shape: Shape, text: str) -> LiteralFault | None:
    """Why a literal is none of this shape."""
    if shape.kind == "array":
        most = _PAYLOADS.get(shape.element_type, 0)
        for found in _NAN_PAYLOAD.finditer(text):
            if not 0 < int(found[1][:40], 16) <= most:
                fault = f"{found[0]} has no room in {shape.element_type}"
                return LiteralFault(fault, found.start())
    text = _NAN_PAYLOAD.sub(lambda found: "nan".ljust(len(found[0])), text)
    tokens = [t for t in _TOKEN.finditer(text) if not t[0].startswith(("/*", "//"))]
    reading = _Literal([token[0] for token in tokens])
    try:
        reading.value(shape)
        reading.expect("")
    except _LiteralFault as fault:
        at = reading.place - 1
        return LiteralFault(str(fault), tokens[at].start() if at < len(tokens) else len(text))
    return None


class _Literal:
    """The tokens of one literal, read from front to back."""

    __slots__ = ("place", "tokens")

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.place = 0

    def next(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1] if self.place <= len(self.tokens) else ""

    def expect(self, token: str) -> None:
        found = self.next()
        if found != token:
            raise _LiteralFault(f"expected {token or 'the end'!r} in the literal, found {found!r}")

    def value(self, shape: Shape) -> None:
        if shape.kind == "tuple":
            self.expect("(")
            for number, element in enumerate(shape.elements):
                if number and self.tokens[self.place : self.place + 1] == [","]:
                    self.place += 1
                self.value(element)
            self.expect(")")
        elif shape.kind in {"token", "opaque"}:
            raise _LiteralFault(f"a constant of type {shape.element_type}")
        elif shape.kind == "array":
            self.array(shape)

    def array(self, shape: Shape) -> None:
        sizes, here = shape.dimensions, self.tokens[self.place : self.place + 3]
        if sizes and here == ["{", "...", "}"]:
            self.place += 3
            return
        if not sizes or (here[0:1] != ["{"] and 0 not in sizes):
            # One element alone stands for an array too: XLA does not miss the others.
            self.scalar(shape.element_type, self.next(), missing=len(sizes))
            return
        counts: list[int] = []
        while True:
            token = self.next()
            if token == ",":
                continue
            if token == "..." and len(counts) == 1:
                counts[0] = sizes[0]
            elif token == "{":
                self.open(counts, sizes)
            elif token == "}":
                self.close(counts, sizes)
                if not counts:
                    return
            elif len(counts) < len(sizes):
                raise _LiteralFault(
                    f"a literal nests {len(sizes)} deep, found {token or 'the end'!r}"
                )
            else:
                counts[-1] += 1
                self.scalar(shape.element_type, token)

    @staticmethod
    def open(counts: list[int], sizes: tuple[int, ...]) -> None:
        if len(counts) == len(sizes):
            raise _LiteralFault(f"a literal nests {len(sizes)} deep")
        if counts:
            counts[-1] += 1
        counts.append(0)

    @staticmethod
    def close(counts: list[int], sizes: tuple[int, ...]) -> None:
        if not counts:
            raise _LiteralFault("a literal opens with '{'")
        count, size = counts[-1], sizes[len(counts) - 1]
        if count != size:
            raise _LiteralFault(f"a literal of {size} elements, found {count}")
        counts.pop()

    def scalar(self, element_type: str, token: str, missing: int = 0) -> None:
        """Read one element; `missing` braces do not stand around it."""
        if element_type in {"c64", "c128"}:
            if missing:
                raise _LiteralFault(f"a literal nests {missing} deep, found {token!r}")
            if token != "(":
                raise _LiteralFault("a complex number stands in parentheses")
            _float(element_type, self.next())
            self.expect(",")
            _float(element_type, self.next())
            self.expect(")")
        else:
            _number(element_type, token)


def _number(element_type: str, token: str) -> None:
    if element_type == "pred":
        # Any other number than 0 is true to XLA.
        if token not in {"true", "false"} and (
            _INT.fullmatch(token) is None or not _is_token(token)
        ):
            raise _LiteralFault(f"expected true or false, found {token!r}")
        return
    integer = _INT_TYPE.fullmatch(element_type)
    if integer is None:
        _float(element_type, token)
        return
    if _INT.fullmatch(token) is None:
        raise _LiteralFault(f"expected an integer, found {token!r}")
    bits = int(integer[2])
    least, most = (
        (-(1 << bits - 1), (1 << bits - 1) - 1) if integer[1] == "s" else (0, (1 << bits) - 1)
    )
    if bits == 64:
        # Kept as bits: either sign is taken.
        least, most = -(1 << 63), (1 << 64) - 1
    if len(token) > _MOST_DIGITS or not least <= int(token) <= most:
        raise _LiteralFault(f"{token} is out of the range of {element_type}")


def _float(element_type: str, token: str) -> None:
    if _FLOAT.fullmatch(token) is None:
        raise _LiteralFault(f"expected a number, found {token!r}")
    if token.lstrip("-") not in {"inf", "nan"}:
        value = float(token)
        is_unscaled = element_type == "f8e8m0fnu" and value <= 0
        if is_unscaled or abs(value) >= _TOO_LARGE.get(element_type, inf) or not _is_token(token):
            raise _LiteralFault(f"{token} is out of the range of {element_type}")


def _is_token(token: str) -> bool:
    """Whether the lexer reads it: integers have 64 bits, of either sign."""
    if not token.lstrip("-").isdecimal():
        return True
    return _INT.fullmatch(token) is not None and -(1 << 63) <= int(token) < 1 << 64
