"""The first text of a history that holds what the newest one holds, and what that says.

A pass that changed nothing leaves no text, so the pass before the first text with a fault made it,
or one between that text and the text before.
"""

from collections.abc import Callable

from app.model.dump import ModuleHistory, PassDump
from hlo_parser import Module


def first_with(history: ModuleHistory, has: Callable[[Module], bool]) -> PassDump:
    """The first of the newest texts in a row that hold it; the newest holds it."""
    first = history.last
    for dump in reversed(history.dumps[:-1]):
        if not has(dump.module):
            break
        first = dump
    return first


def in_words(history: ModuleHistory, first: PassDump) -> str:
    """A sentence on where it came from."""
    if first.index == history.dumps[0].index:
        return "The first text holds it already: it was given to the compiler so."
    after = first.name.after or first.name.detail or first.name.point
    before = history.dumps[history.dumps.index(first) - 1]
    newest = " (the newest)" if first is history.last else ""
    return (
        f"It first stands in the text after {after}{newest}; the text before, "
        f"{before.file.rpartition('/')[2]}, does not hold it."
    )
