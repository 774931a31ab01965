"""What uses a value, at any hand: how a value without a line of its own is led to one.

Given is a place in a parsed module; what is given back are later places of the same module, the
nearest first. Where the value leaves its computation, its reading goes on behind what runs that.
"""

from collections.abc import Iterator

from app.analysis.suspects import Place
from hlo_parser import Computation, Instruction, Module

# Computations that run each other, around the value.
_MOST_AROUND = 8


def readers_of(computation: Computation, value: Instruction) -> Iterator[Instruction]:
    """What uses a value within its computation, in the order of the text."""
    reached = {value.name}
    for instruction in computation.instructions:
        if not reached.isdisjoint(instruction.operands):
            reached.add(instruction.name)
            yield instruction


def readers_anywhere(
    module: Module, computation: Computation, value: Instruction
) -> Iterator[Place]:
    """What uses a value in its computation, then the instruction that runs this, and so on."""
    for _ in range(_MOST_AROUND):
        for reader in readers_of(computation, value):
            yield computation, reader
        runs = next(iter(module.callers(computation.name)), None)
        if runs is None:
            return
        computation, value = runs
        yield computation, value
