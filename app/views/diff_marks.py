"""What differs between two lines of HLO text, to the character, and which of its words are names.

A name that became another one, as the counterpart of an operand has, is no difference: it is
marked as renamed. Takes texts and gives positions in them, from and to (exclusive).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import NamedTuple

from hlo_parser.possessive import compile_pattern

MAX_WORDS = 400
"""Differing parts of more words than these are marked as one."""

_WORD = compile_pattern(r'"(?:[^"\\]|\\.)*+"?|%?[A-Za-z_][\w.-]*+|\d[\w.]*+|\s++|.', re.DOTALL)
_NAME = compile_pattern(r"%?[A-Za-z_][\w.-]*+")
# What such a word is followed by is an opcode, a shape or the key of an attribute, and no name.
_NO_NAME_BEFORE = ("(", "[", "=")


class Mark(NamedTuple):
    """A part of a text; `renamed` where only a name is another one."""

    start: int
    end: int
    renamed: bool


class Reference(NamedTuple):
    """A name in a text and the row where it is defined."""

    start: int
    end: int
    row: int


def differing_marks(
    before: str, after: str, names: Mapping[str, str]
) -> tuple[list[Mark], list[Mark]]:
    """The parts of each text that the other has not; `names` are counterparts by name before."""
    old, new = _words(before), _words(after)
    meant = [_renamed(word, names) for word in old]
    start = _common(meant, new)
    end = _common(meant[start:][::-1], new[start:][::-1])
    old_end, new_end = len(old) - end, len(new) - end
    old_at, new_at = _offsets(old), _offsets(new)
    marks: tuple[list[Mark], list[Mark]] = [], []
    for i, j in (*_steps(0, start, 0), *_steps(old_end, len(old), new_end - old_end)):
        _mark_rename(old[i], new[j], old_at[i], new_at[j], marks)
    if max(old_end, new_end) - start > MAX_WORDS:
        _mark(marks[0], old_at[start], old_at[old_end])
        _mark(marks[1], new_at[start], new_at[new_end])
    else:
        matcher = SequenceMatcher(None, meant[start:old_end], new[start:new_end], autojunk=False)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            i1, i2, j1, j2 = i1 + start, i2 + start, j1 + start, j2 + start
            if tag == "equal":
                for i, j in _steps(i1, i2, j1 - i1):
                    _mark_rename(old[i], new[j], old_at[i], new_at[j], marks)
            elif i2 - i1 == j2 - j1 == 1:
                left, right = _inner(old[i1], new[j1])
                _mark(marks[0], old_at[i1] + left[0], old_at[i1] + left[1])
                _mark(marks[1], new_at[j1] + right[0], new_at[j1] + right[1])
            else:
                _mark(marks[0], old_at[i1], old_at[i2])
                _mark(marks[1], new_at[j1], new_at[j2])
    return sorted(marks[0]), sorted(marks[1])


def references_in(text: str, row_of: Callable[[str], int | None]) -> Iterator[Reference]:
    """The words of a text that name something `row_of` knows, strings in quotes aside."""
    for found in _WORD.finditer(text):
        word = found[0]
        if not _NAME.fullmatch(word):
            continue
        if not word.startswith("%") and text.startswith(_NO_NAME_BEFORE, found.end()):
            continue
        row = row_of(word.removeprefix("%"))
        if row is not None:
            yield Reference(found.start(), found.end(), row)


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _renamed(word: str, names: Mapping[str, str]) -> str:
    if word.startswith("%"):
        return f"%{names.get(word[1:], word[1:])}"
    return names.get(word, word)


def _common(left: list[str], right: list[str]) -> int:
    length = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        length += 1
    return length


def _offsets(words: list[str]) -> list[int]:
    at = [0]
    for word in words:
        at.append(at[-1] + len(word))
    return at


def _steps(start: int, end: int, shift: int) -> list[tuple[int, int]]:
    return [(i, i + shift) for i in range(start, end)]


def _mark_rename(
    old: str, new: str, old_at: int, new_at: int, marks: tuple[list[Mark], list[Mark]]
) -> None:
    if old != new:
        marks[0].append(Mark(old_at, old_at + len(old), True))
        marks[1].append(Mark(new_at, new_at + len(new), True))


def _mark(marks: list[Mark], start: int, end: int) -> None:
    if end > start:
        marks.append(Mark(start, end, False))


def _inner(old: str, new: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """The differing part of two words: all of a name or number, the middle of a long string."""
    if not (old.startswith('"') and new.startswith('"')):
        return (0, len(old)), (0, len(new))
    start = _common(list(old), list(new))
    end = _common(list(old[start:])[::-1], list(new[start:])[::-1])
    return (start, len(old) - end), (start, len(new) - end)
