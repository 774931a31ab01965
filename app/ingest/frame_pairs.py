"""Which frame ids of two neighbouring texts stand at what is one instruction under other names.

A pass that reads a module anew from another form names and numbers all of it anew, but keeps the
graph and so the order of its lines. This goes through both from the entry on and pairs what is
alike in opcode, name of the operation, shape and operands and stands as often in the one as in the
other. It compares no frames: what two numberings have to do with each other is for the caller.
"""

from collections.abc import Iterator

from hlo_parser import Computation, Instruction, Module

Kind = tuple[str, str | None, str, tuple[str, ...]]
Pair = tuple[Computation, Computation]


def paired_ids(before: Module, after: Module) -> dict[int, set[int]]:
    """The ids in the earlier text that each id of the later one is paired with."""
    found: dict[int, set[int]] = {}
    waiting: list[Pair] = [(before.entry, after.entry)]
    met: set[Pair] = set(waiting)
    while waiting:
        for old, new in _alike(*waiting.pop()):
            here, there = _frame_of(old), _frame_of(new)
            if here and there:
                found.setdefault(there, set()).add(here)
            called = zip(before.callees(old), after.callees(new), strict=False)
            inner = {
                (one, other): None
                for (role, one), (other_role, other) in called
                if role == other_role and (one, other) not in met
            }
            met.update(inner)
            waiting.extend(inner)
    return found


def _alike(before: Computation, after: Computation) -> Iterator[tuple[Instruction, Instruction]]:
    """Instructions of one kind, in the order of the lines, where both have as many of it."""
    old, new = _by_kind(before), _by_kind(after)
    for kind, instructions in new.items():
        originals = old.get(kind, ())
        if len(originals) == len(instructions):
            yield from zip(originals, instructions, strict=True)


def _by_kind(computation: Computation) -> dict[Kind, list[Instruction]]:
    found: dict[Kind, list[Instruction]] = {}
    for instruction in computation.instructions:
        metadata = instruction.metadata
        # What a computation is called with may be handed to it in another way.
        names = () if instruction.callees else instruction.operands
        operands = (computation.get(name) for name in names)
        kind = (
            instruction.opcode,
            None if metadata is None else metadata.op_name,
            instruction.shape.without_layout,
            tuple("" if each is None else each.opcode for each in operands),
        )
        found.setdefault(kind, []).append(instruction)
    return found


def _frame_of(instruction: Instruction) -> int:
    metadata = instruction.metadata
    return 0 if metadata is None else metadata.stack_frame_id or 0
