"""Loops whose condition reads only values that the body hands on unchanged: once in, never out.

One text goes in, its loops come out with the elements that the condition reads. Whether a run
enters them is not known here. Conditions that draw, receive or call out are left alone, and so are
those that hand the carried tuple on as a whole.
"""

from collections.abc import Iterable, Iterator

from app.analysis.carry import describe_carry
from app.analysis.dataflow import operand_values
from app.model.facts import WhileLoop
from hlo_parser import Computation, Instruction, Module

_UNCHANGED = frozenset({"invariant", "stacked_input"})
# What may be otherwise the next time, though nothing goes in that changed.
_CHANGES_ALONE = frozenset(
    {"custom-call", "infeed", "recv", "recv-done", "rng", "async-start", "conditional", "while"}
)


def endless_loops(
    module: Module, loops: Iterable[WhileLoop]
) -> Iterator[tuple[WhileLoop, tuple[int, ...]]]:
    """Such loops of one text, each with the elements its condition reads, in order."""
    for loop in loops:
        read = _elements_read(module, loop.condition)
        if read is None:
            continue
        kept = {e.index for e in describe_carry(module, loop) if e.kind in _UNCHANGED}
        if read <= kept:
            yield loop, tuple(sorted(read))


def _elements_read(module: Module, condition: Computation) -> set[int] | None:
    """The elements of the carried tuple behind the condition; None where that is not plain."""
    if len(condition.parameters) != 1:
        return None
    carried = condition.parameters[0].name
    read: set[int] = set()
    seen: set[str] = set()
    left = [condition.root]
    while left:
        instruction = left.pop()
        if instruction.name in seen:
            continue
        seen.add(instruction.name)
        if not _is_plain(module, instruction):
            return None
        for value in operand_values(condition, instruction):
            if value.name == carried:
                if not value.path:
                    return None
                read.add(value.path[0])
            else:
                defined = condition.get(value.name)
                if defined is None:
                    return None
                left.append(defined)
    # A condition that reads nothing is a constant, and most often false.
    return read or None


def _is_plain(module: Module, instruction: Instruction) -> bool:
    if instruction.opcode in _CHANGES_ALONE or instruction.opcode == "get-tuple-element":
        return False
    called = module.callees(instruction)
    return len(called) == len(instruction.callees) and not any(
        i.opcode in _CHANGES_ALONE or i.callees for _, inner in called for i in inner.instructions
    )
