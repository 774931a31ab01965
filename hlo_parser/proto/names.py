"""Names by id, as a text can print them: legal and unique.

The names of a proto are any bytes and its ids are what counts; in a text the names count. What
had to be changed is noted.
"""

from __future__ import annotations

import re

from hlo_parser.patterns import NAME
from hlo_parser.possessive import compile_pattern
from hlo_parser.proto.budget import Budget

_is_name = compile_pattern(NAME, re.ASCII).fullmatch
_NO_NAME = compile_pattern(r"[^A-Za-z0-9_.\-]", re.ASCII)
_NO_THREAD = compile_pattern(r"[^ !#-\[\]-~]", re.ASCII)
_MAX_LENGTH = 1000


def legal_name(raw: bytes, notes: list[str]) -> str:
    """The name as XLA itself would make it legal (xla/service/name_uniquer.cc)."""
    name = raw.decode("utf-8", errors="backslashreplace")
    if _is_name(name):
        return name
    notes.append(f"{name[:60]!r} is no name")
    name = _NO_NAME.sub("_", name[:_MAX_LENGTH])
    return name if _is_name(name) else f"_{name}"


def legal_thread(raw: bytes, notes: list[str]) -> str:
    """The name of an execution thread; `main` where none is given.

    Readers of texts take it without undoing escapes, so what would need them is replaced.
    """
    name = raw.decode("utf-8", errors="backslashreplace") or "main"
    legal = _NO_THREAD.sub("_", name[:_MAX_LENGTH])
    if legal != name:
        notes.append(f"{name[:60]!r} is no name of a thread")
    return legal


class Names:
    """The names of one scope."""

    __slots__ = ("_budget", "_by_id", "_next", "_taken")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._by_id: dict[int, str] = {}
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def add(self, number: int, raw: bytes, notes: list[str]) -> str:
        """Take in a name and give it as printed, without `%`."""
        name = legal_name(raw, notes)
        if name in self._taken:
            notes.append(f"{name} is named twice")
            name = self._free(name)
        self._taken.add(name)
        if number in self._by_id:
            notes.append(f"id {number} is given twice")
        else:
            self._by_id[number] = name
        return name

    def _free(self, name: str) -> str:
        """The first name of this beginning that nothing has yet."""
        number = self._next.get(name, 1)
        while f"{name}.{number}" in self._taken:
            number += 1
        self._next[name] = number + 1
        return f"{name}.{number}"

    def printed(self, numbers: tuple[int, ...], what: str, notes: list[str]) -> tuple[str, ...]:
        """The names of ids with `%`; a stand-in for what nothing has."""
        if not numbers:
            return ()
        return tuple([self._printed(number, what, notes) for number in numbers])

    def _printed(self, number: int, what: str, notes: list[str]) -> str:
        name = self._by_id.get(number)
        if name is None:
            notes.append(f"no {what} has the id {number}")
            return f"%missing.{number}"
        self._budget.spend(len(name))
        return f"%{name}"
