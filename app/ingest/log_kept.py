"""Keeps of endlessly many things as many as tell something, and counts the rest.

A log may repeat a message a million times. Of each kind of thing the first ones are kept, and of
all things the last ones, since a run dies at the end of its log.
"""

from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """The first `most_alike` things of each kind, `most` in all, and the `last` of the others."""

    def __init__(self, *, most_alike: int, most: int, last: int) -> None:
        self.dropped = 0
        self._most_alike = most_alike
        self._most = most
        self._first: list[T] = []
        self._last: deque[T] = deque(maxlen=last)
        self._alike: dict[Hashable, int] = {}

    def add(self, kind: Hashable, thing: T) -> None:
        """Keep a thing, for now or for good; things of one `kind` say much the same."""
        alike = self._alike.get(kind, 0)
        if alike < self._most_alike and len(self._first) < self._most:
            self._alike[kind] = alike + 1
            self._first.append(thing)
            return
        self.dropped += len(self._last) == self._last.maxlen
        self._last.append(thing)

    def all(self) -> list[T]:
        """What is kept: the first ones, then the last ones."""
        return [*self._first, *self._last]


class Deferred(Generic[T]):
    """Things so many that, after the first `most`, only the `last` ones are worth the work."""

    def __init__(self, most: int, *, last: int) -> None:
        self._first = most
        self._count = 0
        self.last: deque[T] = deque(maxlen=last)

    @property
    def dropped(self) -> int:
        """How many were put off and are not among the last ones."""
        return max(self._count - self._first - len(self.last), 0)

    def puts_off(self, thing: T) -> bool:
        """Whether a thing is for later, if it is for anything; False for the first ones."""
        self._count += 1
        if self._count <= self._first:
            return False
        self.last.append(thing)
        return True


def left_out(name: str, *, repeats: int, alone: int, dropped: Mapping[str, int]) -> Iterator[str]:
    """What was left out of the log called `name`, each as a code and a sentence.

    `repeats` lines were counted only, `alone` exceptions were not read, and of what `dropped` names
    so many were not kept.
    """
    if repeats:
        yield (
            f"log_repeats: {repeats:,} lines of {name} repeat earlier lines but for their numbers; "
            "they are counted, not read"
        )
    if alone:
        yield f"log_left_out: {alone:,} exceptions without a traceback in {name} are not read"
    for what, count in dropped.items():
        if count:
            yield f"log_left_out: {count:,} {what} in {name} are not kept; the first and last are"
