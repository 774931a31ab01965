"""Pages of reports as they were rendered, the lately read ones up to a size.

A report never changes once its bundle stands, so its page follows from the bundle and from what
stands around it. Rendering takes tens of milliseconds of the one interpreter that answers all; a
link in a thread is opened by many.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

MAX_KEPT_BYTES = 32 << 20
_MOST_OF_ONE = MAX_KEPT_BYTES // 8


class KeptPages:
    """Pages by all that they are made of."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: OrderedDict[Hashable, bytes] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable, make: Callable[[], str]) -> bytes:
        """The page of `key` in UTF-8; two who ask at once may both make it, and nobody waits."""
        with self._lock:
            kept = self._pages.get(key)
            if kept is not None:
                self._pages.move_to_end(key)
                return kept
        page = make().encode()
        if len(page) <= _MOST_OF_ONE:
            self._keep(key, page)
        return page

    def _keep(self, key: Hashable, page: bytes) -> None:
        with self._lock:
            if key in self._pages:
                return
            self._pages[key] = page
            self._bytes += len(page)
            while self._bytes > MAX_KEPT_BYTES:
                _, dropped = self._pages.popitem(last=False)
                self._bytes -= len(dropped)
