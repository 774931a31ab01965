"""One line of the program over the texts of a module, as bars.

Takes the texts in which another number of instructions states the line, and gives coordinates of an
SVG view box, once for a desk and once for a phone.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence

from app.report.source_views import BarView, StripView

MOST_BARS = 400
_SIZES = (("wide", 1100, 56), ("narrow", 340, 48))
_LEAST = 2.0


def strips_of(
    steps: Sequence[tuple[int, int]],
    labels: Sequence[str],
    here: int,
    href: Callable[[int], str],
) -> tuple[StripView, ...]:
    """The bars of a line; `labels` name all texts, `here` is the one that is shown."""
    if not labels or len(labels) > MOST_BARS:
        return ()
    counts = [count_at(steps, position) for position in range(len(labels))]
    most = max(counts, default=0) or 1

    def tall(count: int, height: int) -> float:
        return round(max(_LEAST, (height - 4) * count / most), 1) if count else 0

    return tuple(
        StripView(
            name=name,
            width=width,
            height=height,
            bars=tuple(
                BarView(
                    x=round(width * position / len(labels), 2),
                    y=round(height - tall(count, height), 1),
                    width=round(width / len(labels), 2),
                    height=tall(count, height),
                    href=href(position),
                    title=f"{label}: {count:,}",
                    here=position == here,
                )
                for position, (label, count) in enumerate(zip(labels, counts, strict=True))
            ),
        )
        for name, width, height in _SIZES
    )


def count_at(steps: Sequence[tuple[int, int]], position: int) -> int:
    """How many instructions state the line in the text at `position`."""
    found = bisect_right(steps, position, key=lambda step: step[0])
    return steps[found - 1][1] if found else 0


def neighbours_of(steps: Sequence[tuple[int, int]], position: int) -> tuple[int | None, int | None]:
    """The nearest text before the one shown that changed the count, and the nearest after it."""
    found = bisect_right(steps, position, key=lambda step: step[0])
    later = steps[found][0] if found < len(steps) else None
    before = [step for step, _ in steps[:found] if step < position]
    return (before[-1] if before else None), later
