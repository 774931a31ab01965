"""Where values come from inside one computation, whatever the spelling of tuple access.

A `Value` names an instruction and an element path. `value_of` looks through
`get-tuple-element`, compact operands (`%t#1`, printed from mid 2026 on) and `tuple`, so that the
same program gives the same values in every release. Nothing here follows calls; a computation is
read once and cached by the caller.
"""

from collections.abc import Iterator
from typing import NamedTuple

from hlo_parser import Computation, Instruction

_HANDS_ON = frozenset({"get-tuple-element", "tuple"})


class Value(NamedTuple):
    """Element `path` of what instruction `name` yields; `()` is the whole."""

    name: str
    path: tuple[int, ...] = ()


def value_of(computation: Computation, name: str, path: tuple[int, ...] = ()) -> Value:
    """The value behind operand `name` with element `path`, seen through tuple access.

    Names that are not defined in the computation and cycles of tuple accesses (both occur in
    hand-edited texts) end the walk at the name reached.
    """
    seen: set[tuple[str, tuple[int, ...]]] | None = None
    while True:
        instruction = computation.get(name)
        if instruction is None or instruction.opcode not in _HANDS_ON:
            return Value(name, path)
        # Most values are no tuple accesses, or one.
        if seen is None:
            seen = set()
        elif (name, path) in seen:
            return Value(name, path)
        seen.add((name, path))
        if instruction.opcode == "get-tuple-element":
            index = instruction.tuple_index
            if index is None or not instruction.operands:
                return Value(name, path)
            path = (*instruction.operand_paths[0], index, *path)
            name = instruction.operands[0]
        elif instruction.opcode == "tuple" and path and path[0] < len(instruction.operands):
            name = instruction.operands[path[0]]
            path = (*instruction.operand_paths[path[0]], *path[1:])
        else:
            return Value(name, path)


def operand_values(computation: Computation, instruction: Instruction) -> tuple[Value, ...]:
    """The values of all operands, in operand order."""
    return tuple(
        value_of(computation, name, path)
        for name, path in zip(instruction.operands, instruction.operand_paths, strict=True)
    )


def root_elements(computation: Computation) -> tuple[Value, ...]:
    """The values that the root tuple is made of; one value when the root is no tuple."""
    return tuple([root_element(computation, index) for index in range(root_count(computation))])


def root_count(computation: Computation) -> int:
    """How many values the root tuple is made of; 1 when the root is no tuple."""
    root = computation.root
    if root.opcode == "tuple":
        return len(root.operands)
    return len(root.shape.elements) if root.shape.kind == "tuple" else 1


def root_element(computation: Computation, index: int) -> Value:
    """The value behind one element of the root tuple, 0-based; the root itself if it is none."""
    root = computation.root
    if root.opcode == "tuple":
        return value_of(computation, root.operands[index], root.operand_paths[index])
    if root.shape.kind == "tuple":
        return value_of(computation, root.name, (index,))
    return Value(root.name)


def invariant_elements(body: Computation) -> frozenset[int]:
    """Elements of a while's carried tuple that its body hands on untouched.

    The same notion as `WhileUtil::GetInvariantGTEsForWhileBody` (xla/service/while_util.cc): root
    element i is element i of the parameter.
    """
    if len(body.parameters) != 1:
        return frozenset()
    parameter = body.parameters[0].name
    return frozenset(
        index
        for index, value in enumerate(root_elements(body))
        if value == Value(parameter, (index,))
    )


def walk_operands(computation: Computation, start: Instruction) -> Iterator[Instruction]:
    """All instructions that `start` depends on through operands, each once, nearest first.

    `start` itself is not yielded. Iterative with a seen-set: cycles end.
    """
    seen = {start.name}
    pending = list(start.operands)
    for name in pending:
        if name in seen:
            continue
        seen.add(name)
        instruction = computation.get(name)
        if instruction is not None:
            yield instruction
            pending.extend(instruction.operands)
