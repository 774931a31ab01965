"""A bound on how much text a proto may become.

A few bytes can name a long string again and again (an id its name, a number its payload), so a
small hostile file could print as terabytes. Everything that may repeat is charged here.
"""

from __future__ import annotations

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

    def spend(self, text: str) -> str:
        """Charge for a text and give it back; raises HloProtoError when nothing is left."""
        self._left -= len(text)
        if self._left < 0:
            raise HloProtoError(f"prints as more than {_FACTOR} times its {self._size} bytes")
        return text
