"""How much one execution of a module does: the measure by which texts are compared."""

from collections.abc import Mapping
from dataclasses import dataclass

# What JSON readers take; only edited texts do more.
LARGEST_COUNT = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Work:
    """What is done in one execution: floating point operations, bytes sent by kind of collective.

    `counted_once` are loops with work inside whose trip count is not known, each taken as one
    iteration; `uncounted` are products whose shapes do not tell their size.
    """

    flops: int
    collective_bytes: Mapping[str, int]
    counted_once: int = 0
    uncounted: int = 0
