"""Names found in a text in one pass, in time that does not grow with how many names there are.

A `Vocabulary` is given names and then texts. A name is found where it stands whole: between signs
that neither go on a name nor begin one, of which whoever makes it says what they are. Where several
begin at one place the longest is found.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from hlo_parser.possessive import compile_pattern

MAX_NAME = 4096
"""Characters of the longest name that is looked for: as long as a path may be."""

# Looking for each of so few takes less time than cutting the text.
_FEW = 12


@dataclass(slots=True)
class _Step:
    """What may follow the pieces so far, and the name that they are, if they are one."""

    next: dict[str, "_Step"] = field(default_factory=dict[str, "_Step"])
    name: str = ""


class Vocabulary:
    """The names, and finding them.

    `inner` are characters as a class of a pattern has them: no name is found that begins or ends
    within a run of them. Before a name none of `before` may stand. What follows a name that ends in
    another sign does not count if it `may_go_on`.
    """

    def __init__(
        self, inner: str, *, before: str, may_go_on: bool = False, folds_case: bool = False
    ) -> None:
        self._run = compile_pattern(f"[{inner}]++")
        self._piece = compile_pattern(rf"[{inner}]++|[^{inner}]")
        self._barred = compile_pattern(rf"[{before}]")
        self._may_go_on = may_go_on
        self._folds_case = folds_case
        self._names: set[str] = set()
        self._first_runs: set[str] = set()
        self._start = _Step()

    def add(self, name: str) -> None:
        """Look for `name` from now on; not for one longer than `MAX_NAME`."""
        folded = self._folded(name)
        if not name or len(name) > MAX_NAME or folded in self._names:
            return
        self._names.add(folded)
        run = self._run.search(folded)
        self._first_runs.add(run[0] if run else "")
        step = self._start
        for piece in self._piece.findall(name):
            step = step.next.setdefault(self._folded(piece), _Step())
        step.name = name

    def replace(self, text: str, shown: Callable[[str], str]) -> str:
        """The text with `shown(name)` for each name, which is given as it was added."""
        if not self._may_hold(text):
            return text
        pieces = self._piece.findall(text)
        kept: list[str] = []
        at = 0
        while at < len(pieces):
            name, end = self._longest(pieces, at)
            kept.append(shown(name) if name else pieces[at])
            at = end
        return "".join(kept)

    def _may_hold(self, text: str) -> bool:
        if not self._names:
            return False
        text = self._folded(text)
        if len(self._names) <= _FEW:
            return any(name in text for name in self._names)
        return "" in self._first_runs or not self._first_runs.isdisjoint(self._run.findall(text))

    def _longest(self, pieces: list[str], start: int) -> tuple[str, int]:
        """The longest name that begins at `start`, or none, and where to go on."""
        name, end = "", start + 1
        step = self._start.next.get(self._folded(pieces[start]))
        if step is None or (start and self._barred.match(pieces[start - 1][-1])):
            return name, end
        at = start + 1
        while step is not None:
            if step.name and self._ends_at(pieces, at):
                name, end = step.name, at
            step = step.next.get(self._folded(pieces[at])) if at < len(pieces) else None
            at += 1
        return name, end

    def _ends_at(self, pieces: list[str], at: int) -> bool:
        if at == len(pieces) or self._run.match(pieces[at - 1]):
            return True
        return self._may_go_on or not self._run.match(pieces[at])

    def _folded(self, text: str) -> str:
        return text.lower() if self._folds_case else text
