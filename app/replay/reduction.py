"""From a failing module to a small one with the same failure, each step checked by a compile.

Given a module and a test that compiles a text; gives the smallest draft found. Names and metadata
stay, so what is left still tells its lines of the program. What it ends with always parses.
"""

from collections.abc import Callable
from dataclasses import dataclass

from app.replay.draft import Draft, draft_of
from app.replay.edits import KINDS, Kind, cut
from app.replay.search import OutOfBudget, minimize
from hlo_parser import HloSyntaxError, Module, parse_module

Fails = Callable[[bytes], bool]
"""Whether a text still fails in the way looked for; it may raise `OutOfBudget`."""


_NAMED = tuple(kind for kind in KINDS if kind.is_by_name)
_COUNTED = tuple(kind for kind in KINDS if not kind.is_by_name)
_LEAST_SAVING = 3


@dataclass(frozen=True, slots=True)
class Reduction:
    """The text found, instructions before and after, and whether nothing more could be cut."""

    text: str
    before: int
    after: int
    is_minimal: bool


def reduce_module(
    module: Module, fails: Fails, told: Callable[[str, int], None] | None = None
) -> Reduction | None:
    """The smallest module found; None where it does not fail once it is printed by us.

    Args:
        module: as parsed.
        fails: compiles a text.
        told: is given the kind of cut and the size after each round of it.

    Raises:
        UsageError: the module is not understood in full.
    """
    draft = draft_of(module)
    try:
        if not fails(draft.text.encode()):
            return None
    except OutOfBudget:
        return None
    is_minimal = False
    work = _Reducing(draft, fails, told)
    try:
        while not is_minimal:
            size = work.draft.size
            work.cut_in_chunks(_COUNTED)
            work.cut_what_saves_most()
            if work.draft.size == size:
                work.cut_in_chunks(_NAMED)
                is_minimal = work.draft.size == size
    except OutOfBudget:
        pass  # what was found until then is told as not minimal
    found = work.draft
    return Reduction(found.text, module.instruction_count, found.size, is_minimal)


class _Reducing:
    """The draft on its way down; what was found stays when the budget ends."""

    def __init__(self, draft: Draft, fails: Fails, told: Callable[[str, int], None] | None) -> None:
        self.draft = draft
        self._fails = fails
        self._told = told

    def cut_in_chunks(self, kinds: tuple[Kind, ...]) -> None:
        """As many cuts of each kind as the failure bears.

        Raises:
            OutOfBudget: not all were tried.
        """
        for kind in kinds:
            self.draft, is_done = _with_cuts(self.draft, kind, self._fails)
            self._tell(kind.name)
            if not is_done:
                raise OutOfBudget

    def cut_what_saves_most(self) -> None:
        """Single cuts, those first that take the most lines with them; small ones are left."""
        draft = self.draft
        options = [(k, p) for k in _NAMED for p in k.places(draft)]
        savings = [draft.size - cut(kind, draft, [place]).size for kind, place in options]
        worthwhile = [i for i, saving in enumerate(savings) if saving >= _LEAST_SAVING]
        for i in sorted(worthwhile, key=lambda i: -savings[i]):
            kind, place = options[i]
            smaller = cut(kind, self.draft, [place])
            if smaller.size > self.draft.size - _LEAST_SAVING:
                continue  # an earlier cut took it along
            text = smaller.text.encode()
            if _is_sound(text) and self._fails(text):
                self.draft = smaller
                self._tell(kind.name)

    def _tell(self, name: str) -> None:
        if self._told is not None:
            self._told(name, self.draft.size)


def _with_cuts(draft: Draft, kind: Kind, fails: Fails) -> tuple[Draft, bool]:
    """The draft with as many cuts of this kind as the failure bears, and whether all were tried."""
    places = kind.places(draft)

    def still_fails(uncut: tuple[tuple[str, str], ...]) -> bool:
        smaller = cut(kind, draft, set(places) - set(uncut))
        if smaller.size >= draft.size:
            # A cut that takes nothing away helps only with others: it is not worth a compile.
            return False
        text = smaller.text.encode()
        return _is_sound(text) and fails(text)

    if not places:
        return draft, True
    smallest = minimize(places, still_fails)
    cuts = set(places) - set(smallest.items)
    return (cut(kind, draft, cuts) if cuts else draft), smallest.is_minimal


def _is_sound(text: bytes) -> bool:
    try:
        return not parse_module(text, strict=True).unparsed
    except HloSyntaxError:
        return False
