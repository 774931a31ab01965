"""The most of a sequence that keeps its order, whatever the rest does."""

from bisect import bisect_left
from collections.abc import Sequence


def rising_run(order: Sequence[int]) -> frozenset[int]:
    """The values of a longest strictly rising subsequence of `order`, whose values are distinct.

    Read as new positions in the old order, it is what stays in place when the rest is moved.
    """
    tails: list[int] = []
    last: list[int] = []
    previous: list[int] = []
    for k, position in enumerate(order):
        length = bisect_left(tails, position)
        previous.append(last[length - 1] if length else -1)
        if length == len(tails):
            tails.append(position)
            last.append(k)
        else:
            tails[length] = position
            last[length] = k
    if len(tails) == len(order):
        return frozenset(order)
    stays: set[int] = set()
    k = last[-1] if last else -1
    while k >= 0:
        stays.add(order[k])
        k = previous[k]
    return frozenset(stays)
