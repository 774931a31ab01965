"""Result shapes of products, where they are not printed: of two arrays, and in groups.

Given attributes and the shapes of operands, gives the text of a shape without layout, an empty one
where it is not simple, and CannotInferError where XLA infers none (xla/service/shape_inference.cc,
InferDotOpShape, InferRaggedDotOpShape).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hlo_parser.infer_parts import CannotInferError, Rule, array, expect_array, listed
from hlo_parser.shapes import Shape


def dot_rules() -> dict[str, Rule]:
    """The rules of this room by opcode; of scaled products none, since releases differ."""
    return {"dot": _dot, "ragged-dot": _ragged_dot}


class _Product(NamedTuple):
    """Which dimensions a product takes together, as its attributes list them."""

    batch: list[int]
    contracted: list[int]
    other_batch: list[int]
    other_contracted: list[int]


def _product(attributes: Mapping[str, str], left: Shape, right: Shape) -> _Product:
    found = _Product(
        listed(attributes, left, "lhs_batch_dims"),
        listed(attributes, left, "lhs_contracting_dims"),
        listed(attributes, right, "rhs_batch_dims"),
        listed(attributes, right, "rhs_contracting_dims"),
    )
    batch, contracted, other_batch, other_contracted = found
    if len(contracted) != len(other_contracted) or len(batch) != len(other_batch):
        raise CannotInferError("dot takes as many dimensions of both operands")
    ours, others = (*batch, *contracted), (*other_batch, *other_contracted)
    for numbers in (ours, others):
        if len(set(numbers)) < len(numbers):
            raise CannotInferError("dot takes each dimension once")
    for one, other in zip(ours, others, strict=True):
        sizes = left.dimensions[one], right.dimensions[other]
        if sizes[0] != sizes[1] and not (left.is_dynamic or right.is_dynamic):
            raise CannotInferError(f"dot of {left.without_layout} and {right.without_layout}")
    return found


def _sizes(product: _Product, left: Shape, right: Shape, groups: list[int]) -> tuple[int, ...]:
    """What is taken together in front, then what is left of both but the groups."""
    taken = {*product.batch, *product.contracted}
    other_taken = {*product.other_batch, *product.other_contracted, *groups}
    return (
        *(left.dimensions[number] for number in product.batch),
        *(size for number, size in enumerate(left.dimensions) if number not in taken),
        *(size for number, size in enumerate(right.dimensions) if number not in other_taken),
    )


def _dot(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    left, right = shapes[0], shapes[1] if len(shapes) > 1 else shapes[0]
    product = _product(attributes, left, right)
    if left.is_dynamic or right.is_dynamic or left.element_type != right.element_type:
        return ""
    return array(left.element_type, _sizes(product, left, right, []))


def _ragged_dot(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    if len(shapes) != 3:
        return ""
    left, right, groups = shapes
    expect_array("ragged-dot by groups", groups)
    product = _product(attributes, left, right)
    ragged = listed(attributes, left, "lhs_ragged_dims")
    grouped = listed(attributes, right, "rhs_group_dims")
    if len(ragged) != 1:
        raise CannotInferError("one dimension of the first operand is ragged")
    if {*grouped} & {*product.other_batch, *product.other_contracted}:
        raise CannotInferError("the dimension of the groups is taken by nothing else")
    is_free = ragged[0] not in (*product.batch, *product.contracted)
    if len(grouped) != is_free:
        raise CannotInferError("the second operand has groups where a free dimension is ragged")
    if left.is_dynamic or right.is_dynamic or groups.is_dynamic:
        return ""
    if not groups.dimensions:
        raise CannotInferError("the sizes of the groups are no scalar")
    *each, count = groups.dimensions
    if each and each != [left.dimensions[number] for number in _before_ragged(product, ragged[0])]:
        raise CannotInferError(f"groups of {groups.without_layout} of {left.without_layout}")
    if is_free and right.dimensions[grouped[0]] != count:
        raise CannotInferError(f"{count} groups of {right.without_layout}")
    if left.element_type != right.element_type:
        return ""
    told = _sizes(product, left, right, grouped)
    is_apart = ragged[0] in product.contracted
    return array(left.element_type, (count, *told) if is_apart else told)


def _before_ragged(product: _Product, ragged: int) -> list[int]:
    """The dimensions that each may have groups of its own, in front of the ragged one."""
    batch, contracted = product.batch, product.contracted
    if ragged in batch:
        return batch[: batch.index(ragged)]
    if ragged in contracted:
        return batch + contracted[: contracted.index(ragged)]
    return batch + [number for number in range(ragged) if number not in (*batch, *contracted)]
