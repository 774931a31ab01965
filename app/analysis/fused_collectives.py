"""Collectives that run inside a fusion: which fusion the schedule knows, and what it comes to.

The inside of a fusion has no schedule, so such a collective stands where its outermost fusion does.
An all-reduce of which the fusion hands out each device's own part alone is a reduce-scatter:
libtpu's pass `tpu-all-reduce-scatter-fusion` makes those (`kind=kCustom,
calls=%all-reduce-scatter.1`; libtpu 0.0.50), and profiles of them show the time of one
(XProf's category `all-reduce-scatter fusion`). That is inferred: the text prints an all-reduce.
Given modules; asynchronous starts and what they run are those of `async_pairs.py`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from app.analysis.async_pairs import is_fused
from app.analysis.device_groups import group_size
from app.analysis.flops import operand_shape
from app.analysis.opcodes import collective_opcode
from hlo_parser import Computation, Instruction, Module

# What hands an array on whole on its way from the all-reduce to the slice.
_HANDS_ON = frozenset({"bitcast", "convert", "copy", "get-tuple-element", "reshape", "transpose"})
_OWN_NUMBER = frozenset({"partition-id", "replica-id"})
# Of libtpu's computations, whose slice may be told where to begin from outside.
_NAME = "all-reduce-scatter"
# XLA gives each fusion a computation of its own, nests them hardly ever, and has a handful of
# instructions between an all-reduce and its slice; only edited texts go beyond these.
_MOST_AROUND = 64
_MOST_STEPS = 256

Inside = tuple[Computation, Instruction]


class Fused(NamedTuple):
    """The collectives inside fusions.

    `inside` is by the computation and the name of the outermost fusion. The computations of which
    all that they hold stands there are `placed`; what else calls one of them too is not among them.
    """

    inside: Mapping[tuple[str, str], tuple[Inside, ...]]
    placed: frozenset[str]


def find_fused(module: Module) -> Fused:
    """The collectives inside fusions, those of very many fusions of one computation left in it."""
    found: dict[tuple[str, str], list[Inside]] = {}
    placed: set[str] = set()
    for computation in module.computations:
        inside = [i for i in computation.instructions if collective_opcode(i) is not None]
        if not inside or not is_fused(module, computation):
            continue
        outermost = _outermost(module, computation)
        for around, fusion in outermost:
            here = found.setdefault((around.name, fusion.name), [])
            here += [(computation, instruction) for instruction in inside]
        if outermost and _only_fusions_call(module, computation):
            placed.add(computation.name)
    return Fused({place: tuple(inside) for place, inside in found.items()}, frozenset(placed))


def opcode_run(module: Module, computation: Computation, instruction: Instruction) -> str | None:
    """The collective that an instruction comes to, as `collective_opcode`; None for others.

    Differs for the all-reduce of a fusion that keeps one part of it: that is a reduce-scatter.
    """
    if is_scattered(module, computation, instruction):
        return "reduce-scatter"
    return collective_opcode(instruction)


def is_scattered(module: Module, computation: Computation, instruction: Instruction) -> bool:
    """Whether this is an all-reduce in a fusion that hands out each device's own part alone."""
    if instruction.opcode != "all-reduce" or not is_fused(module, computation):
        return False
    devices = group_size(module, instruction)
    pending = [instruction]
    seen: set[str] = set()
    for here in pending:
        users = computation.users.get(here.name, ())
        if here.name == computation.root.name or not users:
            return False
        if len(users) + len(pending) > _MOST_STEPS:
            return False
        for user in users:
            if user.opcode in _HANDS_ON and user.name not in seen:
                seen.add(user.name)
                pending.append(user)
            elif user.opcode not in _HANDS_ON and not _takes_own_part(
                computation, here, user, devices
            ):
                return False
    return True


def _only_fusions_call(module: Module, computation: Computation) -> bool:
    return all(caller.opcode == "fusion" for _, caller in module.callers(computation.name))


def _outermost(module: Module, fused: Computation) -> list[tuple[Computation, Instruction]]:
    """The fusions, of computations that are not fused themselves, in which this one runs.

    None where there are too many.
    """
    found: list[tuple[Computation, Instruction]] = []
    pending = [fused.name]
    seen = {fused.name}
    for name in pending:
        callers = module.callers(name)
        if len(callers) + len(pending) + len(found) > _MOST_AROUND:
            return []
        for around, caller in callers:
            if caller.opcode != "fusion" or around.name in seen:
                continue
            if is_fused(module, around):
                seen.add(around.name)
                pending.append(around.name)
            else:
                found.append((around, caller))
    return found


def _takes_own_part(
    computation: Computation, whole: Instruction, user: Instruction, devices: int
) -> bool:
    """Whether `user` cuts out of `whole` the part of several that the device's number chooses."""
    if user.opcode != "dynamic-slice" or user.operands[0] != whole.name:
        return False
    shape = operand_shape(computation, user, 0)
    if devices < 2 or shape is None or devices * user.shape.byte_size != shape.byte_size:
        return False
    return computation.name.startswith(_NAME) or _reads_own_number(computation, user.operands[1:])


def _reads_own_number(computation: Computation, names: tuple[str, ...]) -> bool:
    pending = list(names)
    seen = set(names)
    for name in pending:
        instruction = computation.get(name)
        if instruction is None:
            continue
        if instruction.opcode in _OWN_NUMBER:
            return True
        fresh = [operand for operand in instruction.operands if operand not in seen]
        seen.update(fresh)
        if len(seen) > _MOST_STEPS:
            return False
        pending += fresh
    return False
