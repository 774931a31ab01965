"""Integer scalars of a module as linear forms over the carried elements of a loop.

A small evaluator: constants, addition, subtraction, multiplication by a constant, negation, and
everything that hands a scalar on (copies, bitcasts, widening conversions, barriers, tuples,
fusions, calls, invariant elements of inner loops). All else is unknown, and unknown is None:
never a guess. Used for counters, bounds and initial values; arrays and floats are not touched.
"""

from collections.abc import Callable
from dataclasses import dataclass

from app.analysis.dataflow import Value, root_count, root_element, value_of
from hlo_parser import Computation, Instruction, Module

# Texts may be hostile: chains deeper or wider than any counter's end as unknown.
_MAX_DEPTH = 60
_MAX_STEPS = 2_000

_HANDS_ON = frozenset({"copy", "bitcast", "reshape", "copy-start", "copy-done", "opt-barrier"})
_CALLS = frozenset({"fusion", "call"})

Parameter = Callable[[int, tuple[int, ...]], "Linear | None"]


@dataclass(frozen=True, slots=True)
class Linear:
    """`constant` plus the sum of coefficient times carried element; terms by element."""

    constant: int
    terms: tuple[tuple[int, int], ...] = ()

    @property
    def known(self) -> int | None:
        """The number, when no element takes part."""
        return None if self.terms else self.constant

    def plus(self, other: "Linear", factor: int = 1) -> "Linear":
        """This form plus `factor` times the other."""
        terms = dict(self.terms)
        for element, coefficient in other.terms:
            terms[element] = terms.get(element, 0) + factor * coefficient
        kept = tuple(sorted((element, c) for element, c in terms.items() if c))
        return Linear(self.constant + factor * other.constant, kept)


@dataclass(frozen=True, slots=True)
class Scope:
    """A computation with what its parameters stand for."""

    computation: Computation
    parameter: Parameter


def integer_range(element_type: str) -> tuple[int, int] | None:
    """Least and greatest value of an integer element type (`s32`, `u8`), None for all others."""
    if len(element_type) < 2 or element_type[0] not in "su" or not element_type[1:].isdecimal():
        return None
    bits = int(element_type[1:])
    if element_type[0] == "u":
        return 0, (1 << bits) - 1
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def carried_elements(computation: Computation) -> Scope:
    """The scope in which a while's condition or body reads the carried tuple."""
    is_tuple = bool(computation.parameters) and computation.parameters[0].shape.kind == "tuple"

    def parameter(number: int, path: tuple[int, ...]) -> Linear | None:
        if number != 0 or len(path) != is_tuple:
            return None
        return Linear(0, ((path[0] if path else 0, 1),))

    return Scope(computation, parameter)


class Consulted:
    """A module as one answer sees it, which keeps what the answer rests on.

    Equal computations are one object, so in another text the answer is the same where the names
    it followed mean the same computations and those it looked outside of have the same callers.
    """

    def __init__(self, module: Module) -> None:
        self._module = module
        self._callees: dict[Instruction, tuple[tuple[str, Computation], ...]] = {}
        self._callers: dict[str, tuple[tuple[Computation, Instruction], ...]] = {}

    def callees(self, instruction: Instruction) -> tuple[tuple[str, Computation], ...]:
        """As `Module.callees`."""
        found = self._callees.get(instruction)
        if found is None:
            found = self._callees[instruction] = self._module.callees(instruction)
        return found

    def callers(self, name: str) -> tuple[tuple[Computation, Instruction], ...]:
        """As `Module.callers`."""
        found = self._callers.get(name)
        if found is None:
            found = self._callers[name] = self._module.callers(name)
        return found

    def leave(self) -> None:
        """Let go of the module, when everything was asked."""
        del self._module

    def holds_in(self, module: Module) -> bool:
        """Whether the module gives the answers that were given."""
        return all(
            module.callees(instruction) == found for instruction, found in self._callees.items()
        ) and all(module.callers(name) == found for name, found in self._callers.items())


