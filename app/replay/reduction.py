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
    try:
        while not is_minimal:
            size = draft.size
            for kind in KINDS:
                draft, is_done = _with_cuts(draft, kind, fails)
                if told is not None:
                    told(kind.name, draft.size)
                if not is_done:
                    raise OutOfBudget
            is_minimal = draft.size == size
    except OutOfBudget:
        pass  # what was found until then is told as not minimal
    return Reduction(draft.text, module.instruction_count, draft.size, is_minimal)


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
