"""Texts lately read by lines of the program: who opens one line of a text opens others next."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from weakref import WeakKeyDictionary

from app.bundle import Bundle
from app.views.source_view import SourceReading

_KEPT = 2

Text = tuple[str, int]
"""A module's id and the position of a text."""


class Readings:
    """The last few readings of each bundle that is open; they go with it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: WeakKeyDictionary[Bundle, OrderedDict[Text, SourceReading]] = (
            WeakKeyDictionary()
        )

    def of(self, bundle: Bundle, text: Text, read: Callable[[], SourceReading]) -> SourceReading:
        """The reading of a text, made by `read` where it is not known."""
        with self._lock:
            known = self._known.setdefault(bundle, OrderedDict())
            found = known.get(text)
            if found is not None:
                known.move_to_end(text)
                return found
        # Outside of the lock: two who ask at once both read, and others do not wait.
        found = read()
        with self._lock:
            known[text] = found
            while len(known) > _KEPT:
                known.popitem(last=False)
        return found