class ScalarReader:
    """Reads scalars of one module; one object answers one question (its budget is spent)."""

    def __init__(self, module: Module | Consulted) -> None:
        self._module = module
        self._steps = _MAX_STEPS
        self._depth = 0

    def read(self, scope: Scope, name: str, path: tuple[int, ...] = ()) -> Linear | None:
        """The scalar that `name` yields at element `path`, None where it is not known."""
        self._steps -= 1
        if self._depth >= _MAX_DEPTH or self._steps < 0:
            return None
        self._depth += 1
        try:
            return self._read(scope, value_of(scope.computation, name, path))
        finally:
            self._depth -= 1

    def operand(
        self, scope: Scope, instruction: Instruction, index: int, path: tuple[int, ...] = ()
    ) -> Linear | None:
        """The scalar that operand `index` hands in, at element `path` of it."""
        if index >= len(instruction.operands):
            return None
        inner = (*instruction.operand_paths[index], *path)
        return self.read(scope, instruction.operands[index], inner)

    def called(self, scope: Scope, instruction: Instruction) -> Scope | None:
        """The scope inside the computation that a fusion or call runs."""
        callees = [c for role, c in self._module.callees(instruction) if role != "condition"]
        if len(callees) != 1:
            return None
        return Scope(
            callees[0], lambda number, path: self.operand(scope, instruction, number, path)
        )

    def outside(self, computation: Computation) -> Scope:
        """The scope of a computation as its only caller runs it.

        Parameters of the entry and of computations with several callers are unknown; of a loop's
        body only the elements that every iteration hands on untouched are known.
        """
        return Scope(computation, lambda number, path: self._argument(computation, number, path))

    def next_elements(self, body: Computation) -> "NextElements":
        """What each carried element becomes after one iteration."""
        return NextElements(self, body)

    def _read(self, scope: Scope, value: Value) -> Linear | None:
        instruction = scope.computation.get(value.name)
        if instruction is None:
            return None
        opcode = instruction.opcode
        if opcode == "parameter":
            number = instruction.parameter_number
            return None if number is None else scope.parameter(number, value.path)
        if opcode in _CALLS:
            inner = self.called(scope, instruction)
            return (
                None if inner is None else self.read(inner, inner.computation.root.name, value.path)
            )
        if opcode == "while":
            return self._after_loop(scope, instruction, value.path)
        if opcode in _HANDS_ON:
            return self._handed_on(scope, instruction, value.path)
        if value.path or instruction.shape.kind != "array":
            return None
        return self._within_range(instruction, self._arithmetic(scope, instruction))

    def _arithmetic(self, scope: Scope, instruction: Instruction) -> Linear | None:
        match instruction.opcode:
            case "constant":
                scalar = instruction.literal.scalar if instruction.literal is not None else None
                return Linear(scalar) if isinstance(scalar, int) and scalar is not True else None
            case "add" | "subtract" | "multiply":
                left = self.operand(scope, instruction, 0)
                right = None if left is None else self.operand(scope, instruction, 1)
                if left is None or right is None:
                    return None
                return _combine(instruction.opcode, left, right)
            case "negate":
                operand = self.operand(scope, instruction, 0)
                return None if operand is None else Linear(0).plus(operand, -1)
            case "convert":
                return self._converted(scope, instruction)
            case _:
                return None

    def _handed_on(
        self, scope: Scope, instruction: Instruction, path: tuple[int, ...]
    ) -> Linear | None:
        if instruction.opcode == "copy-start":
            # Yields (destination, source, context); the first two hold the operand.
            if len(path) > 1 or path > (1,):
                return None
            path = ()
        elif instruction.opcode in ("bitcast", "reshape"):
            if not instruction.operands or instruction.shape.element_type != element_type_of(
                scope.computation, instruction.operands[0], instruction.operand_paths[0]
            ):
                return None
        return self.operand(scope, instruction, 0, path)

    def _converted(self, scope: Scope, instruction: Instruction) -> Linear | None:
        """A conversion keeps the value only where no value of the old type is lost."""
        form = self.operand(scope, instruction, 0)
        if form is None or not form.terms:
            return form
        old = integer_range(
            element_type_of(
                scope.computation, instruction.operands[0], instruction.operand_paths[0]
            )
        )
        new = integer_range(instruction.shape.element_type)
        if old is None or new is None or old[0] < new[0] or old[1] > new[1]:
            return None
        return form

    def _within_range(self, instruction: Instruction, form: Linear | None) -> Linear | None:
        limits = integer_range(instruction.shape.element_type)
        if (
            form is None
            or limits is None
            or any(size != 1 for size in instruction.shape.dimensions)
        ):
            return None
        known = form.known
        return form if known is None or limits[0] <= known <= limits[1] else None

    def _after_loop(
        self, scope: Scope, instruction: Instruction, path: tuple[int, ...]
    ) -> Linear | None:
        """An element that a loop hands on untouched is still what went in."""
        body = dict(self._module.callees(instruction)).get("body")
        if body is None or len(path) != 1 or not self.next_elements(body).is_invariant(path[0]):
            return None
        return self.operand(scope, instruction, 0, path)

    def _argument(
        self, computation: Computation, number: int, path: tuple[int, ...]
    ) -> Linear | None:
        callers = self._module.callers(computation.name)
        if len(callers) != 1:
            return None
        caller, instruction = callers[0]
        scope = self.outside(caller)
        if instruction.opcode in _CALLS or instruction.opcode == "async-start":
            return self.operand(scope, instruction, number, path)
        if instruction.opcode == "while":
            body = dict(self._module.callees(instruction)).get("body")
            if body is None or number != 0 or len(path) != 1:
                return None
            if self.next_elements(body).is_invariant(path[0]):
                return self.operand(scope, instruction, 0, path)
        if instruction.opcode == "conditional" and number == 0:
            # Operand 0 is the predicate or index, operand i + 1 the argument of branch i.
            branches = [c.name for _, c in self._module.callees(instruction)]
            return self.operand(scope, instruction, branches.index(computation.name) + 1, path)
        return None


