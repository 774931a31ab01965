"""Pairs of texts side by side, kept between requests: the lately used ones, up to a size.

A page asks for its rows many times; matching the two texts is done for the first of them.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from app.views.diff_slices import PaneReader

MAX_KEPT_BYTES = 256 << 20
_BYTES_A_ROW = 150


class PaneKey(NamedTuple):
    """Which texts: the digest of the bundle, the module's id, positions of the texts."""

    digest: str
    module_id: str
    before: int
    after: int


class PaneShelf:
    """Readers by their texts; each is made once, whoever asks meanwhile waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._making: dict[PaneKey, threading.Lock] = {}
        self._kept: OrderedDict[PaneKey, tuple[PaneReader, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: PaneKey, make: Callable[[], tuple[PaneReader, int]]) -> PaneReader:
        """The reader of `key`; `make` gives it with the bytes of its texts. Raises as `make`."""
        found = self._find(key)
        if found is not None:
            return found
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        try:
            with making:
                found = self._find(key)
                if found is None:
                    found, size = make()
                    self._keep(key, found, size + _BYTES_A_ROW * found.total)
                return found
        finally:
            with self._lock:
                self._making.pop(key, None)

    def _find(self, key: PaneKey) -> PaneReader | None:
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            self._kept.move_to_end(key)
            return kept[0]

    def _keep(self, key: PaneKey, reader: PaneReader, size: int) -> None:
        with self._lock:
            self._kept[key] = reader, size
            self._bytes += size
            # The newest stays, however large: it is being looked at.
            while self._bytes > MAX_KEPT_BYTES and len(self._kept) > 1:
                _, (_, freed) = self._kept.popitem(last=False)
                self._bytes -= freed
