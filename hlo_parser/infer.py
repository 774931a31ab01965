"""Result shapes that a text leaves out, where they follow from the operands alone.

Given an opcode, its attributes and the shapes of its operands, gives the text of its own shape,
without layouts; an empty one where that is not simple, and a reason where XLA infers none, so
that it refuses the text (xla/service/shape_inference.cc). What XLA takes may still be refused by
its verifier; nothing is judged where an operand's shape is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hlo_parser.infer_arrays import array_rules
from hlo_parser.infer_dots import dot_rules
from hlo_parser.infer_parts import (
    ANY,
    COMPLEX,
    FLOAT,
    INT,
    NUMBERS,
    PARTS,
    CannotInferError,
    Rule,
    array,
    expect_kind,
    expect_scalar,
    kind_of,
    listed,
    one_or_tuple,
    same_precision_aside,
)
from hlo_parser.infer_windows import window_rules
from hlo_parser.shapes import Shape, element_bits
from hlo_parser.values import int_from_text, ints_from_text, names_from_text

if TYPE_CHECKING:
    from hlo_parser.grammar import InstructionParts

RootShape = Callable[[str], str]
"""The shape of a computation's root by the computation's name; empty when not known."""

_BITS = frozenset(("pred", "int"))
_TRANSCENDENTAL = (
    "acos acosh asin asinh atanh cbrt cosh cosine exponential exponential-minus-one log "
    "log-plus-one logistic rsqrt sine sinh sqrt tan tanh"
)
# Which kinds of elements an opcode of one operand takes; its result has the operand's shape.
_UNARY = {
    **dict.fromkeys(_TRANSCENDENTAL.split(), frozenset(("float", "complex"))),
    **dict.fromkeys("ceil erf floor round-nearest-afz round-nearest-even".split(), FLOAT),
    **dict.fromkeys("abs negate sign".split(), NUMBERS),
    **dict.fromkeys("count-leading-zeros popcnt".split(), INT),
    "not": _BITS,
    "is-finite": FLOAT,
}
_SIGNED = frozenset(("abs", "sign"))
_BINARY = {
    **dict.fromkeys("add multiply maximum minimum compare".split(), ANY),
    **dict.fromkeys(
        "subtract divide power remainder atan2 shift-left shift-right-arithmetic "
        "shift-right-logical".split(),
        NUMBERS,
    ),
    **dict.fromkeys("and or xor".split(), _BITS),
    "complex": FLOAT,
    "mulhi": ANY,
}
_AS_FIRST = frozenset(
    "add-dependency copy domain dynamic-update-slice opt-barrier shuffle while".split()
)
_TYPED_BY_ROOT = frozenset(("reduce", "map"))
_CALLS = {"call": "to_apply", "conditional": "branch_computations"}
_WITHOUT_OPERANDS = {
    "after-all": "token[]",
    "partition-id": "u32[]",
    "replica-id": "u32[]",
}


def result_shape(parts: InstructionParts, operands: list[str], root_shape: RootShape) -> str:
    """The shape of an instruction that prints none; empty when it cannot be told."""
    known = _WITHOUT_OPERANDS.get(parts.opcode)
    if known is not None:
        return known
    if parts.opcode in _CALLS:
        key = "true_computation" if "true_computation" in parts.attributes else None
        names = names_from_text(parts.attributes.get(key or _CALLS[parts.opcode], ""))
        return root_shape(names[0]) if names else ""
    if not operands or not all(operands) or any(parts.operand_paths):
        return "()" if parts.opcode == "tuple" and not operands else ""
    if parts.opcode == "tuple":
        return f"({', '.join(operands)})"
    try:
        told = inferred(parts.opcode, parts.attributes, [Shape(text) for text in operands])
    except CannotInferError:
        return ""
    if parts.opcode in _TYPED_BY_ROOT:
        names = names_from_text(parts.attributes.get("to_apply", ""))
        return _retyped(Shape(told), Shape(root_shape(names[0]) if names else ""))
    return told


def _retyped(shape: Shape, root: Shape) -> str:
    """The same sizes with the types of what a called computation returns; empty if unknown."""
    arrays, roots = shape.elements or (shape,), root.elements or (root,)
    if len(arrays) != len(roots) or shape.kind != root.kind:
        return ""
    pairs = zip(roots, arrays, strict=True)
    return one_or_tuple([array(made.element_type, sized) for made, sized in pairs])


def inferred(opcode: str, attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    """The shape that follows from the operands; empty when it is not simple.

    Raises CannotInferError where XLA infers none.
    """
    first = shapes[0]
    if opcode in _AS_FIRST:
        return first.without_layout
    if opcode in _UNARY and len(shapes) == 1:
        expect_kind(opcode, first, _UNARY[opcode])
        if opcode in _SIGNED and first.element_type.startswith("u"):
            raise CannotInferError(f"{opcode} takes no elements of type {first.element_type}")
        if opcode == "is-finite":
            return array("pred", first)
        is_size = opcode == "abs" and first.element_type in PARTS
        return array(PARTS[first.element_type], first) if is_size else first.without_layout
    if opcode in _BINARY and len(shapes) == 2:
        return _binary(opcode, first, shapes[1])
    rule = _RULES.get(opcode)
    return "" if rule is None else rule(attributes, shapes)


def _binary(opcode: str, left: Shape, right: Shape) -> str:
    kinds = _BINARY[opcode]
    expect_kind(opcode, left, ANY)
    expect_kind(opcode, right, ANY)
    types = left.element_type, right.element_type
    if {kind_of(types[0])} - kinds or (kinds == NUMBERS and types[1] == "pred"):
        raise CannotInferError(f"{opcode} takes no elements of type {types[0]} and {types[1]}")
    if not same_precision_aside(*types) or (opcode == "complex" and _complex_of(*types) is None):
        raise CannotInferError(f"{opcode} of {types[0]} and {types[1]}")
    sizes = _broadcast_sizes(opcode, left, right)
    if sizes is None:
        return ""
    if opcode == "compare":
        return array("pred", sizes)
    if opcode == "complex":
        return array(_complex_of(*types) or "", sizes)
    widths = [element_bits(element_type) for element_type in types]
    if types[0] != types[1] and widths[0] == widths[1]:
        return ""
    return array(types[widths[1] > widths[0]], sizes)


def _complex_of(real: str, imaginary: str) -> str | None:
    return COMPLEX.get(real) if real == imaginary else None


def _broadcast_sizes(opcode: str, left: Shape, right: Shape) -> tuple[int, ...] | None:
    """The sizes of both: a scalar and a size of 1 stretch; None where they are not static."""
    if not left.dimensions or not right.dimensions:
        longer = left if left.dimensions else right
        return None if longer.is_dynamic else longer.dimensions
    pairs = list(zip(left.dimensions, right.dimensions, strict=False))
    if len(left.dimensions) != len(right.dimensions) or any(
        one != other and 1 not in (one, other) and -1 not in (one, other) for one, other in pairs
    ):
        raise CannotInferError(f"{opcode} of {left.without_layout} and {right.without_layout}")
    return None if left.is_dynamic or right.is_dynamic else tuple(map(max, pairs))


def _select(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    which, left, right = (shapes * 3)[:3] if len(shapes) < 3 else shapes[:3]
    for shape in (left, right):
        expect_kind("select", shape, ANY)
    if not same_precision_aside(left.element_type, right.element_type):
        raise CannotInferError(f"select of {left.without_layout} and {right.without_layout}")
    if which.element_type != "pred":
        raise CannotInferError(f"select by {which.without_layout}")
    if left.is_dynamic or right.is_dynamic or which.is_dynamic:
        return left.without_layout if left.without_layout == right.without_layout else ""
    if left.dimensions != right.dimensions:
        raise CannotInferError(f"select of {left.without_layout} and {right.without_layout}")
    if which.dimensions and which.dimensions != left.dimensions:
        raise CannotInferError(f"select by {which.without_layout} of {left.without_layout}")
    wider = element_bits(right.element_type) > element_bits(left.element_type)
    return (right if wider else left).without_layout


def _clamp(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    if len(shapes) != 3:
        return ""
    least, value, most = shapes
    types = {shape.element_type for shape in shapes}
    if any(shape.kind != "array" for shape in shapes) or not all(
        same_precision_aside(value.element_type, element_type) for element_type in types
    ):
        raise CannotInferError(f"clamp of {', '.join(sorted(types))}")
    for bound in (least, most):
        is_known = not (bound.is_dynamic or value.is_dynamic)
        if is_known and bound.dimensions and bound.dimensions != value.dimensions:
            raise CannotInferError(f"clamp of {value.without_layout} by {bound.without_layout}")
    return value.without_layout if len(types) == 1 else ""


def _element(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    index = int_from_text(attributes.get("index", ""))
    elements = shapes[0].elements
    return elements[index].text if index is not None and 0 <= index < len(elements) else ""


def _part(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    expect_kind("real or imag", shapes[0], FLOAT | {"complex"})
    return array(PARTS.get(shapes[0].element_type, shapes[0].element_type), shapes[0])


def _transpose(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    numbers = listed(attributes, shapes[0])
    if sorted(numbers) != list(range(len(shapes[0].dimensions))):
        raise CannotInferError(f"dimensions are no order of those of {shapes[0].without_layout}")
    if shapes[0].is_dynamic:
        return ""
    sizes = shapes[0].dimensions
    return array(shapes[0].element_type, tuple(sizes[number] for number in numbers))


def _broadcast(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    # What it lists are sizes here, put in front (shape_inference.cc, InferBroadcastShape).
    sizes = ints_from_text(attributes.get("dimensions", ""))
    if not sizes or shapes[0].is_dynamic:
        return "" if sizes else shapes[0].without_layout
    return array(shapes[0].element_type, (*sizes, *shapes[0].dimensions))


def _dimension_size(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    listed(attributes, shapes[0])
    return "s32[]"


def _reduce(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    """The sizes alone, as of a map."""
    arrays, starts = shapes[: len(shapes) // 2], shapes[len(shapes) // 2 :]
    if not arrays:
        raise CannotInferError("a reduce takes an array and an initial value at least")
    numbers = listed(attributes, arrays[0])
    gone = set(numbers)
    if len(gone) < len(numbers):
        raise CannotInferError("dimensions has one twice")
    if any(shape.kind != "array" or shape.dimensions for shape in starts):
        raise CannotInferError("the initial values of a reduce are scalars")
    if any(shape.is_dynamic for shape in arrays):
        return ""
    if len({shape.dimensions for shape in arrays}) > 1:
        raise CannotInferError("the arrays of a reduce have one size")
    kept = tuple(s for number, s in enumerate(arrays[0].dimensions) if number not in gone)
    told = [array(shape.element_type, kept) for shape in starts]
    return one_or_tuple(told)


def _together(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    """All arrays of a sort; they have one size."""
    sizes = {shape.dimensions for shape in shapes}
    if len(sizes) > 1 and not any(shape.is_dynamic for shape in shapes):
        raise CannotInferError("the arrays of a sort have one size")
    told = [shape.without_layout for shape in shapes]
    return one_or_tuple(told)


def _concatenate(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    numbers = listed(attributes, shapes[0])
    types = {shape.element_type for shape in shapes}
    ranks = {len(shape.dimensions) for shape in shapes}
    is_mixed = not all(same_precision_aside(shapes[0].element_type, word) for word in types)
    if is_mixed or len(ranks) > 1 or any(shape.kind != "array" for shape in shapes):
        raise CannotInferError(f"concatenate of {', '.join(s.without_layout for s in shapes)}")
    if any(shape.is_dynamic for shape in shapes) or len(numbers) != 1:
        return ""
    sizes = list(shapes[0].dimensions)
    at = numbers[0]
    for shape in shapes[1:]:
        others = shape.dimensions
        if (*others[:at], *others[at + 1 :]) != (*sizes[:at], *sizes[at + 1 :]):
            raise CannotInferError(f"concatenate of arrays that differ beside dimension {at}")
        sizes[at] += others[at]
    return array(shapes[0].element_type, tuple(sizes)) if len(types) == 1 else ""


def _square(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    sizes = shapes[0].dimensions
    expect_kind("cholesky", shapes[0], FLOAT | {"complex"})
    if len(sizes) < 2 or (sizes[-1] != sizes[-2] and not shapes[0].is_dynamic):
        raise CannotInferError(f"cholesky of {shapes[0].without_layout}")
    return shapes[0].without_layout


def _reverse(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    numbers = listed(attributes, shapes[0])
    if len(set(numbers)) < len(numbers):
        raise CannotInferError("dimensions has one twice")
    return shapes[0].without_layout


def _map(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    """The sizes alone: the result has the type that is returned, which is not known here."""
    for shape in shapes:
        expect_kind("map", shape, ANY)
    if any(shape.is_dynamic for shape in shapes):
        return ""
    largest = shapes[0]
    # XLA looks at one after the other: scalars before the first array may differ in type.
    for shape in shapes[1:]:
        if shape.dimensions == largest.dimensions:
            continue
        is_of_type = same_precision_aside(shape.element_type, largest.element_type)
        if not is_of_type or (shape.dimensions and largest.dimensions):
            raise CannotInferError("the operands of a map have one size")
        largest = shape if shape.dimensions else largest
    numbers = list(ints_from_text(attributes.get("dimensions", "")))
    if numbers != list(range(len(largest.dimensions))):
        raise CannotInferError("a map is over all dimensions, in order")
    return array(largest.element_type, largest.dimensions)


def _set_dimension_size(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    numbers = listed(attributes, shapes[0])
    expect_scalar("a dimension's size", shapes[-1])
    if shapes[-1].element_type != "s32":
        raise CannotInferError(f"a dimension's size is an s32, found {shapes[-1].element_type}")
    if shapes[0].is_dynamic or not numbers:
        return ""
    sizes = [str(size) for size in shapes[0].dimensions]
    sizes[numbers[0]] = f"<={sizes[numbers[0]]}"
    return f"{shapes[0].element_type}[{','.join(sizes)}]"


_RULES: dict[str, Rule] = {
    **array_rules(),
    **dot_rules(),
    **window_rules(),
    "select": _select,
    "clamp": _clamp,
    "get-tuple-element": _element,
    "real": _part,
    "imag": _part,
    "transpose": _transpose,
    "broadcast": _broadcast,
    "reverse": _reverse,
    "get-dimension-size": _dimension_size,
    "reduce": _reduce,
    "sort": _together,
    "concatenate": _concatenate,
    "cholesky": _square,
    "map": _map,
    "set-dimension-size": _set_dimension_size,
}