class NextElements:
    """What the carried elements of a loop become after one iteration, read when asked for."""

    def __init__(self, reader: ScalarReader, body: Computation) -> None:
        self._reader = reader
        self._scope = carried_elements(body)
        self._count = root_count(body)
        self._known: dict[int, Linear | None] = {}

    def get(self, element: int) -> Linear | None:
        """Element `element` of the next iteration, in terms of this one's elements."""
        if not 0 <= element < self._count:
            return None
        if element not in self._known:
            root = root_element(self._scope.computation, element)
            self._known[element] = self._reader.read(self._scope, root.name, root.path)
        return self._known[element]

    def is_invariant(self, element: int) -> bool:
        """Whether the body hands the element on, be it through copies."""
        return self.get(element) == Linear(0, ((element, 1),))

    def is_counter(self, element: int) -> bool:
        """Whether every iteration adds something to the element."""
        following = self.get(element)
        return (
            following is not None
            and (element, 1) in following.terms
            and not self.is_invariant(element)
        )


def _combine(opcode: str, left: Linear, right: Linear) -> Linear | None:
    if opcode == "multiply":
        if left.terms and right.terms:
            return None
        form, factor = (left, right.constant) if left.terms else (right, left.constant)
        return Linear(0).plus(form, factor)
    return left.plus(right, 1 if opcode == "add" else -1)


def element_type_of(computation: Computation, name: str, path: tuple[int, ...] = ()) -> str:
    """The element type of what `name` yields at `path`, empty where that is not known."""
    value = value_of(computation, name, path)
    instruction = computation.get(value.name)
    if instruction is None:
        return ""
    shape = instruction.shape
    for index in value.path:
        if not 0 <= index < len(shape.elements):
            return ""
        shape = shape.elements[index]
    return shape.element_type
