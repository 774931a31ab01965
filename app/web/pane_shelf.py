"""Pairs of texts side by side, kept between requests: the lately used ones, up to a size.

A page asks for its rows many times; matching the two texts is done for the first of them. Whoever
asks meanwhile waits for what that one makes, or for its failure; only so many may wait at a time,
since each holds a thread that others need.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from app.errors import AppError, UsageError
from app.views.diff_slices import PaneReader
from app.web.rates import too_many

MAX_KEPT_BYTES = 256 << 20
MAX_WAITING = 8
_BYTES_A_ROW = 150


class PaneKey(NamedTuple):
    """Which texts: the digest of the bundle, the module's id, positions of the texts."""

    digest: str
    module_id: str
    before: int
    after: int


class _Making:
    """A reader that is being made; once `is_over`, it is there or the error is."""

    __slots__ = ("error", "is_over", "reader")

    def __init__(self) -> None:
        self.is_over = threading.Event()
        self.reader: PaneReader | None = None
        self.error: AppError | None = None


class PaneShelf:
    """Readers by their texts; each is made once, whoever asks meanwhile waits.

    `waiting` says how many do.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._making: dict[PaneKey, _Making] = {}
        self.waiting = 0
        self._kept: OrderedDict[PaneKey, tuple[PaneReader, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: PaneKey, make: Callable[[], tuple[PaneReader, int]]) -> PaneReader:
        """The reader of `key`; `make` gives it with the bytes of its texts.

        Raises:
            UsageError: too many wait already (`too_many_requests`).
            AppError: as `make`, whoever called it.
        """
        while True:
            with self._lock:
                kept = self._kept.get(key)
                if kept is not None:
                    self._kept.move_to_end(key)
                    return kept[0]
                making = self._making.get(key)
                if making is None:
                    mine = self._making[key] = _Making()
                    break
                if self.waiting >= MAX_WAITING:
                    raise too_many("too many comparisons are waited for", "Ask again in a moment.")
                self.waiting += 1
            try:
                making.is_over.wait()
            finally:
                with self._lock:
                    self.waiting -= 1
            if making.reader is not None:
                return making.reader
            # That its maker may have nothing more is nobody else's matter; a fault of ours is told
            # to whoever meets it.
            if making.error is not None and not isinstance(making.error, UsageError):
                raise making.error
        return self._made(key, mine, make)

    def _made(
        self, key: PaneKey, making: _Making, make: Callable[[], tuple[PaneReader, int]]
    ) -> PaneReader:
        try:
            making.reader, size = make()
            self._keep(key, making.reader, size + _BYTES_A_ROW * making.reader.total)
            return making.reader
        except AppError as error:
            making.error = error
            raise
        finally:
            with self._lock:
                del self._making[key]
            making.is_over.set()

    def _keep(self, key: PaneKey, reader: PaneReader, size: int) -> None:
        with self._lock:
            self._kept[key] = reader, size
            self._bytes += size
            # The newest stays, however large: it is being looked at.
            while self._bytes > MAX_KEPT_BYTES and len(self._kept) > 1:
                _, (_, freed) = self._kept.popitem(last=False)
                self._bytes -= freed
