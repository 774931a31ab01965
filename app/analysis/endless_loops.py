"""Loops that are never left once they were entered: their condition cannot change, or is true.

One text goes in, its loops come out with the elements that the condition reads. Either the body
hands on unchanged all that it reads, or it is true whatever it reads, or true for what each
iteration leaves behind. Whether a run enters them is not known here. Conditions that draw, receive
or call out are left alone, and so are those that hand the carried tuple on as a whole.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from app.analysis.carry import describe_carry
from app.analysis.dataflow import operand_values, root_element, value_of
from app.analysis.scalars import Linear, ScalarReader, Scope
from app.model.facts import WhileLoop
from hlo_parser import Computation, Instruction, Module

_UNCHANGED = frozenset({"invariant", "stacked_input"})
# What may be otherwise the next time, though nothing goes in that changed.
_CHANGES_ALONE = frozenset(
    {"custom-call", "infeed", "recv", "recv-done", "rng", "async-start", "conditional", "while"}
)
_SAME_VALUE = frozenset({"copy", "bitcast", "reshape", "opt-barrier"})
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
}
# Texts may be hostile: what is deeper or wider is not known.
_MAX_DEPTH = 60
_MAX_STEPS = 2_000


@dataclass(frozen=True, slots=True)
class EndlessLoop:
    """`read` are the elements that the condition reads, in order.

    `is_true`: the condition is true for whatever one iteration leaves in them; else they are
    handed on unchanged, and it answers as it did the first time.
    """

    loop: WhileLoop
    read: tuple[int, ...]
    is_true: bool


def endless_loops(module: Module, loops: Iterable[WhileLoop]) -> Iterator[EndlessLoop]:
    """Such loops of one text, in the order given."""
    for loop in loops:
        read = _elements_read(module, loop.condition)
        if read is None:
            continue
        if _Truth(module, loop).is_true():
            yield EndlessLoop(loop, tuple(sorted(read)), is_true=True)
        elif read:
            kept = {e.index for e in describe_carry(module, loop) if e.kind in _UNCHANGED}
            if read <= kept:
                yield EndlessLoop(loop, tuple(sorted(read)), is_true=False)


class _Truth:
    """Whether a loop's condition is true after any iteration; unknown is None, never a guess."""

    def __init__(self, module: Module, loop: WhileLoop) -> None:
        self._reader = ScalarReader(module)
        self._loop = loop
        self._steps = _MAX_STEPS
        self._body = Scope(loop.body, lambda number, path: None)
        self._condition = Scope(loop.condition, self._left_behind)

    def is_true(self) -> bool:
        """Whether the loop goes on whatever happens in its body."""
        return self._of(self._condition, self._loop.condition.root.name, 0) is True

    def _left_behind(self, number: int, path: tuple[int, ...]) -> Linear | None:
        """The number that an iteration always leaves in a carried element."""
        if number != 0 or len(path) != 1:
            return None
        value = root_element(self._loop.body, path[0])
        form = self._reader.read(self._body, value.name, value.path)
        return form if form is not None and form.known is not None else None

    def _of(self, scope: Scope, name: str, depth: int, path: tuple[int, ...] = ()) -> bool | None:
        self._steps -= 1
        if depth > _MAX_DEPTH or self._steps < 0:
            return None
        value = value_of(scope.computation, name, path)
        instruction = scope.computation.get(value.name)
        if instruction is None:
            return None
        if instruction.opcode == "parameter":
            if scope is not self._condition or len(value.path) != 1:
                return None
            left = root_element(self._loop.body, value.path[0])
            return self._of(self._body, left.name, depth + 1, left.path)
        return None if value.path else self._of_instruction(scope, instruction, depth)

    def _of_instruction(self, scope: Scope, instruction: Instruction, depth: int) -> bool | None:
        opcode = instruction.opcode
        if opcode == "constant":
            scalar = instruction.literal.scalar if instruction.literal is not None else None
            return scalar if isinstance(scalar, bool) else None
        if opcode == "compare":
            return self._compared(scope, instruction)
        if opcode in ("fusion", "call"):
            inner = self._reader.called(scope, instruction)
            return (
                None if inner is None else self._of(inner, inner.computation.root.name, depth + 1)
            )
        if opcode not in ("and", "or", "not") and opcode not in _SAME_VALUE:
            return None
        known = [
            self._of(scope, name, depth + 1, path)
            for name, path in zip(instruction.operands, instruction.operand_paths, strict=True)
        ]
        if opcode in ("and", "or"):
            decides = opcode == "or"
            return decides if decides in known else (None if None in known else not decides)
        if len(known) != 1 or known[0] is None:
            return None
        return known[0] is not (opcode == "not")

    def _compared(self, scope: Scope, instruction: Instruction) -> bool | None:
        compare = _COMPARED.get(instruction.attributes.get("direction", ""))
        if compare is None or len(instruction.operands) != 2:
            return None
        left, right = (self._reader.operand(scope, instruction, index) for index in (0, 1))
        if left is None or right is None or left.known is None or right.known is None:
            return None
        return compare(left.known, right.known)


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
    return read


def _is_plain(module: Module, instruction: Instruction) -> bool:
    if instruction.opcode in _CHANGES_ALONE or instruction.opcode == "get-tuple-element":
        return False
    called = module.callees(instruction)
    return len(called) == len(instruction.callees) and not any(
        i.opcode in _CHANGES_ALONE or i.callees for _, inner in called for i in inner.instructions
    )
