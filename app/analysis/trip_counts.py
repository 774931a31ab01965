"""How often a while runs: stated by XLA in backend_config, or proven from the graph.

The proof reads the condition as a comparison of one counter with a bound, the counter's step from
the body and its first value from what goes into the loop. Whatever does not fit (data-dependent
conditions, counters that may wrap around, float counters) stays unknown. XLA's own analysis is
`xla/service/while_loop_analysis.cc`, `ComputeWhileLoopTripCount`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from app.analysis.scalars import (
    Consulted,
    Linear,
    NextElements,
    ScalarReader,
    Scope,
    carried_elements,
    element_type_of,
    integer_range,
)
from app.model.report import Induction
from hlo_parser import Computation, Instruction, Module

How = Literal["backend_config", "condition"]
Direction = Literal["LT", "LE", "GT", "GE", "EQ", "NE"]

_DIRECTIONS: Mapping[str, Direction] = {
    "LT": "LT", "LE": "LE", "GT": "GT", "GE": "GE", "EQ": "EQ", "NE": "NE",
}  # fmt: skip
_MIRRORED: Mapping[Direction, Direction] = {
    "LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "EQ": "EQ", "NE": "NE",
}  # fmt: skip
_NEGATED: Mapping[Direction, Direction] = {
    "LT": "GE", "LE": "GT", "GT": "LE", "GE": "LT", "EQ": "NE", "NE": "EQ",
}  # fmt: skip
_WRAPPERS = frozenset({"bitcast", "copy", "reshape"})
_MAX_WRAPPERS = 20
# More than any counter needs; keeps hostile digits away from int().
_MAX_DIGITS = 19


@dataclass(frozen=True, slots=True)
class TripCount:
    """What is known of a loop's counter and of how often its body runs."""

    induction: Induction | None = None
    count: int | None = None
    how: How | None = None


@dataclass(frozen=True, slots=True)
class _Comparison:
    left: Linear
    right: Linear
    direction: Direction
    element_type: str


class TripReader:
    """Trip counts of the whiles of many texts; what a proof rests on is looked at once."""

    def __init__(self) -> None:
        self._proven: dict[tuple[object, ...], list[tuple[Consulted, TripCount]]] = {}

    def of(
        self,
        module: Module,
        computation: Computation,
        loop: Instruction,
        condition: Computation,
        body: Computation,
    ) -> TripCount:
        """The trip count of the while `loop` of `computation`; XLA's own statement comes first."""
        stated, stated_induction = stated_trip_count(loop)
        proven = self._proof(module, computation, loop, condition, body)
        induction = proven.induction or stated_induction
        if stated is not None:
            return TripCount(induction, stated, "backend_config")
        return TripCount(induction, proven.count, proven.how)

    def _proof(
        self,
        module: Module,
        computation: Computation,
        loop: Instruction,
        condition: Computation,
        body: Computation,
    ) -> TripCount:
        known = self._proven.setdefault((computation, loop, condition, body), [])
        for consulted, proven in known:
            if consulted.holds_in(module):
                return proven
        consulted = Consulted(module)
        proven = _proven(ScalarReader(consulted), computation, loop, condition, body)
        consulted.leave()
        known.append((consulted, proven))
        return proven


def stated_trip_count(loop: Instruction) -> tuple[int | None, Induction | None]:
    """`known_trip_count` and the induction variable as backend_config states them."""
    config = loop.backend_config
    if not isinstance(config, dict):
        return None, None
    fields = cast("Mapping[object, object]", config)
    count = _integer(fields.get("known_trip_count"), "n")
    index = _integer(fields.get("known_induction_variable"), "tuple_index")
    if index is None:
        return count, None
    steps = fields.get("known_init_step")
    induction = Induction(
        index=index,
        init=_integer(steps, "init"),
        step=_integer(steps, "step"),
        how="stated in backend_config",
    )
    return count, induction


