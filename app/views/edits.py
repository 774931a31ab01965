"""The edits of one pair of computations, each with a key that is the same for equal edits.

A pass does one thing a thousand times, and a reader wants to see it once. Two edits are equal when
both add (or remove, move, copy) an instruction of the same opcode and shape, or when both replace
the same stretch of text by the same other one in an instruction of the same opcode. Numbers that
XLA adds to names do not count there, and a change of metadata alone is equal to any other.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from app.model.facts import ComputationDiff, InstructionChange
from hlo_parser import Computation, Instruction
from hlo_parser.possessive import compile_pattern

EditKind = Literal["added", "removed", "changed", "moved", "copied"]
Mark = tuple[int, int]

# `%add.3.clone` counts as `%add`; `1.5` and `{1,0}` stay.
_NUMBERED = compile_pattern(r"(?<![\w.-])(%?[A-Za-z_][\w-]*+)(?:\.[\w-]++)++")
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-%")


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit; marks are the differing parts of the two instruction texts, from and to.

    `where` says in words where a copy or a moved instruction comes from, or where it went.
    """

    kind: EditKind
    key: tuple[object, ...]
    order: int
    before: Instruction | None = None
    after: Instruction | None = None
    what: tuple[str, ...] = ()
    how: str = ""
    before_mark: Mark | None = None
    after_mark: Mark | None = None
    where: str = ""


def edits_of(diff: ComputationDiff, before: Computation, after: Computation) -> list[Edit]:
    """All edits between the two, roughly in the order of the texts."""
    origins = {
        name: f"copy of %{copied.instruction}"
        + ("" if copied.computation == diff.before else f" in %{copied.computation}")
        for copied in diff.copies
        for name in copied.copies
    }
    edits = [
        *_one_sided("removed", diff.removed, before),
        *_one_sided("added", (name for name in diff.added if name not in origins), after),
        *_copied(origins, after),
        *_relocated(diff, before, after),
        *_one_sided("moved", diff.moved, after),
        *(_changed(change, before, after) for change in diff.changed),
    ]
    edits.sort(key=lambda edit: edit.order)
    return edits


def relocations_of(
    diff: ComputationDiff, before: Computation | None, after: Computation | None
) -> list[Edit]:
    """What came in of an added computation, what went out of a removed one."""
    return sorted(_relocated(diff, before, after), key=lambda edit: edit.order)


def _copied(origins: Mapping[str, str], computation: Computation) -> Iterator[Edit]:
    for name, where in origins.items():
        order = computation.position(name)
        item = computation.instructions[order]
        # Where one body was copied, each copy has another origin: the computation is what counts.
        key = ("copied", item.opcode, item.shape.without_layout, where.partition(" in ")[2])
        yield Edit("copied", key, order, after=item, where=where)


def _relocated(
    diff: ComputationDiff, before: Computation | None, after: Computation | None
) -> Iterator[Edit]:
    if before is not None:
        for pair in diff.moved_out:
            order = before.position(pair.before[1])
            item = before.instructions[order]
            where = f"into %{pair.after[0]}"
            key = ("moved", item.opcode, item.shape.without_layout, _unnumbered(where))
            yield Edit("moved", key, order, before=item, where=f"{where}, %{pair.after[1]} there")
    if after is not None:
        for pair in diff.moved_in:
            order = after.position(pair.after[1])
            item = after.instructions[order]
            where = f"out of %{pair.before[0]}"
            key = ("moved", item.opcode, item.shape.without_layout, _unnumbered(where))
            yield Edit("moved", key, order, after=item, where=f"{where}, %{pair.before[1]} there")


def _one_sided(kind: EditKind, names: Iterable[str], computation: Computation) -> Iterator[Edit]:
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
    if left[length : length + 1] in _WORD or right[length : length + 1] in _WORD:
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
    return _NUMBERED.sub(r"\1", text) if "." in text else text
