"""Delta debugging: the smallest part of a list that still does what the whole does. Pure.

The test is a function of the caller's. What comes out is minimal in that no single item can be
left out of it, or, where the caller's budget ended first, the smallest part found until then.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Smallest(Generic[Item]):
    """The part found; `is_minimal` says that no single item of it can be left out.

    `is_cut_short`: the caller's budget ended first.
    """

    items: tuple[Item, ...]
    is_minimal: bool
    is_cut_short: bool = False


class OutOfBudget(Exception):
    """Raised by a test that may be asked no more."""


def minimize(
    items: Sequence[Item], holds: Callable[[tuple[Item, ...]], bool], *, least: int = 1
) -> Smallest[Item]:
    """The smallest part of `items` for which `holds` is true, as it is for the whole.

    Chunks are left out, all at once, then halves, single items last (Zeller's ddmin, complements
    only). With `least`, no chunk is smaller than that, and what is found is not minimal.
    """
    kept = tuple(items)
    size = len(kept)
    while size >= least:
        start, has_shrunk = 0, False
        while start < len(kept):
            rest = kept[:start] + kept[start + size :]
            try:
                is_enough = holds(rest)
            except OutOfBudget:
                return Smallest(kept, is_minimal=False, is_cut_short=True)
            if is_enough:
                kept, has_shrunk = rest, True
            else:
                start += size
        if size > 1:
            size = (size + 1) // 2 if size > 2 else 1
        elif not has_shrunk:
            break
    return Smallest(kept, is_minimal=least == 1)
