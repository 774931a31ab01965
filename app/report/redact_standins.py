"""What stands for what was taken out: the same word for the same thing, wherever it appears.

So texts which were equal stay equal and those which differed stay different. A word is its kind
and a number: `path3`, `user1`. Every word that goes into a text is counted, but for texts of which
it is said that they hold what was counted before.
"""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

Kind = str


class Words:
    """What stands for what, by kind, and how often it was put there; 0 if into such texts alone."""

    def __init__(self) -> None:
        self.shown: dict[tuple[Kind, str], str] = {}
        self.used: Counter[tuple[Kind, str]] = Counter()
        self._last: Counter[Kind] = Counter()
        self._words: set[str] = set()
        self._counts = True

    def known(self, kind: Kind, original: str) -> str:
        """The word for `original`, without counting it as put anywhere."""
        word = self.shown.get((kind, original))
        if word is None:
            self._last[kind] += 1
            word = self.shown[kind, original] = f"{kind}{self._last[kind]}"
            self._words.add(word)
        return word

    def is_word(self, text: str) -> bool:
        """It stands for something."""
        return text in self._words

    def put(self, kind: Kind, original: str) -> str:
        """The word for `original`, which goes into a text now."""
        self.used[kind, original] += self._counts
        return self.known(kind, original)

    @contextmanager
    def uncounted(self) -> Generator[None]:
        """What goes into texts meanwhile was counted before."""
        self._counts = False
        try:
            yield
        finally:
            self._counts = True

    def note(self, kind: Kind, original: str, shown: str) -> str:
        """Count that `shown`, which is no word of ours, goes into a text for `original`."""
        self.used[kind, original] += self._counts
        self.shown[kind, original] = shown
        return shown
