"""Copies of one piece of a program that a loop in Python wrote one after the other.

In the first text of a module, before any pass: instructions of one computation that agree in
opcode, shape, operation and line, and whose operands do, are copies. Copies of which each depends
on the one before are the steps of a loop, and so are copies beside each other whose results go into
one total, a part at a time (gradients of one small batch after the other). Other copies beside each
other (an optimizer's update of each parameter) are none.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from app.analysis.flops import product_flops
from app.analysis.sources import source_of
from app.model.report import Source
from hlo_parser import Computation, Instruction, Module

# Each takes a pass over the computation.
_MOST_CHAINS = 50
# Copies whose ways into a total are followed; a set of copies is a number with a bit for each.
_MOST_COPIES = 4096
_TOTALS = frozenset({"add", "and", "maximum", "minimum", "multiply", "or"})
_NO_STEPS = frozenset({"constant", "get-tuple-element", "parameter", "tuple", "iota"})


class _Key(NamedTuple):
    """What copies of an instruction have in common."""

    opcode: str
    shape: str
    op_name: str | None
    source: Source
    operands: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class RepeatedLines:
    """`times` copies of a piece of `size` instructions in `computation`, each after the one before.

    `copies` are one matrix product or convolution of each, in their order; `lines` the source lines
    of the piece, the commonest first. Of copies that stand beside each other `total` is the last
    instruction that puts one's part into the total of all.
    """

    computation: Computation
    times: int
    size: int
    copies: tuple[Instruction, ...]
    lines: tuple[Source, ...]
    total: Instruction | None = None

    @property
    def instructions(self) -> int:
        """How many instructions all copies are together."""
        return self.times * self.size

    @property
    def saved(self) -> int:
        """How many of them a loop would not write."""
        return self.instructions - self.size


def find_repeated_lines(module: Module, *, least: int) -> RepeatedLines | None:
    """The piece whose copies make most of the module, at least `least` of them; None for none."""
    found = [
        piece
        for computation in module.computations
        if (piece := _piece(module, computation, least)) is not None
    ]
    return max(found, key=lambda piece: piece.instructions, default=None)


def _piece(module: Module, computation: Computation, least: int) -> RepeatedLines | None:
    groups = _groups(module, computation)
    steps = {
        key: copies
        for key, copies in groups.items()
        if len(copies) >= least and product_flops(computation, copies[0])
    }
    chained = [c for c in islice(steps.values(), _MOST_CHAINS) if _is_chain(computation, c)]
    total: Instruction | None = None
    if chained:
        times = Counter(len(copies) for copies in chained).most_common(1)[0][0]
        copies = next(copies for copies in chained if len(copies) == times)
    else:
        adding = [g for k, g in groups.items() if k.opcode in _TOTALS and len(g) >= least - 1]
        found = (
            (parts, copies)
            for copies in islice(steps.values(), _MOST_CHAINS)
            if adding and (parts := _parts(computation, copies, adding)) is not None
        )
        parts, copies = next(((p, c) for p, c in found if p.times >= least), (None, ()))
        if parts is None:
            return None
        times, total = parts.times, parts.total
        copies = copies[:: len(copies) // times]
    # A line that comes by several times in a step has a multiple of them.
    alike = {k: c for k, c in groups.items() if times <= len(c) and len(c) % times == 0}
    size = sum(len(ones) // times for ones in alike.values())
    lines = Counter(key.source for key, ones in alike.items() for _ in ones)
    return RepeatedLines(
        computation, times, size, copies, tuple(line for line, _ in lines.most_common()), total
    )


def _groups(module: Module, computation: Computation) -> dict[_Key, tuple[Instruction, ...]]:
    found: dict[_Key, list[Instruction]] = {}
    for instruction in computation.instructions:
        source = source_of(module, instruction)
        if source is None or instruction.opcode in _NO_STEPS:
            continue
        metadata = instruction.metadata
        key = _Key(
            instruction.opcode,
            instruction.shape.without_layout,
            metadata.op_name if metadata else None,
            source,
            tuple(_operands(computation, instruction)),
        )
        found.setdefault(key, []).append(instruction)
    return {key: tuple(instructions) for key, instructions in found.items()}


def _operands(computation: Computation, instruction: Instruction) -> Iterator[str]:
    """Shapes of the operands: what they are differs in the first copy and in the last."""
    for name in instruction.operands:
        operand = computation.get(name)
        yield "" if operand is None else operand.shape.without_layout


def _is_chain(computation: Computation, copies: Sequence[Instruction]) -> bool:
    """Whether each of the copies but the first depends on another one of them.

    One pass over the computation in its order, which puts operands first: a value carries the
    number of copies on its longest way.
    """
    wanted = {copy.name for copy in copies}
    longest: dict[str, int] = {}
    for instruction in computation.instructions:
        before = max((longest.get(name, 0) for name in instruction.operands), default=0)
        longest[instruction.name] = before + (instruction.name in wanted)
    return max(longest[copy.name] for copy in copies) == len(copies)


class _Parts(NamedTuple):
    """How many parts go into a total, and the instruction that puts in the last."""

    times: int
    total: Instruction


def _parts(
    computation: Computation,
    copies: Sequence[Instruction],
    adding: Sequence[Sequence[Instruction]],
) -> _Parts | None:
    """Whether instructions of one line put the results of the copies into a total one by one.

    Then the first of them rests on one part of the copies, or on two, the next on one part more,
    and the last on all of them; and no copy rests on those of another part.
    """
    if len(copies) > _MOST_COPIES:
        return None
    rests_on: dict[str, int] = {}
    bits = {copy.name: 1 << number for number, copy in enumerate(copies)}
    for instruction in computation.instructions:
        below = bits.get(instruction.name, 0)
        for name in instruction.operands:
            below |= rests_on.get(name, 0)
        rests_on[instruction.name] = below
    part = max(rests_on[copy.name].bit_count() for copy in copies)
    times, rest = divmod(len(copies), part)
    if rest:
        return None
    for group in adding:
        levels = {rests_on[one.name].bit_count(): one for one in group}
        expected = set(range(2 * part, len(copies) + 1, part))
        if levels.keys() - {part} == expected and len(group) % len(levels) == 0:
            return _Parts(times, levels[len(copies)])
    return None
