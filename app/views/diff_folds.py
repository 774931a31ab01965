"""Which rows of two panes are folded away, and what the line in their place says.

Takes the kinds of rows and which of them a reader must see; keeps a little around those.
"""

from collections.abc import Sequence

from app.views.diff_panes import ADDED, PLACED, REMOVED, RENAMED, SAME, Fold

CONTEXT_ROWS = 2
LEAST_ROWS = 3
"""Fewer rows than these are shown: a line that stands for two saves nothing."""

Kinds = tuple[str, str]

_ONE_SIDED = {ADDED: "added", REMOVED: "removed"}


def folds_of(
    first: int, kinds: Sequence[Kinds], seen: Sequence[bool], likes: Sequence[int]
) -> list[Fold]:
    """Folds of the rows from row `first` on.

    Args:
        first: the row of `kinds[0]`.
        kinds: letters before and after, a row each.
        seen: whether the row must be shown.
        likes: the number of the edit that a row repeats, -1 for none.
    """
    shown = bytearray(len(kinds))
    for row, is_seen in enumerate(seen):
        if is_seen:
            for near in range(max(0, row - CONTEXT_ROWS), min(len(shown), row + CONTEXT_ROWS + 1)):
                shown[near] = 1
    folds: list[Fold] = []
    start = 0
    while start < len(shown):
        end = shown.find(1, start)
        end = len(shown) if end < 0 else end
        if end - start >= LEAST_ROWS:
            words = _words(kinds[start:end], likes[start:end])
            folds.append(Fold(row=first + start, rows=end - start, words=words))
        start = end + 1
    return folds


def _words(kinds: Sequence[Kinds], likes: Sequence[int]) -> str:
    letters = [after.strip() or before for before, after in kinds]
    same = sum(letter in (SAME, PLACED) for letter in letters)
    renamed = letters.count(RENAMED)
    repeated = [like for like in likes if like >= 0]
    others = len(kinds) - same - renamed - len(repeated)
    parts = (
        (same, f"{same:,} unchanged"),
        (renamed, f"{renamed:,} renamed only"),
        (len(repeated), _repeats(repeated)),
        (others, f"{others:,} more {_ONE_SIDED.get(letters[0], '')}".rstrip()),
    )
    return ", ".join(words for number, words in parts if number)


def _repeats(likes: Sequence[int]) -> str:
    """`12 like edit 3`: numbers are those that the page shows, from 1."""
    numbers = sorted(set(likes))
    named = ", ".join(str(number + 1) for number in numbers[:3])
    more = " and others" if len(numbers) > 3 else ""
    return f"{len(likes):,} like edit {named}{more}"
