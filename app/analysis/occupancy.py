"""How much buffers that share memory fill of it: a sweep over time, each byte counted once.

Values may share bytes while both live (an update in place, an operand that is also the result), so
adding their sizes says too much. Pure geometry: spans of positions and of bytes go in, the busiest
position or a curve comes out; what the buffers are is the caller's business.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple


class Stay(NamedTuple):
    """A buffer that holds bytes `low` to `high` from position `start` to `end`.

    The last position is included, the last byte is not.
    """

    start: int
    end: int
    low: int
    high: int


class Level(NamedTuple):
    """A position, and how many bytes are held there."""

    position: int
    bytes: int


def levels_of(stays: Sequence[Stay]) -> tuple[Level, ...]:
    """How many bytes are held from each position on at which that may change, in order.

    Takes time in proportion to n log n for n stays.
    """
    return tuple(_levels(stays))


def busiest(levels: Sequence[Level]) -> Level | None:
    """The first position at which most bytes are held; None where nothing is held at all."""
    return max(levels, key=lambda level: level.bytes, default=None)


def highest_in_stretches(levels: Sequence[Level], positions: int, step: int) -> tuple[Level, ...]:
    """The highest level in each stretch of `step` of the `positions`, the first where several are.

    No level is held after the last of the positions.
    """
    best = [Level(start, 0) for start in range(0, positions, step)]
    at, held = 0, 0
    for level in (*levels, Level(positions, 0)):
        # What is held since `at` fills its stretch to the end, and all stretches up to this level.
        for stretch in range(at // step, -(-min(level.position, positions) // step)):
            if held > best[stretch].bytes:
                best[stretch] = Level(max(at, stretch * step), held)
        at, held = level
    return tuple(best)


def _levels(stays: Sequence[Stay]) -> Iterator[Level]:
    held = [stay for stay in stays if stay.high > stay.low and stay.end >= stay.start]
    # At one position what ends before it goes first, then what starts there comes.
    events = sorted(
        [(stay.start, 1, stay.low, stay.high) for stay in held]
        + [(stay.end + 1, -1, stay.low, stay.high) for stay in held]
    )
    covered = _Covered(sorted({edge for stay in held for edge in (stay.low, stay.high)}))
    for position, changes in groupby(events, key=lambda event: event[0]):
        for _, change, low, high in changes:
            covered.change(low, high, change)
        yield Level(position, covered.bytes)


class _Covered:
    """The bytes covered by a changing collection of spans, which begin and end at given edges.

    A segment tree: each node counts the spans that cover all of it and are no larger, and knows
    how many of its bytes are covered by them or by those of the nodes below.
    """

    def __init__(self, edges: Sequence[int]) -> None:
        self._edges = edges
        self._leaves = 1
        while self._leaves < len(edges) - 1:
            self._leaves *= 2
        self._counts = [0] * (2 * self._leaves)
        self._bytes = [0] * (2 * self._leaves)

    @property
    def bytes(self) -> int:
        """How many bytes are covered by at least one span."""
        return self._bytes[1]

    def change(self, low: int, high: int, by: int) -> None:
        """One span more (`by` 1) or, of those that were added, one less (-1)."""
        first = bisect_left(self._edges, low) + self._leaves
        last = bisect_left(self._edges, high) + self._leaves
        left, right = first, last
        touched: list[int] = []
        while left < right:
            if left & 1:
                touched.append(left)
                left += 1
            if right & 1:
                right -= 1
                touched.append(right)
            left //= 2
            right //= 2
        for node in touched:
            self._counts[node] += by
        # The nodes above the touched ones all stand above the two ends of the span.
        for node in touched:
            self._measure(node)
        left, right = first, last - 1
        while left > 1:
            left //= 2
            right //= 2
            self._measure(left)
            if right != left:
                self._measure(right)

    def _measure(self, node: int) -> None:
        if self._counts[node]:
            low, high = self._span(node)
            self._bytes[node] = high - low
        elif node >= self._leaves:
            self._bytes[node] = 0
        else:
            self._bytes[node] = self._bytes[2 * node] + self._bytes[2 * node + 1]

    def _span(self, node: int) -> tuple[int, int]:
        """First and last byte of a node; leaves past the last edge are empty."""
        height = self._leaves.bit_length() - node.bit_length()
        first = (node << height) - self._leaves
        last = first + (1 << height)
        edges = self._edges
        end = len(edges) - 1
        return edges[min(first, end)], edges[min(last, end)]
