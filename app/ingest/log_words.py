r"""Searches a block of a log for words that mean something, most of which stand nowhere in it.

A search for each of many words reads the block as often as there are words. But a log is written
with few words of letters, over and over: each is judged once, and then only those of the wanted
words are searched that may be there. Which words are wanted is said in `log_marks`.
"""

import re
from collections.abc import Sequence

# Letters stay, all else parts words.
_LETTERS = bytes(c if chr(c).isascii() and chr(c).isalpha() else 32 for c in range(256))
_RUN = re.compile(rb" ?[A-Za-z]+ ?")
# So many new words in a block make it cheaper to search the block itself.
_MANY_FRESH = 4000
_MOST_KNOWN = 1 << 17


class WordFinder:
    """Says which of the wanted words may stand in a block; never one too few."""

    def __init__(self, wanted: Sequence[bytes]) -> None:
        self._wanted = tuple(wanted)
        self._cores = tuple(_core(word) for word in wanted)
        self._known: set[bytes] = set()
        # The words of letters, of those known, in which each wanted word may stand.
        self._homes: tuple[set[bytes], ...] = tuple(set() for _ in self._wanted)

    def possible(self, block: bytes) -> Sequence[bytes]:
        """The wanted words that may stand in the block, in the order given."""
        words = set(block.translate(_LETTERS).split())
        if len(self._known) > _MOST_KNOWN:
            for kept in (self._known, *self._homes):
                kept.clear()
        fresh = words - self._known
        if len(fresh) > _MANY_FRESH:
            return self._wanted
        if fresh:
            self._learn(fresh)
        return [
            wanted
            for wanted, core, homes in zip(self._wanted, self._cores, self._homes, strict=True)
            if not core or not homes.isdisjoint(words)
        ]

    def _learn(self, fresh: set[bytes]) -> None:
        self._known |= fresh
        joined = b" " + b"  ".join(fresh) + b" "
        for core, homes in zip(self._cores, self._homes, strict=True):
            place = joined.find(core) if core else -1
            while place >= 0:
                start = joined.rfind(b"  ", 0, place + 1) + 1
                end = joined.find(b"  ", place + 1)
                end = len(joined) if end < 0 else end
                homes.add(joined[start:end].strip())
                place = joined.find(core, max(end, place + 1))


def _core(wanted: bytes) -> bytes:
    """The longest run of letters, with a blank where something else stands beside it.

    Empty where the word holds no letters.
    """
    runs = [found[0] for found in _RUN.finditer(wanted.translate(_LETTERS))]
    return max(runs, key=len, default=b"")
