"""Parsing and matching without Python's search for cycles, which takes a third of the time.

Both make millions of objects and hardly a cycle. Several threads may ask for this at once: the
first to come ends it for all when it has done its work, so that a busy server collects too.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Generator[None]:
    """No search for cycles as long as the context lasts; for work that makes hardly any."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            _count_as_old()
            gc.enable()


def _count_as_old() -> None:
    # Else the first search would take all that was made meanwhile for new and go through it. A
    # program that has set objects apart itself keeps them so.
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
