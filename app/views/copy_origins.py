"""What a pass may have copied a new collective from, told from two neighbouring texts.

Passes that pipeline, peel and double loops clone collectives into new computations and tell no text
of it. A copy does the same to the same shapes between the same devices for the same line of the
program. Takes both modules and the instruction of the later one; gives what fits in the earlier
one. Of other operations a program has too many alike for their origin to be known so.
"""

from typing import Literal

from app.analysis.async_pairs import WRAPPERS
from app.analysis.collective_stages import CollectiveFinder, identity_of
from app.analysis.fingerprints import operation_of
from hlo_parser import Computation, Instruction, Module

Found = tuple[Computation, Instruction]


Kind = Literal["made", "copied", "replaced"]


def origin_of(
    before: Module, after: Module, computation: str, instruction: str
) -> tuple[Kind, tuple[Found, ...]]:
    """What became of `copy_origins`: `replaced` where it is gone; `made` where it is not one."""
    origins = copy_origins(before, after, computation, instruction)
    if len(origins) != 1:
        return "made", origins
    gone = _is_replaced(before, after, origins[0], (computation, instruction))
    return "replaced" if gone else "copied", origins


def copy_origins(
    before: Module, after: Module, computation: str, instruction: str
) -> tuple[Found, ...]:
    """The collectives of `before` that the one in `after` may be a copy of, in text order.

    Of several those are taken that have its whole name of JAX's, then those with its channel, then
    those in the computation whose clone its own is by name. Empty for what is no collective or has
    no name of JAX's.
    """
    finder = CollectiveFinder()
    place = after.get(computation)
    item = None if place is None else place.get(instruction)
    made = None if place is None or item is None else finder.of(after, place, item)
    identity = None if made is None else identity_of(after, *made)
    if item is None or made is None or identity is None:
        return ()
    alike = _alike(finder, before, identity)
    _, operation = made
    for narrower in (
        [each for each in alike if _op_name(each[1]) == _op_name(operation)],
        [each for each in alike if operation.channel_id == each[1].channel_id is not None],
        [each for each in alike if f"{each[0].name}.clone" == computation],
    ):
        alike = [each for each in alike if each in narrower] or alike
    return tuple(alike)


def _is_replaced(before: Module, after: Module, origin: Found, place: tuple[str, str]) -> bool:
    """Whether what stands at `place` of `after` took the place of `origin`, which is gone there.

    By name, and where names changed by how many there are now that do the same.
    """
    computation, item = origin
    there = after.get(computation.name)
    kept = None if there is None else there.get(item.name)
    if kept is not None and operation_of(kept) == operation_of(item):
        return (computation.name, item.name) == place
    finder = CollectiveFinder()
    operation = finder.of(before, computation, item)
    identity = None if operation is None else identity_of(before, *operation)
    counts = [
        sum(not _is_wrapped(module, around) for around, _ in _alike(finder, module, identity))
        for module in (before, after)
    ]
    return counts[1] <= counts[0]


def _is_wrapped(module: Module, computation: Computation) -> bool:
    """Whether what stands in it counts as the line that runs it, a fusion or an async-start."""
    return any(caller.opcode in WRAPPERS for _, caller in module.callers(computation.name))


def _alike(
    finder: CollectiveFinder, module: Module, identity: tuple[object, ...] | None
) -> list[Found]:
    return [
        (computation, item)
        for computation in module.computations
        for item in computation.instructions
        if (operation := finder.of(module, computation, item)) is not None
        and identity_of(module, *operation) == identity
    ]


def _op_name(instruction: Instruction) -> str:
    return instruction.metadata.op_name or "" if instruction.metadata else ""
