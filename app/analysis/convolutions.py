"""How many multiply-adds a convolution takes, from its shapes, labels and window.

Only pairs of kernel and input elements that exist count: neither padding nor the holes of a dilated
input do, as in `xla/service/hlo_cost_analysis.cc` (GetConvolutionFlops). libtpu writes batched
products as dilated convolutions, of which that is a small part. Given shapes, gives a number.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from math import gcd, prod
from typing import NamedTuple

from hlo_parser import Shape

_DIM_LABELS = re.compile(r"([^_]*+)_([^->]++)->(.*+)")
_PADDING = re.compile(r"(-?\d{1,18})_-?\d{1,18}")

# Kernels longer than this along one dimension count as if all pairs existed.
_MOST_POSITIONS = 65_536


class _Side(NamedTuple):
    """One spatial dimension: sizes of input, kernel and output, and the window over it."""

    size: int
    kernel: int
    output: int
    stride: int
    padding: int
    input_dilation: int
    kernel_dilation: int


def multiply_adds(
    attributes: Mapping[str, str], input_shape: Shape | None, kernel: Shape, output: Shape
) -> int | None:
    """Multiply-adds of one execution; None where the labels do not fit the shapes.

    Without a known input every pair of kernel and output positions counts.
    """
    labels = _DIM_LABELS.fullmatch(attributes.get("dim_labels", ""))
    if labels is None:
        return None
    sizes = dict(zip(labels.group(2), kernel.dimensions, strict=False))
    outputs = dict(zip(labels.group(3), output.dimensions, strict=False))
    inputs = (
        {}
        if input_shape is None
        else dict(zip(labels.group(1), input_shape.dimensions, strict=False))
    )
    if any(size < 0 for size in (*sizes.values(), *output.dimensions)):
        return None
    window = _Window(attributes.get("window", ""))
    spatial = [label for label in sizes if label not in "io"]
    pairs = 1
    for label in spatial:
        here, there = sizes[label], outputs.get(label, 1)
        number = int(label) if label.isdecimal() and label.isascii() else -1
        side = window.side(number, inputs.get(label, -1), here, there)
        pairs *= here * there if side is None else _existing_pairs(side)
    rest = prod(size for label, size in outputs.items() if label not in spatial)
    return rest * sizes.get("i", 1) * pairs


class _Window:
    """The printed window, `{size=8x4 stride=7x3 pad=0_0x3_3 lhs_dilate=8x4}`."""

    def __init__(self, text: str) -> None:
        fields = (word.partition("=") for word in text.strip("{} ").split())
        self._fields = {key: value.split("x") for key, _, value in fields}

    def side(self, number: int, size: int, kernel: int, output: int) -> _Side | None:
        """Spatial dimension `number`, None where the window or the input is not readable."""
        stride, from_input, from_kernel = (
            self._factor(key, number) for key in ("stride", "lhs_dilate", "rhs_dilate")
        )
        padding = self._fields.get("pad", [])
        low = _PADDING.fullmatch(padding[number]) if 0 <= number < len(padding) else None
        if size < 0 or number < 0 or min(stride, from_input, from_kernel) < 1:
            return None
        if padding and low is None:
            return None
        return _Side(
            size=size,
            kernel=kernel,
            output=output,
            stride=stride,
            padding=int(low.group(1)) if low else 0,
            input_dilation=from_input,
            kernel_dilation=from_kernel,
        )

    def _factor(self, key: str, number: int) -> int:
        """1 where the window does not state it, 0 where what it states is no number."""
        words = self._fields.get(key)
        if words is None:
            return 1
        word = words[number] if 0 <= number < len(words) else ""
        return int(word) if word.isdecimal() and len(word) < 19 else 0


@lru_cache(maxsize=4096)
def _existing_pairs(side: _Side) -> int:
    """Pairs of output and kernel positions that meet an element of the input."""
    if side.kernel > _MOST_POSITIONS:
        return side.kernel * side.output
    last = (side.size - 1) * side.input_dilation
    common = gcd(side.stride, side.input_dilation)
    # Every `period`-th output meets an element rather than a hole.
    period = side.input_dilation // common
    inverse = pow(side.stride // common, -1, period)
    pairs = 0
    for position in range(side.kernel):
        # Output o reads the dilated input at o * stride - start.
        start = side.padding - position * side.kernel_dilation
        if start % common:
            continue
        first = start // common * inverse % period
        low = max(0, -(-start // side.stride))
        high = min(side.output - 1, (last + start) // side.stride)
        pairs += max(0, (high - first) // period - (low - 1 - first) // period)
    return pairs
