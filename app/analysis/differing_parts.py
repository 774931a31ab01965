"""In what two instructions that are one differ: opcode, shape, operands, attributes, metadata.

Given a matching of their computations, it names the parts; that two names differ is no difference,
nor is an operand that was matched under another name. What called computations became is not
looked at.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from app.analysis.fingerprints import UNCOUNTED_KEYS, immediate
from app.analysis.matching import Matching
from hlo_parser import FrameTables, Instruction, Module, Shape, SourceLocation

_FRAME_ID = re.compile(r"stack_frame_id=\d++\s*+")
_SPACE = re.compile(r"S\(\d++\)")

# Attributes with a name of their own in `InstructionChange.what`; the others are `attributes`.
_OWN_NAMES = frozenset({"backend_config", "frontend_attributes", "sharding"})


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison depends on beside the two computations.

    `frames` are the two frame tables where they are not one: frame numbers mean other lines then.
    """

    scheduled: bool
    frames: tuple[FrameTables | None, FrameTables | None] | None

    @staticmethod
    def of(before: Module, after: Module) -> "Comparison":
        """That of two texts."""
        return Comparison(
            scheduled=before.header.is_scheduled and after.header.is_scheduled,
            frames=None if before.frames is after.frames else (before.frames, after.frames),
        )

    def is_same_metadata(self, before: Instruction, after: Instruction) -> bool:
        """Whether two metadata values say the same, frame numbers taken as the lines they mean."""
        here = before.attributes.get("metadata", "")
        there = after.attributes.get("metadata", "")
        if here == there:
            return True
        if self.frames is None or _FRAME_ID.sub("", here) != _FRAME_ID.sub("", there):
            return False
        return self._place(0, before) == self._place(1, after)

    def _place(self, side: Literal[0, 1], instruction: Instruction) -> SourceLocation | None:
        tables = None if self.frames is None else self.frames[side]
        metadata = instruction.metadata
        frame = None if metadata is None else metadata.stack_frame_id
        return None if tables is None or frame is None else tables.location(frame)


def differences(matching: Matching, i: int, j: int, comparison: Comparison) -> Iterator[str]:
    """The names of what differs between two matched instructions, their own names aside."""
    here, there = matching.before.instructions[i], matching.after.instructions[j]
    if here.opcode != there.opcode:
        yield "opcode"
    elif immediate(here) != immediate(there):
        yield "literal" if here.opcode == "constant" else "parameter_number"
    if here.shape.text != there.shape.text:
        yield from _shape_differences(here.shape, there.shape)
    if not _has_same_operands(matching, i, j):
        yield "operands"
    yield from _attribute_differences(here.attributes, there.attributes)
    if (i == matching.before.root) != (j == matching.after.root):
        yield "root"
    if not _has_same_control(matching, here, there):
        yield "control_predecessors"
    if not comparison.is_same_metadata(here, there):
        yield "metadata"


def _shape_differences(before: Shape, after: Shape) -> Iterator[str]:
    if before.without_layout != after.without_layout:
        yield "shape"
        return
    if _memory_spaces(before) != _memory_spaces(after):
        yield "memory_space"
    if _SPACE.sub("", before.text) != _SPACE.sub("", after.text):
        yield "layout"


def _memory_spaces(shape: Shape) -> list[str]:
    return _SPACE.findall(shape.text)


def _has_same_operands(matching: Matching, i: int, j: int) -> bool:
    here, there = matching.before.instructions[i], matching.after.instructions[j]
    if len(here.operands) != len(there.operands) or here.operand_paths != there.operand_paths:
        return False
    operands = zip(
        matching.before.operands(i),
        matching.after.operands(j),
        here.operands,
        there.operands,
        strict=True,
    )
    # A name that the text does not define (-1) is compared as it stands.
    return all(
        matching.partner.get(left) == right if left >= 0 <= right else name == other
        for left, right, name, other in operands
    )


def _has_same_control(matching: Matching, before: Instruction, after: Instruction) -> bool:
    """Whether both wait for the same; order in the list means nothing."""
    if before.control_predecessors == after.control_predecessors:
        return True
    return _partners(matching, before.control_predecessors) == frozenset(after.control_predecessors)


def _partners(matching: Matching, names: Sequence[str]) -> frozenset[str]:
    found: set[str] = set()
    for name in names:
        i = matching.before.index.get(name)
        j = None if i is None else matching.partner.get(i)
        found.add(name if j is None else matching.after.instructions[j].name)
    return frozenset(found)


def _attribute_differences(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    if before is after:
        return
    keys = {*before, *after} - UNCOUNTED_KEYS
    differing = {key for key in keys if before.get(key) != after.get(key)}
    if differing - _OWN_NAMES:
        yield "attributes"
    yield from sorted(differing & _OWN_NAMES)
