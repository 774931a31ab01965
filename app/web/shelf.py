"""Bundles kept open between requests, the lately used ones, each closed when nobody reads it."""

import threading
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.bundle import Bundle
from app.web.pane_shelf import PaneShelf

MAX_TEXT_BYTES = 64 << 20
"""Bytes of a text that is parsed for a page; a larger one can only be downloaded."""

_KEPT = 4


@dataclass(slots=True)
class _Copy:
    bundle: Bundle
    readers: int = 0
    is_retired: bool = False


class Shelf:
    """Opens bundles by their blob's digest; what is parsed of one is shared by its readers.

    `panes` keeps pairs of texts that were aligned, which outlive the bundle they came from.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._copies: OrderedDict[str, _Copy] = OrderedDict()
        self.panes = PaneShelf()

    @contextmanager
    def borrow(self, digest: str, path: Path) -> Generator[Bundle]:
        """The bundle at `path`, open for as long as the context lasts; raises as `Bundle.open`."""
        copy = self._take(digest, path)
        try:
            yield copy.bundle
        finally:
            with self._lock:
                copy.readers -= 1
                is_done_with = copy.is_retired and not copy.readers
            if is_done_with:
                copy.bundle.close()

    def close(self) -> None:
        """Close all that nobody reads, and the others when they are given back."""
        with self._lock:
            copies = list(self._copies.values())
            self._copies.clear()
            idle = [copy for copy in copies if self._retire(copy)]
        for copy in idle:
            copy.bundle.close()

    def _take(self, digest: str, path: Path) -> _Copy:
        with self._lock:
            copy = self._copies.get(digest)
            if copy is None:
                copy = self._copies[digest] = _Copy(
                    Bundle.open(path, max_text_bytes=MAX_TEXT_BYTES)
                )
            copy.readers += 1
            self._copies.move_to_end(digest)
            idle: list[_Copy] = []
            while len(self._copies) > _KEPT:
                _, oldest = self._copies.popitem(last=False)
                if self._retire(oldest):
                    idle.append(oldest)
        for each in idle:
            each.bundle.close()
        return copy

    @staticmethod
    def _retire(copy: _Copy) -> bool:
        copy.is_retired = True
        return not copy.readers
