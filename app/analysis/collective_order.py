"""Collectives of one computation that nothing orders although devices take part in both.

Devices that begin two such collectives in different orders wait for one another for ever. One
schedule for all devices rules that out, so a pair is no fault by itself: it is what only the
schedule keeps apart, and what goes wrong where devices run programs of their own. Order is that of
operands and control predecessors between the instructions that begin them, as printed; the text
order of a schedule is not asked. Pairs across computations are not looked at.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from app.analysis.async_pairs import WRAPPERS, wrapped_operations
from app.analysis.device_groups import devices_of, pairs_of
from app.analysis.opcodes import COLLECTIVES, collective_opcode
from hlo_parser import Computation, Instruction, Module

MOST_PAIRS = 100
"""Pairs listed per computation; all of them are counted."""


@dataclass(frozen=True, slots=True)
class UnorderedPair:
    """Two collectives by the names of what begins them, in text order.

    `shared` are the devices that take part in both; None where the groups are not known, or have
    too many devices to be written out, so that they may overlap.
    """

    first: str
    second: str
    shared: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class UnorderedCollectives:
    """The pairs of one computation: how many, and the first `MOST_PAIRS` of them."""

    computation: str
    count: int
    pairs: tuple[UnorderedPair, ...]


def find_unordered_collectives(module: Module) -> tuple[UnorderedCollectives, ...]:
    """The computations with unordered collectives that share devices, in text order."""
    fused = {
        callee.name
        for computation in module.computations
        for instruction in computation.instructions
        if instruction.opcode in WRAPPERS
        for callee in instruction.callees
    }
    return tuple(
        found
        for computation in module.computations
        if computation.name not in fused and (found := _unordered(module, computation)) is not None
    )


def _unordered(module: Module, computation: Computation) -> UnorderedCollectives | None:
    begun = tuple(_collectives(module, computation))
    if len(begun) < 2:
        return None
    before = _collectives_before(computation, [start.name for start, _ in begun])
    members = [_devices(module, operation) for _, operation in begun]
    pairs: list[UnorderedPair] = []
    count = 0
    for one, other in combinations(range(len(begun)), 2):
        first, second = begun[one][0].name, begun[other][0].name
        if before[first] >> other & 1 or before[second] >> one & 1:
            continue
        shared = _shared(members[one], members[other])
        if shared == ():
            continue
        count += 1
        if len(pairs) < MOST_PAIRS:
            pairs.append(UnorderedPair(first, second, shared))
    return UnorderedCollectives(computation.name, count, tuple(pairs)) if count else None


def _collectives(
    module: Module, computation: Computation
) -> Iterator[tuple[Instruction, Instruction]]:
    """Each instruction that begins collectives, with the first that it runs."""
    for instruction in computation.instructions:
        if collective_opcode(instruction) in COLLECTIVES:
            yield instruction, instruction
        elif instruction.opcode in WRAPPERS:
            for _, operation in wrapped_operations(module, instruction):
                if collective_opcode(operation) in COLLECTIVES:
                    yield instruction, operation
                    break


def _collectives_before(computation: Computation, starts: Sequence[str]) -> Mapping[str, int]:
    """For each instruction the collectives it needs, as bits by their place in `starts`.

    An instruction is visited after all that it needs; what closes a cycle (texts that XLA refuses)
    is left out.
    """
    bits = {name: 1 << number for number, name in enumerate(starts)}
    before: dict[str, int] = {}
    opened: set[str] = set()
    for root in computation.instructions:
        pending = [root]
        while pending:
            here = pending[-1]
            if here.name in before:
                pending.pop()
                continue
            needed = _needed(computation, here)
            if here.name not in opened:
                opened.add(here.name)
                pending += [i for i in needed if i.name not in opened]
                continue
            found = 0
            for instruction in needed:
                found |= before.get(instruction.name, 0) | bits.get(instruction.name, 0)
            before[here.name] = found
            pending.pop()
    return before


def _needed(computation: Computation, instruction: Instruction) -> tuple[Instruction, ...]:
    names = dict.fromkeys((*instruction.operands, *instruction.control_predecessors))
    found = (computation.get(name) for name in names)
    return tuple(i for i in found if i is not None)


def _devices(module: Module, collective: Instruction) -> frozenset[int] | None:
    """The devices that take part, None where they are not known."""
    groups = devices_of(module, collective) or pairs_of(module, collective)
    return frozenset(device for group in groups for device in group) or None


def _shared(one: frozenset[int] | None, other: frozenset[int] | None) -> tuple[int, ...] | None:
    if one is None or other is None:
        return None
    return tuple(sorted(one & other))