def count_iterations(
    init: int, step: int, bound: int, direction: Direction, limits: tuple[int, int]
) -> int | None:
    """How often `init`, `init + step`, ... satisfies `counter direction bound` from the start.

    None for loops that never end and for those that end only because the counter wraps around at
    `limits`, the least and greatest value of its type.
    """
    if not _holds(init, direction, bound):
        return 0
    if step == 0:
        return None
    if direction == "EQ":
        count = 1
    elif direction == "NE":
        if (bound - init) % step or (bound - init) // step < 0:
            return None
        count = (bound - init) // step
    else:
        if (direction in ("LT", "LE")) != (step > 0):
            return None
        reach = abs(bound - init) + (direction in ("LE", "GE"))
        count = -(-reach // abs(step))
    last = init + count * step
    return count if limits[0] <= last <= limits[1] else None


def _holds(value: int, direction: Direction, bound: int) -> bool:
    match direction:
        case "LT":
            return value < bound
        case "LE":
            return value <= bound
        case "GT":
            return value > bound
        case "GE":
            return value >= bound
        case "EQ":
            return value == bound
        case "NE":
            return value != bound


def _proven(
    reader: ScalarReader,
    computation: Computation,
    loop: Instruction,
    condition: Computation,
    body: Computation,
) -> TripCount:
    comparison = _comparison(reader, condition)
    if comparison is None:
        return TripCount()
    following = reader.next_elements(body)
    outside = reader.outside(computation)
    is_tuple = loop.shape.kind == "tuple"

    def initial(element: int) -> int | None:
        form = reader.operand(outside, loop, 0, (element,) if is_tuple else ())
        return None if form is None else form.known

    def settled(form: Linear) -> Linear:
        """The form with the elements that never change replaced by their initial values."""
        for element, coefficient in form.terms:
            value = initial(element) if following.is_invariant(element) else None
            if value is not None:
                form = form.plus(Linear(-value, ((element, 1),)), -coefficient)
        return form

    return _count(
        _Comparison(
            settled(comparison.left),
            settled(comparison.right),
            comparison.direction,
            comparison.element_type,
        ),
        following,
        initial,
        settled,
    )


def _count(
    comparison: _Comparison,
    following: NextElements,
    initial: Callable[[int], int | None],
    settled: Callable[[Linear], Linear],
) -> TripCount:
    if comparison.left.known is not None:
        comparison = _Comparison(
            comparison.right,
            comparison.left,
            _MIRRORED[comparison.direction],
            comparison.element_type,
        )
    limits = integer_range(comparison.element_type)
    bound = comparison.right.known
    if limits is None or bound is None or len(comparison.left.terms) != 1:
        return TripCount()
    ((element, coefficient),) = comparison.left.terms
    after = following.get(element)
    if coefficient != 1 or after is None:
        return TripCount()
    # The counter plus an offset is compared: that sum starts and steps as the counter does.
    offset = comparison.left.constant
    step = settled(after).plus(Linear(0, ((element, 1),)), -1).known
    if step is None or step == 0:
        return TripCount()
    init = initial(element)
    induction = Induction(
        index=element,
        init=init,
        step=step,
        bound=bound - offset,
        how=f"condition compares element {element} ({comparison.direction} {bound - offset})",
    )
    if init is None:
        return TripCount(induction)
    count = count_iterations(init + offset, step, bound, comparison.direction, limits)
    return TripCount(induction, count, None if count is None else "condition")


def _comparison(reader: ScalarReader, condition: Computation) -> _Comparison | None:
    """The condition's root as a comparison of two scalars, seen through fusions and copies."""
    scope: Scope | None = carried_elements(condition)
    name = condition.root.name
    negated = False
    for _ in range(_MAX_WRAPPERS):
        instruction = scope.computation.get(name) if scope is not None else None
        if scope is None or instruction is None:
            return None
        if instruction.opcode == "compare":
            return _read_comparison(reader, scope, instruction, negated=negated)
        if instruction.opcode in ("fusion", "call"):
            scope = reader.called(scope, instruction)
            name = scope.computation.root.name if scope is not None else ""
        elif instruction.opcode in _WRAPPERS or instruction.opcode == "not":
            negated ^= instruction.opcode == "not"
            if len(instruction.operands) != 1 or instruction.operand_paths[0]:
                return None
            name = instruction.operands[0]
        else:
            return None
    return None


def _read_comparison(
    reader: ScalarReader, scope: Scope, compare: Instruction, *, negated: bool
) -> _Comparison | None:
    direction = _DIRECTIONS.get(compare.attributes.get("direction", ""))
    if direction is None or len(compare.operands) != 2:
        return None
    left, right = reader.operand(scope, compare, 0), reader.operand(scope, compare, 1)
    if left is None or right is None:
        return None
    element_type = element_type_of(scope.computation, compare.operands[0], compare.operand_paths[0])
    return _Comparison(left, right, _NEGATED[direction] if negated else direction, element_type)


def _integer(fields: object, key: str) -> int | None:
    """The integer under `key`, written as a number or, as protobuf does for int64, as a string."""
    if not isinstance(fields, dict):
        return None
    value = cast("Mapping[object, object]", fields).get(key)
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.removeprefix("-").isdecimal() and len(value) <= _MAX_DIGITS:
        return int(value)
    return None
