"""What a pass may have copied a new collective from, told from two neighbouring texts.

Passes that pipeline, peel and double loops clone collectives into new computations and tell no text
of it. A copy does the same to the same shapes between the same devices for the same line of the
program. Takes both modules and the instruction of the later one; gives what fits in the earlier
one. Of other operations a program has too many alike for their origin to be known so.
"""

from app.analysis.collective_stages import CollectiveFinder, identity_of
from hlo_parser import Computation, Instruction, Module

Found = tuple[Computation, Instruction]


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
    alike = [
        (other, candidate)
        for other in before.computations
        for candidate in other.instructions
        if (operation := finder.of(before, other, candidate)) is not None
        and identity_of(before, *operation) == identity
    ]
    _, operation = made
    for narrower in (
        [each for each in alike if _op_name(each[1]) == _op_name(operation)],
        [each for each in alike if operation.channel_id == each[1].channel_id is not None],
        [each for each in alike if f"{each[0].name}.clone" == computation],
    ):
        alike = [each for each in alike if each in narrower] or alike
    return tuple(alike)


def _op_name(instruction: Instruction) -> str:
    return instruction.metadata.op_name or "" if instruction.metadata else ""
