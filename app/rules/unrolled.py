"""Copies of one piece of a program that a loop in Python wrote, as rules tell them."""

from typing import NamedTuple

from app.analysis.repeated_lines import RepeatedLines, find_repeated_lines
from app.model.dump import ModuleHistory
from app.model.facts import Facts
from app.model.report import Workaround
from app.rules.cited import Named, cited
from app.rules.citing import place

_FEWEST = 4
# In a later text the copies may be XLA's own: it unrolls short scans.
_TRACED = ("before_optimizations", "other")
_SERIOUS_INSTRUCTIONS = 2_000


class Copies(NamedTuple):
    """What to say of copies beside another finding; all empty where there are none worth it."""

    words: str = ""
    named: tuple[Named, ...] = ()
    workarounds: tuple[Workaround, ...] = ()


def copies_in(history: ModuleHistory) -> RepeatedLines | None:
    """The copies in a module as it was traced, None without any."""
    first = history.dumps[0]
    if first.name.kind not in _TRACED:
        return None
    return find_repeated_lines(first.module, least=_FEWEST)


def is_serious(history: ModuleHistory, found: RepeatedLines) -> bool:
    """Whether a loop would leave out thousands of instructions, and half of the program."""
    all_of_it = history.dumps[0].module.instruction_count
    return found.saved >= _SERIOUS_INSTRUCTIONS and 2 * found.saved >= all_of_it


def first_and_last(facts: Facts, history: ModuleHistory, found: RepeatedLines) -> list[Named]:
    """The first and the last copy, with their lines."""
    return [
        cited(facts, history, history.dumps[0], found.computation, copy, role=role)
        for copy, role in ((found.copies[0], "first copy"), (found.copies[-1], "last copy"))
    ]


def written_as_a_scan(found: RepeatedLines, first: str) -> Workaround:
    """What to do about them; `first` is the place of the first copy in words."""
    return Workaround(
        text=f"Stack what differs between the {found.times} steps along a new first axis "
        f"and write the loop around {first} as jax.lax.scan"
        f"{', its carry the total' if found.total is not None else ''}."
    )


def copies_in_words(facts: Facts, history: ModuleHistory) -> Copies:
    """What makes a compile long, where copies do."""
    found = copies_in(history)
    if found is None or not is_serious(history, found):
        return Copies()
    named = first_and_last(facts, history, found)
    first = place(named[0].culprit)
    words = (
        f" {found.times} copies of the same {found.size} instructions ({first}) make up "
        f"{found.instructions:,} of its {history.dumps[0].module.instruction_count:,} instructions."
    )
    return Copies(words, tuple(named), (written_as_a_scan(found, first),))
