"""Branches that a walk through a text goes into, and which of them never run together.

A walk goes through one branch of a conditional after the other; what comes later on it need not run
later. Knows nothing of texts: whoever walks makes a `Branch` for each that is entered.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """One branch, by numbers, and the one that its conditional stands in."""

    conditional: int
    number: int
    around: "Branch | None"


def exclude_each_other(one: Branch | None, other: Branch | None, step: Callable[[], None]) -> bool:
    """Whether two branches belong to one conditional, be it around both; None is none at all.

    `step` is called for each branch looked at: an edited text may nest any number.
    """
    taken: dict[int, int] = {}
    while one is not None:
        step()
        taken[one.conditional] = one.number
        one = one.around
    while other is not None:
        step()
        if taken.get(other.conditional, other.number) != other.number:
            return True
        other = other.around
    return False
