"""What the rules of inference share: the error, kinds of elements, and shapes as text.

Given shapes and attributes, gives texts of shapes without layouts, lists of dimensions that are
held to a shape, and a reason where XLA would infer none (xla/service/shape_inference.cc). It knows
no opcode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from hlo_parser.shapes import Shape, element_bits
from hlo_parser.values import ints_from_text

Rule = Callable[[Mapping[str, str], list[Shape]], str]
"""From attributes and operand shapes to the text of the result's shape, empty when not simple."""


class CannotInferError(Exception):
    """XLA infers no shape; its text says why."""


NUMBERS: Final = frozenset(("int", "float", "complex"))
ANY: Final = NUMBERS | {"pred"}
FLOAT: Final = frozenset(("float",))
INT: Final = frozenset(("int",))
PARTS: Final = {"c64": "f32", "c128": "f64"}
"""The type of the two parts of a complex number."""
COMPLEX: Final = {"f32": "c64", "f64": "c128"}
"""The type of the complex number of two parts."""


def kind_of(element_type: str) -> str:
    """`pred`, `complex`, `int` or `float`."""
    if element_type == "pred":
        return "pred"
    if element_type in PARTS:
        return "complex"
    return "int" if element_type.rstrip("0123456789") in {"s", "u"} else "float"


def same_precision_aside(left: str, right: str) -> bool:
    """Whether two element types are one, or both floating-point."""
    return left == right or kind_of(left) == kind_of(right) == "float"


def wider(types: Iterable[str]) -> str:
    """The widest of element types that agree but for precision; empty when two have one width."""
    found = dict.fromkeys(types)
    most = max(map(element_bits, found))
    widest = [element_type for element_type in found if element_bits(element_type) == most]
    return widest[0] if len(widest) == 1 else ""


def array(element_type: str, sizes: tuple[int, ...] | Shape) -> str:
    """The text of an array, of a shape's sizes or of sizes told; empty without a type."""
    if isinstance(sizes, Shape):
        if sizes.is_dynamic:
            return f"{element_type}{sizes.without_layout.removeprefix(sizes.element_type)}"
        sizes = sizes.dimensions
    return f"{element_type}[{','.join(map(str, sizes))}]" if element_type else ""


def one_or_tuple(told: list[str]) -> str:
    """The shape itself when it is one, else the tuple of all; empty when one is not known."""
    if not all(told):
        return ""
    return told[0] if len(told) == 1 else f"({', '.join(told)})"


def expect_array(role: str, shape: Shape) -> None:
    """Raise CannotInferError for a tuple, a token and the like."""
    if shape.kind != "array":
        raise CannotInferError(f"{role} takes arrays, found {shape.without_layout}")


def expect_kind(opcode: str, shape: Shape, kinds: frozenset[str]) -> None:
    """Raise CannotInferError for what is no array of elements of these kinds."""
    expect_array(opcode, shape)
    if kind_of(shape.element_type) not in kinds:
        raise CannotInferError(f"{opcode} takes no elements of type {shape.element_type}")


def expect_scalar(role: str, shape: Shape) -> None:
    """Raise CannotInferError for what is no scalar."""
    if shape.kind != "array" or shape.dimensions:
        raise CannotInferError(f"{role} is a scalar, found {shape.without_layout}")


def listed(attributes: Mapping[str, str], shape: Shape, key: str = "dimensions") -> list[int]:
    """The dimensions an attribute lists; raises CannotInferError for those there are not."""
    numbers = list(ints_from_text(attributes.get(key, "")))
    if shape.kind != "array" or any(not 0 <= n < len(shape.dimensions) for n in numbers):
        raise CannotInferError(f"{key} are not those of {shape.without_layout}")
    return numbers
