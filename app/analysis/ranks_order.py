"""The collectives of a module in the order in which they begin, by the devices that take part.

Given one text, best the last one, which is scheduled; without a schedule the order of the text
stands for it. Each computation counts where it is called and a loop's body once. Devices that begin
the same collectives in other orders wait for one another for ever.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from app.analysis.async_pairs import WRAPPERS, wrapped_operations
from app.analysis.collective_order import find_unordered_collectives
from app.analysis.collectives import bytes_sent
from app.analysis.device_groups import chains_of, devices_of, pairs_of
from app.analysis.fused_collectives import opcode_run
from app.analysis.opcodes import collective_opcode
from app.analysis.sources import source_of
from app.model.ranks import CollectiveStep, Overlap
from hlo_parser import Computation, Instruction, Module

MOST_STEPS = 20_000
"""Collectives followed in one module; calls of calls can be any number."""

MOST_OVERLAPS = 50

# Pairs are quadratic in these; real meshes have a few dozen.
_MOST_COMPARED = 400

Key = tuple[tuple[int, ...], str]
"""A communicator: its devices, or no devices and the groups as printed."""

_RUNNERS = frozenset({"call", "conditional", "while"})


@dataclass(frozen=True, slots=True)
class CollectiveSequence:
    """The steps of a module with the communicators that each takes part in.

    `in_branch` is the first that a conditional begins in one of its branches.
    """

    steps: tuple[tuple[CollectiveStep, tuple[Key, ...]], ...]
    is_scheduled: bool
    is_cut: bool
    in_branch: CollectiveStep | None = None


def collective_sequence(module: Module) -> CollectiveSequence:
    """The collectives of a module from its entry on."""
    steps: list[tuple[CollectiveStep, tuple[Key, ...]]] = []
    in_branch = None
    for (computation, start, inner, operation), is_in_branch in _begun(module):
        if len(steps) == MOST_STEPS:
            break
        step = CollectiveStep(
            opcode=opcode_run(module, inner, operation) or operation.opcode,
            shape=operation.shape.without_layout,
            bytes=bytes_sent(module, inner, operation),
            computation=computation.name,
            instruction=start.name,
            source=source_of(module, operation) or source_of(module, start),
        )
        if is_in_branch and in_branch is None:
            in_branch = step
        steps.append((step, _communicators(module, operation)))
    return CollectiveSequence(
        tuple(steps), module.header.is_scheduled, len(steps) == MOST_STEPS, in_branch
    )


def by_communicator(sequence: CollectiveSequence) -> dict[Key, tuple[CollectiveStep, ...]]:
    """The steps of each communicator, in order."""
    found: dict[Key, list[CollectiveStep]] = {}
    for step, keys in sequence.steps:
        for key in keys:
            found.setdefault(key, []).append(step)
    return {key: tuple(steps) for key, steps in found.items()}


def find_overlaps(name: str, module: Module, sequence: CollectiveSequence) -> tuple[Overlap, ...]:
    """Communicators of a module that share devices without being one, the first ones."""
    firsts: dict[tuple[int, ...], str] = {}
    for step, keys in sequence.steps:
        for devices, _ in keys:
            if devices:
                firsts.setdefault(devices, step.instruction)
    unordered = sum(found.count for found in find_unordered_collectives(module))
    overlaps: list[Overlap] = []
    for (one, first), (other, second) in combinations(list(firsts.items())[:_MOST_COMPARED], 2):
        shared = tuple(sorted({*one} & {*other}))
        if shared:
            overlaps.append(
                Overlap(
                    module=name,
                    devices=one,
                    other_devices=other,
                    shared=shared,
                    first=first,
                    second=second,
                    unordered=unordered,
                )
            )
        if len(overlaps) == MOST_OVERLAPS:
            break
    return tuple(overlaps)


def _communicators(module: Module, operation: Instruction) -> tuple[Key, ...]:
    groups = devices_of(module, operation) or chains_of(pairs_of(module, operation))
    if groups:
        return tuple((tuple(sorted(set(group))), "") for group in groups if len(group) > 1)
    printed = operation.replica_groups
    pairs = operation.attributes.get("source_target_pairs")
    return (((), printed.text if printed is not None else pairs or "all"),)


_Begun = tuple[Computation, Instruction, Computation, Instruction]


def _begun(module: Module) -> Iterator[tuple[_Begun, bool]]:
    """Where each collective begins, what it runs, and whether a conditional may pass it over.

    Calls in a circle are cut.
    """
    pending: list[tuple[Computation, Iterator[Instruction], bool]] = []
    pending.append((module.entry, iter(module.entry.instructions), False))
    quiet = _without_collectives(module)
    while pending:
        computation, rest, in_branch = pending[-1]
        instruction = next(rest, None)
        if instruction is None:
            pending.pop()
            continue
        if collective_opcode(instruction) is not None:
            yield (computation, instruction, computation, instruction), in_branch
            continue
        if instruction.opcode in WRAPPERS:
            for inner, operation in wrapped_operations(module, instruction):
                if collective_opcode(operation) is not None:
                    yield (computation, instruction, inner, operation), in_branch
            continue
        if instruction.opcode in _RUNNERS:
            active = {id(open_) for open_, _, _ in pending}
            in_branch |= instruction.opcode == "conditional"
            callees = [
                callee
                for _, callee in module.callees(instruction)
                if id(callee) not in active and callee.name not in quiet
            ]
            pending += [
                (callee, iter(callee.instructions), in_branch) for callee in reversed(callees)
            ]


def _without_collectives(module: Module) -> frozenset[str]:
    """Computations that begin no collective, whatever they call: no need to go there."""
    holders = [
        computation.name
        for computation in module.computations
        if any(
            collective_opcode(i) is not None or i.opcode in WRAPPERS
            for i in computation.instructions
        )
    ]
    reached = set(holders)
    for name in holders:
        for caller, _ in module.callers(name):
            if caller.name not in reached:
                reached.add(caller.name)
                holders.append(caller.name)
    return frozenset(c.name for c in module.computations if c.name not in reached)


def first_order_difference(a: Sequence[CollectiveStep], b: Sequence[CollectiveStep]) -> int | None:
    """The first position at which two lists begin other collectives, None for equal ones."""
    for k in range(max(len(a), len(b))):
        one, other = (steps[k] if k < len(steps) else None for steps in (a, b))
        if one is None or other is None or _kind(one) != _kind(other):
            return k
    return None


def share_devices(a: CollectiveSequence, b: CollectiveSequence, position: int) -> bool:
    """Whether the steps of two sequences at a position have a device in common, for all we know."""
    devices: list[set[int]] = []
    for sequence in (a, b):
        keys = sequence.steps[position][1] if position < len(sequence.steps) else ()
        if not keys or any(not group for group, _ in keys):
            return True
        devices.append({device for group, _ in keys for device in group})
    return bool(devices[0] & devices[1])


def _kind(step: CollectiveStep) -> tuple[str, str]:
    return step.opcode, step.shape
