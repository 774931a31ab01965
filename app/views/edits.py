"""The edits of one pair of computations, each with a key that is the same for equal edits.

A pass does one thing a thousand times, and a reader wants to see it once. Two edits are equal when
both add (or remove, or move) an instruction of the same opcode and shape, or when both replace the
same stretch of text by the same other one in an instruction of the same opcode. Numbers that XLA
adds to names do not count there, and a change of metadata alone is equal to any other.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from app.model.facts import ComputationDiff, InstructionChange
from hlo_parser import Computation, Instruction

EditKind = Literal["added", "removed", "changed", "moved"]
Mark = tuple[int, int]

# `%add.3.clone` counts as `%add`; `1.5` and `{1,0}` stay.
_NUMBERED = re.compile(r"(?<![\w.-])(%?[A-Za-z_][\w-]*+)(?:\.[\w-]++)++")
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-%")


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit; marks are the differing parts of the two instruction texts, from and to."""

    kind: EditKind
    key: tuple[object, ...]
    order: int
    before: Instruction | None = None
    after: Instruction | None = None
    what: tuple[str, ...] = ()
    how: str = ""
    before_mark: Mark | None = None
    after_mark: Mark | None = None


def edits_of(diff: ComputationDiff, before: Computation, after: Computation) -> list[Edit]:
    """All edits between the two, roughly in the order of the texts."""
    edits = [
        *_one_sided("removed", diff.removed, before),
        *_one_sided("added", diff.added, after),
        *_one_sided("moved", diff.moved, after),
        *(_changed(change, before, after) for change in diff.changed),
    ]
    edits.sort(key=lambda edit: edit.order)
    return edits


def _one_sided(kind: EditKind, names: tuple[str, ...], computation: Computation) -> Iterator[Edit]:
    for name in names:
        order = computation.position(name)
        item = computation.instructions[order]
        key = (kind, item.opcode, item.shape.without_layout)
        if kind == "removed":
            yield Edit(kind, key, order, before=item)
        else:
            yield Edit(kind, key, order, after=item)


def _changed(change: InstructionChange, before: Computation, after: Computation) -> Edit:
    here = before.instructions[before.position(change.before)]
    order = after.position(change.after)
    there = after.instructions[order]
    before_mark, after_mark = differing_parts(here.text, there.text)
    if change.what == ("metadata",):
        key = ("changed", "metadata")
    else:
        old, new = here.text[slice(*before_mark)], there.text[slice(*after_mark)]
        key = ("changed", there.opcode, change.what, _unnumbered(old), _unnumbered(new))
    return Edit(
        "changed", key, order, here, there, change.what, change.how, before_mark, after_mark
    )


def differing_parts(before: str, after: str) -> tuple[Mark, Mark]:
    """The stretch of each text that the other has not, in whole words, their names aside.

    The name in front of ` = ` is no part of what an instruction does; it counts only when there
    is nothing else.
    """
    skip_before, skip_after = max(0, before.find(" = ")), max(0, after.find(" = "))
    left, right = before[skip_before:], after[skip_after:]
    if left == right:
        return (0, skip_before), (0, skip_after)
    start = _common_words(left, right)
    end = _common_words(left[start:][::-1], right[start:][::-1])
    return (
        (skip_before + start, skip_before + len(left) - end),
        (skip_after + start, skip_after + len(right) - end),
    )


def _common_words(left: str, right: str) -> int:
    """Length of the common prefix that cuts through no word of either text."""
    length = _common_prefix(left, right)
    if any(text[length : length + 1] in _WORD for text in (left, right)):
        while length and left[length - 1] in _WORD:
            length -= 1
    return length


def _common_prefix(left: str, right: str) -> int:
    """Length of the common prefix; halves, since texts may be long and compare fast."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _unnumbered(text: str) -> str:
    return _NUMBERED.sub(r"\1", text)
