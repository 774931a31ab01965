"""What is costly to make and asked for many times: made once, kept between requests up to a size.

Whoever asks while it is being made waits for what the first one makes, or for its failure; only so
many may wait at a time, since each holds a thread that others need. What a thing is, and how many
bytes it takes, is its maker's matter.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from app.errors import AppError, UsageError
from app.web.rates import too_many

MAX_WAITING = 8

K = TypeVar("K")
V = TypeVar("V")


class _Making(Generic[V]):
    """A thing that is being made; once `is_over`, it is there or the error is."""

    __slots__ = ("error", "is_over", "made")

    def __init__(self) -> None:
        self.is_over = threading.Event()
        self.made: V | None = None
        self.error: AppError | None = None


class MadeOnce(Generic[K, V]):
    """The lately used things by their keys, up to `max_bytes`; `waiting` says how many wait."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._making: dict[K, _Making[V]] = {}
        self.waiting = 0
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: K, make: Callable[[], tuple[V, int]]) -> V:
        """The thing of `key`; `make` gives it with its size in bytes.

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
                    mine = self._making[key] = _Making[V]()
                    break
                if self.waiting >= MAX_WAITING:
                    raise too_many("too many comparisons are waited for", "Ask again in a moment.")
                self.waiting += 1
            try:
                making.is_over.wait()
            finally:
                with self._lock:
                    self.waiting -= 1
            if making.made is not None:
                return making.made
            # That its maker may have nothing more is nobody else's matter; a fault of ours is told
            # to whoever meets it.
            if making.error is not None and not isinstance(making.error, UsageError):
                raise making.error
        return self._made(key, mine, make)

    def _made(self, key: K, making: _Making[V], make: Callable[[], tuple[V, int]]) -> V:
        try:
            made, size = make()
            making.made = made
            self._keep(key, made, size)
            return made
        except AppError as error:
            making.error = error
            raise
        finally:
            with self._lock:
                del self._making[key]
            making.is_over.set()

    def _keep(self, key: K, made: V, size: int) -> None:
        with self._lock:
            self._kept[key] = made, size
            self._bytes += size
            # The newest stays, however large: it is being looked at.
            while self._bytes > self._max_bytes and len(self._kept) > 1:
                _, (_, freed) = self._kept.popitem(last=False)
                self._bytes -= freed
