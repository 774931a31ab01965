"""Which of what loops change in its place is read by something that runs after them.

Whoever walks a text tells of each loop that changes a buffer and of each read of one, in the order
in which they run. Each read is held against the loops before it, since the last one may stand in a
branch that never runs together with theirs while an earlier one does.
"""

from collections.abc import Callable
from dataclasses import dataclass

from app.analysis.branches import Branch, exclude_each_other

Element = tuple[str, tuple[int, ...]]
"""An element of what a loop carries: the loop's name, and the path."""


@dataclass(frozen=True, slots=True)
class _Write:
    element: Element
    position: int
    branch: Branch | None


class LoopWrites:
    """The elements that were changed, in `overwritten` those that something after it still reads.

    `step` is called for each pair of a loop and a read that is looked at.
    """

    def __init__(self, step: Callable[[], None]) -> None:
        self.overwritten: set[Element] = set()
        self._step = step
        self._waiting: dict[int, list[_Write]] = {}

    def note(self, element: Element, buffer: int, position: int, branch: Branch | None) -> None:
        """A loop at a position has changed what lies in a buffer."""
        self._waiting.setdefault(buffer, []).append(_Write(element, position, branch))

    def read(self, buffer: int, position: int, branch: Branch | None) -> None:
        """What stands at a position reads a buffer."""
        waiting = self._waiting.get(buffer)
        if not waiting:
            return
        left: list[_Write] = []
        for write in waiting:
            self._step()
            if write.position < position and not exclude_each_other(
                write.branch, branch, self._step
            ):
                self.overwritten.add(write.element)
            else:
                left.append(write)
        self._waiting[buffer] = left
