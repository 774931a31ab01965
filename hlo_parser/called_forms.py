"""Whether what an instruction calls takes what it is given, where no result shape is told.

Given an instruction, its operands and the computations it calls, gives the first fault. XLA holds
them to each other only where it infers the result (xla/service/shape_inference.cc,
VerifyReducerShape and the Infer functions of calls); else that is left to its verifier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo_parser.infer_parts import same_precision_aside
from hlo_parser.instruction_forms import Fault
from hlo_parser.literal_forms import compatible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo_parser.computation import Computation
    from hlo_parser.instruction import Instruction
    from hlo_parser.shapes import Shape


def called_fault(
    instruction: Instruction,
    operands: Sequence[Instruction],
    called: Sequence[tuple[str, Computation]],
) -> Fault | None:
    """Why one of the computations does not take what it is given; `called` has their roles."""
    opcode, shapes = instruction.opcode, [operand.shape for operand in operands]
    by_role = dict(called)
    if opcode == "reduce":
        half = len(shapes) // 2
        message = _reducer_fault(by_role["to_apply"], shapes[:half], shapes[half:])
    elif opcode == "reduce-window":
        message = _reducer_fault(by_role["to_apply"], shapes[:1], shapes[1:2])
    elif opcode == "select-and-scatter":
        message = _select_fault(by_role["select"], shapes[0]) or _reducer_fault(
            by_role["scatter"], shapes[1:2], shapes[2:]
        )
    elif opcode == "scatter":
        half = len(shapes) // 2
        message = _reducer_fault(by_role["to_apply"], shapes[half + 1 :], shapes[:half])
    elif opcode == "map":
        message = _mapped_fault(by_role["to_apply"], shapes)
    else:
        texts = [shape.text for shape in shapes]
        message = _passed_fault(opcode, texts, [computation for _, computation in called])
        message = message or _returned_fault(opcode, texts, called)
    return None if message is None else Fault(message, opcode)


def _passed_fault(opcode: str, shapes: list[str], called: list[Computation]) -> str | None:
    """Of calls that hand their operands on as they are."""
    given: list[list[str]] = []
    if opcode == "call":
        given = [shapes]
    elif opcode == "while":
        given = [shapes] * len(called)
    elif opcode == "conditional":
        given = [[shape] for shape in shapes[1:]]
    for computation, wanted in zip(called, given, strict=False):
        taken = [parameter.shape.text for parameter in computation.parameters]
        if len(taken) != len(wanted):
            return f"{computation.name} has {len(taken)} parameters"
        if not all(map(compatible, taken, wanted)):
            return f"{computation.name} takes other shapes"
    return None


def _returned_fault(
    opcode: str, shapes: list[str], called: Sequence[tuple[str, Computation]]
) -> str | None:
    """A condition returns whether to go on, a body what it takes, all branches the same."""
    for role, computation in called:
        returned, wanted = computation.root.shape.text, ""
        if opcode == "while":
            wanted = "pred[]" if role == "condition" else shapes[0]
        elif opcode == "conditional":
            wanted = called[0][1].root.shape.text
        if not compatible(returned, wanted):
            return f"{computation.name} returns {returned}, not {wanted}"
    return None


def _is_scalar(shape: Shape, like: Shape) -> bool:
    """Whether a shape is the scalar of another's elements, precision aside; or is not known."""
    if "unknown" in {shape.kind, like.kind}:
        return True
    is_scalar = shape.kind == "array" and not shape.dimensions
    return is_scalar and same_precision_aside(shape.element_type, like.element_type)


def _reducer_fault(reducer: Computation, arrays: list[Shape], starts: list[Shape]) -> str | None:
    """Of two values of each array, the one so far and the next one, the reducer makes one."""
    taken = [parameter.shape for parameter in reducer.parameters]
    result = reducer.root.shape
    if len(taken) != 2 * len(arrays):
        return f"{reducer.name} has {len(taken)} parameters"
    if result.kind == "unknown":
        return None
    made = result.elements if result.kind == "tuple" else (result,)
    if len(made) != len(arrays):
        return f"{reducer.name} returns {len(made)} values for {len(arrays)} arrays"
    for number, (value, array, start) in enumerate(zip(made, arrays, starts, strict=True)):
        so_far, following = taken[number], taken[number + len(arrays)]
        is_one = compatible(so_far.text, value.text) and _is_scalar(value, start)
        if not is_one or not _is_scalar(following, array) or not _is_scalar(following, value):
            return (
                f"{reducer.name} does not reduce {array.without_layout} to {start.without_layout}"
            )
    return None


def _select_fault(select: Computation, operand: Shape) -> str | None:
    taken = [parameter.shape for parameter in select.parameters]
    if len(taken) != 2:
        return f"{select.name} has {len(taken)} parameters"
    is_test = compatible(select.root.shape.text, "pred[]")
    if not is_test or not all(_is_scalar(shape, operand) for shape in taken):
        return f"{select.name} does not compare elements of {operand.without_layout}"
    return None


def _mapped_fault(mapped: Computation, operands: list[Shape]) -> str | None:
    taken = [parameter.shape for parameter in mapped.parameters]
    if len(taken) != len(operands):
        return f"{mapped.name} has {len(taken)} parameters"
    result = mapped.root.shape
    if result.kind == "tuple" or result.dimensions:
        return f"{mapped.name} returns no scalar"
    if not all(map(_is_scalar, taken, operands)):
        return f"{mapped.name} takes other elements"
    return None
