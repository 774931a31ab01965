"""Pairs of texts side by side, kept between requests.

A page asks for its rows many times; matching the two texts is done for the first of them.
"""

from collections.abc import Callable
from typing import NamedTuple

from app.views.diff_slices import PaneReader
from app.web.made_once import MadeOnce

MAX_KEPT_BYTES = 256 << 20
_BYTES_A_ROW = 150


class PaneKey(NamedTuple):
    """Which texts: the digest of the bundle, the module's id, positions of the texts."""

    digest: str
    module_id: str
    before: int
    after: int


class PaneShelf:
    """Readers by their texts."""

    def __init__(self) -> None:
        self._kept = MadeOnce[PaneKey, PaneReader](MAX_KEPT_BYTES)

    def get(self, key: PaneKey, make: Callable[[], tuple[PaneReader, int]]) -> PaneReader:
        """The reader of `key`; `make` gives it with the bytes of its texts.

        Raises as `MadeOnce.get`.
        """

        def make_whole() -> tuple[PaneReader, int]:
            reader, size = make()
            return reader, size + _BYTES_A_ROW * reader.total

        return self._kept.get(key, make_whole)
