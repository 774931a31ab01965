"""Result shapes of what moves a window over an array: windows, convolutions, pads.

Given attributes and operand shapes, gives the text of the result's shape as
`xla/service/shape_inference.cc` infers it (InferWindowOutputShape, InferConvolveShape,
InferPadShape), and an empty one where a size is not static or a size below 0 would end XLA. What
the called computations take is not judged here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hlo_parser.infer_parts import (
    CannotInferError,
    array,
    expect_array,
    expect_scalar,
    same_precision_aside,
    wider,
)
from hlo_parser.possessive import compile_pattern
from hlo_parser.values import int_from_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo_parser.infer_parts import Rule
    from hlo_parser.shapes import Shape

_PART = compile_pattern(r"([a-z_]++)=([^\s{}]++)")
_PAD = compile_pattern(r"(-?\d{1,18})_(-?\d{1,18})(?:_(\d{1,18}))?")


class _Side(NamedTuple):
    """The window along one dimension."""

    size: int
    stride: int = 1
    low: int = 0
    high: int = 0
    base_dilation: int = 1
    window_dilation: int = 1


_FIELDS = {
    "size": "size",
    "stride": "stride",
    "lhs_dilate": "base_dilation",
    "rhs_dilate": "window_dilation",
}


def window_rules() -> dict[str, Rule]:
    """The rule of each opcode that has a window or a padding."""
    return {
        "reduce-window": _reduce_window,
        "select-and-scatter": _select_and_scatter,
        "convolution": _convolution,
        "pad": _pad,
    }


def _sides(text: str) -> list[_Side]:
    """The sides of `{size=1x2 pad=0_0x1_1}`; numbers that are none count as 0."""
    columns: list[dict[str, int]] = []
    for key, value in _PART.findall(text):
        words = value.split("x")
        columns += [{} for _ in range(len(words) - len(columns))]
        for column, word in zip(columns, words, strict=False):
            if key in _FIELDS:
                column[_FIELDS[key]] = int_from_text(word) or 0
            elif key == "pad":
                found = _PAD.fullmatch(word)
                column["low"], column["high"] = map(int, found.groups()[:2]) if found else (0, 0)
    return [_Side(**{"size": 0} | column) for column in columns]


def _moved(sizes: tuple[int, ...], sides: list[_Side]) -> tuple[int, ...] | None:
    """How many places a window has along each dimension; None where XLA would end."""
    if len(sizes) != len(sides):
        raise CannotInferError(f"a window of {len(sides)} dimensions for an array of {len(sizes)}")
    places: list[int] = []
    for size, side in zip(sizes, sides, strict=True):
        if min(side.size, side.stride, side.base_dilation, side.window_dilation) < 1:
            raise CannotInferError("the sizes, strides and dilations of a window are 1 or more")
        room = side.low + _dilated(size, side.base_dilation) + side.high
        if room < 0:
            return None
        width = _dilated(side.size, side.window_dilation)
        places.append((room - width) // side.stride + 1 if 0 < width <= room else 0)
    return tuple(places)


def _dilated(size: int, dilation: int) -> int:
    return (size - 1) * dilation + 1 if size else 0


def _reduce_window(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    """Of one array; XLA takes the operands of several for such, where no shape is told."""
    operand, start = shapes[0], shapes[min(1, len(shapes) - 1)]
    expect_array("reduce-window", operand)
    expect_scalar("the initial value of a reduce-window", start)
    if operand.is_dynamic:
        return ""
    moved = _moved(operand.dimensions, _sides(attributes.get("window", "")))
    return "" if moved is None else array(start.element_type, moved)


def _select_and_scatter(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    operand, source = shapes[0], shapes[min(1, len(shapes) - 1)]
    expect_array("select-and-scatter", operand)
    if operand.is_dynamic or source.is_dynamic:
        return operand.without_layout
    moved = _moved(operand.dimensions, _sides(attributes.get("window", "")))
    is_same = same_precision_aside(operand.element_type, source.element_type)
    if moved is not None and not (is_same and source.dimensions == moved):
        raise CannotInferError(
            f"select-and-scatter of {source.without_layout} into {operand.without_layout}"
        )
    return operand.without_layout


class _Labels(NamedTuple):
    """The places of one operand's or the result's dimensions, spatial ones in order."""

    first: int
    second: int
    spatial: tuple[int, ...]


def _labels(text: str, letters: str) -> _Labels | None:
    if len(text) != len(set(text)) or not set(letters) <= set(text):
        return None
    numbers = "".join(map(str, range(len(text) - 2)))
    if set(text) != {*letters, *numbers}:
        return None
    return _Labels(text.index(letters[0]), text.index(letters[1]), tuple(map(text.index, numbers)))


def _convolution(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    left_text, _, rest = attributes.get("dim_labels", "").replace(" ", "").partition("_")
    right_text, _, result_text = rest.partition("->")
    labels = _labels(left_text, "bf"), _labels(right_text, "io"), _labels(result_text, "bf")
    if len(shapes) < 2 or any(shape.is_dynamic for shape in shapes) or None in labels:
        return ""
    inputs, kernels = shapes[:2]
    for shape in (inputs, kernels):
        expect_array("convolution", shape)
    left, right, result = (found for found in labels if found is not None)
    ranks = len(inputs.dimensions), len(kernels.dimensions)
    if ranks != (len(left.spatial) + 2, len(right.spatial) + 2):
        raise CannotInferError(f"dim_labels of {len(left_text)} dimensions for {ranks}")
    batch, features = inputs.dimensions[left.first], inputs.dimensions[left.second]
    groups = _groups(attributes, batch, features, kernels, right)
    sides = _sides(attributes.get("window", ""))
    if tuple(side.size for side in sides) != tuple(kernels.dimensions[n] for n in right.spatial):
        raise CannotInferError(f"the window is not of the size of {kernels.without_layout}")
    moved = _moved(tuple(inputs.dimensions[number] for number in left.spatial), sides)
    if moved is None:
        return ""
    sizes = {result.first: batch // groups, result.second: kernels.dimensions[right.second]}
    sizes |= dict(zip(result.spatial, moved, strict=True))
    ordered = tuple(sizes[number] for number in range(len(sizes)))
    types = inputs.element_type, kernels.element_type
    return array(wider(types), ordered) if same_precision_aside(*types) else ""


def _groups(
    attributes: Mapping[str, str], batch: int, features: int, kernels: Shape, right: _Labels
) -> int:
    """How many groups the batch has; raises CannotInferError where sizes are no multiples."""
    told = [
        int_from_text(attributes.get(key, "1")) or 0
        for key in ("feature_group_count", "batch_group_count")
    ]
    if min(told) < 1 or min(told) > 1:
        raise CannotInferError("one of the two group counts is 1, and none below")
    by_feature, by_batch = told
    made, taken = kernels.dimensions[right.second], kernels.dimensions[right.first]
    if features != taken * by_feature or made % by_feature or made % by_batch or batch % by_batch:
        raise CannotInferError(f"the groups do not fit {kernels.without_layout}")
    return by_batch


def _pad(attributes: Mapping[str, str], shapes: list[Shape]) -> str:
    operand, value = shapes[0], shapes[-1]
    expect_array("pad", operand)
    expect_scalar("the value of a pad", value)
    pads = [_PAD.fullmatch(word.strip()) for word in attributes.get("padding", "").split("x")]
    if len(pads) != len(operand.dimensions):
        raise CannotInferError(f"padding of {len(pads)} dimensions for {operand.without_layout}")
    types = operand.element_type, value.element_type
    if not same_precision_aside(*types):
        raise CannotInferError(f"pad of {operand.without_layout} with {value.without_layout}")
    if operand.is_dynamic or None in pads:
        return ""
    sizes: list[int] = []
    for size, pad in zip(operand.dimensions, pads, strict=True):
        low, high, between = (int(word or 0) for word in pad.groups()) if pad else (0, 0, 0)
        sizes.append(size + low + high + max(size - 1, 0) * between)
    if min(sizes) < 0:
        raise CannotInferError("a padded dimension is not below 0")
    return array(wider(types), tuple(sizes))
