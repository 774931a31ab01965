"""Result shapes that a text leaves out, where they follow from the operands alone.

Given an instruction's parts and the shapes of its operands as text, gives the text of its own
shape, without layouts, or an empty one where that is not simple. XLA infers the same in
xla/service/shape_inference.cc; nothing here checks that operands fit together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hlo_parser.shapes import Shape
from hlo_parser.values import int_from_text, ints_from_text, names_from_text

if TYPE_CHECKING:
    from hlo_parser.grammar import InstructionParts

RootShape = Callable[[str], str]
"""The shape of a computation's root by the computation's name; empty when not known."""

_AS_FIRST = frozenset(
    (
        "abs acos acosh add and asin asinh atan2 atanh cbrt ceil cholesky clamp copy cosh cosine "
        "count-leading-zeros divide domain erf exponential exponential-minus-one floor log "
        "log-plus-one logistic maximum minimum multiply negate not opt-barrier or popcnt power "
        "remainder reverse round-nearest-afz round-nearest-even rsqrt shift-left "
        "shift-right-arithmetic shift-right-logical sign sine sinh sqrt subtract tan tanh while "
        "xor dynamic-update-slice scatter add-dependency select-and-scatter mulhi"
    ).split()
)
_CALLS = {"call": "to_apply", "conditional": "branch_computations"}
_PARTS = {"c64": "f32", "c128": "f64"}


def result_shape(parts: InstructionParts, operands: list[str], root_shape: RootShape) -> str:
    """The shape of an instruction that prints none; empty when it cannot be told."""
    if parts.opcode == "after-all":
        return "token[]"
    if parts.opcode in {"partition-id", "replica-id"}:
        return "u32[]"
    if parts.opcode in _CALLS or "true_computation" in parts.attributes:
        key = _CALLS[parts.opcode] if "true_computation" not in parts.attributes else ""
        names = names_from_text(parts.attributes.get(key or "true_computation", ""))
        return root_shape(names[0]) if names else ""
    if not operands or not all(operands) or any(parts.operand_paths):
        return "()" if parts.opcode == "tuple" and not operands else ""
    if parts.opcode == "tuple":
        return f"({', '.join(operands)})"
    shapes = [Shape(text) for text in operands]
    if parts.opcode in _AS_FIRST:
        index = 1 if parts.opcode == "clamp" else 0
        return shapes[index].without_layout
    if parts.opcode == "select":
        return shapes[min(1, len(shapes) - 1)].without_layout
    return _of_dimensions(parts, shapes)


def _of_dimensions(parts: InstructionParts, shapes: list[Shape]) -> str:
    """Shapes that have other dimensions or another type than the first operand."""
    first, sizes = shapes[0], shapes[0].dimensions
    listed = ints_from_text(parts.attributes.get("dimensions", ""))
    if first.is_dynamic or any(not 0 <= number < max(len(sizes), 1) for number in listed):
        return ""
    match parts.opcode:
        case "get-tuple-element":
            index = int_from_text(parts.attributes.get("index", ""))
            elements = first.elements
            return elements[index].text if index is not None and index < len(elements) else ""
        case "compare" | "is-finite":
            return _array("pred", sizes)
        case "real" | "imag":
            return _array(_PARTS.get(first.element_type, first.element_type), sizes)
        case "complex":
            return _array({"f32": "c64", "f64": "c128"}.get(first.element_type, ""), sizes)
        case "transpose":
            return _array(first.element_type, tuple(sizes[number] for number in listed))
        case "get-dimension-size":
            return "s32[]"
        case "reduce" if len(shapes) == 2:
            kept = tuple(size for number, size in enumerate(sizes) if number not in listed)
            return _array(first.element_type, kept)
        case "dot" if len(shapes) == 2:
            return _dot(parts, first, shapes[1])
        case _:
            return ""


def _dot(parts: InstructionParts, left: Shape, right: Shape) -> str:
    def numbers(key: str) -> tuple[int, ...]:
        return ints_from_text(parts.attributes.get(key, ""))

    batch = numbers("lhs_batch_dims")
    if any(number >= len(left.dimensions) for number in batch):
        return ""
    taken = {*batch, *numbers("lhs_contracting_dims")}
    other = {*numbers("rhs_batch_dims"), *numbers("rhs_contracting_dims")}
    sizes = [left.dimensions[number] for number in batch]
    sizes += [size for number, size in enumerate(left.dimensions) if number not in taken]
    sizes += [size for number, size in enumerate(right.dimensions) if number not in other]
    return _array(left.element_type, tuple(sizes))


def _array(element_type: str, sizes: tuple[int, ...]) -> str:
    return f"{element_type}[{','.join(map(str, sizes))}]" if element_type else ""
