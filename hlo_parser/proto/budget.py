"""A bound on how much text a proto may become.

A few bytes can name a long string again and again (an id its name, a number its payload), so a
small hostile file could print as terabytes. Lines, names and payloads are charged here.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlo_parser.errors import HloProtoError

_FREE = 1 << 20
_FACTOR = 32


class Budget:
    """Characters that may still be printed."""

    __slots__ = ("_left", "_size")

    def __init__(self, size: int) -> None:
        """For a proto of `size` bytes; those of XLA print as one to two characters a byte."""
        self._size = size
        self._left = _FREE + _FACTOR * size

    def spend(self, characters: int) -> None:
        """Charge for a text; raises HloProtoError when nothing is left."""
        self._left -= characters
        if self._left < 0:
            raise HloProtoError(f"prints as more than {_FACTOR} times its {self._size} bytes")


class Payloads:
    """The strings of a module's table of payloads (since June 2026), by their position."""

    __slots__ = ("_budget", "_strings")

    def __init__(self, strings: Sequence[bytes], budget: Budget) -> None:
        self._strings = strings
        self._budget = budget

    def __bool__(self) -> bool:
        return bool(self._strings)

    def get(self, number: int) -> bytes | None:
        """The string, None when the table does not hold it."""
        if not 0 <= number < len(self._strings):
            return None
        found = self._strings[number]
        self._budget.spend(len(found))
        return found


NO_PAYLOADS = Payloads((), Budget(0))
