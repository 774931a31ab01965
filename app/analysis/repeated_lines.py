"""Copies of one piece of a program that a loop in Python wrote one after the other.

In the first text of a module, before any pass: instructions of one computation that agree in
opcode, shape, operation and line, and whose operands do, are copies. Copies of which each depends
on the one before are the steps of a loop; copies beside each other (an optimizer's update of each
parameter) are none.
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
    of the piece, the commonest first.
    """

    computation: Computation
    times: int
    size: int
    copies: tuple[Instruction, ...]
    lines: tuple[Source, ...]

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
    if not chained:
        return None
    times = Counter(len(copies) for copies in chained).most_common(1)[0][0]
    copies = next(copies for copies in chained if len(copies) == times)
    # A line that comes by several times in a step has a multiple of them.
    alike = {k: c for k, c in groups.items() if times <= len(c) and len(c) % times == 0}
    size = sum(len(found) // times for found in alike.values())
    lines = Counter(key.source for key, found in alike.items() for _ in found)
    return RepeatedLines(
        computation, times, size, copies, tuple(line for line, _ in lines.most_common())
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
