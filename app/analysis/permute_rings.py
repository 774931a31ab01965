"""Permutes in a loop that pass on what a permute of the iteration before has brought.

In such a ring each step reads the buffer into which a peer writes the next one; only the order
between devices keeps the two apart. The value is followed from a permute's operand back through
copies and the loop's carry (the same element, or elements that swap places) to the permute that
made it.
"""

from dataclasses import dataclass

from app.analysis.async_pairs import wrapped_operations
from app.analysis.dataflow import Value, root_elements, value_of
from app.analysis.opcodes import collective_opcode
from app.model.facts import WhileLoop
from hlo_parser import Computation, Instruction, Module

# What hands a buffer's content on unchanged in value; `-start`/`-done` are halves of one move.
_HANDS_ON = frozenset({"bitcast", "copy", "copy-done", "copy-start", "opt-barrier", "reshape"})
_PERMUTE = "collective-permute"


@dataclass(frozen=True, slots=True)
class PermuteRing:
    """`permute` of `loop` sends what `previous` (maybe itself) received.

    `through_carry` tells whether the iteration boundary lies between them.
    """

    loop: WhileLoop
    permute: Instruction
    previous: Instruction
    through_carry: bool


def find_permute_rings(module: Module, loop: WhileLoop) -> tuple[PermuteRing, ...]:
    """All permutes of the loop's body that are fed by a permute, if any of it goes round.

    Empty when no value returns to a permute through the carry: then nothing is passed on from
    iteration to iteration.
    """
    permutes = _permutes(module, loop.body)
    found: list[PermuteRing] = []
    for instruction in loop.body.instructions:
        if instruction.name in permutes and instruction.operands:
            operand = value_of(loop.body, instruction.operands[0], instruction.operand_paths[0])
            source = _made_by_permute(loop.body, operand, permutes)
            if source is not None:
                found.append(PermuteRing(loop, instruction, *source))
    return tuple(found) if any(ring.through_carry for ring in found) else ()


def _permutes(module: Module, body: Computation) -> frozenset[str]:
    """Names of the body's permutes and of the asynchronous starts that wrap one."""
    plain = {i.name for i in body.instructions if collective_opcode(i) == _PERMUTE}
    wrapped = {
        start.name
        for start in body.instructions
        if start.opcode == "async-start"
        and any(collective_opcode(i) == _PERMUTE for _, i in wrapped_operations(module, start))
    }
    return frozenset(plain | wrapped)


def _made_by_permute(
    body: Computation, value: Value, permutes: frozenset[str]
) -> tuple[Instruction, bool] | None:
    """The permute that the value comes from, and whether the carry lies in between."""
    elements = root_elements(body)
    parameter = body.parameters[0].name if len(body.parameters) == 1 else None
    seen: set[Value] = set()
    through_carry = False
    while value not in seen:
        seen.add(value)
        instruction = body.get(value.name)
        if instruction is None:
            return None
        if value.name == parameter:
            if len(value.path) != 1 or value.path[0] >= len(elements):
                return None
            value, through_carry = elements[value.path[0]], True
        elif value.name in permutes:
            return instruction, through_carry
        elif instruction.operands and _hands_on(instruction):
            path = value.path if instruction.opcode == "opt-barrier" else ()
            value = value_of(body, instruction.operands[0], (*instruction.operand_paths[0], *path))
        else:
            return None
    return None


def _hands_on(instruction: Instruction) -> bool:
    return instruction.opcode in _HANDS_ON or instruction.opcode in (
        "collective-permute-done",
        "async-done",
    )
