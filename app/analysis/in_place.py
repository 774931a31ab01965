"""Whether an instruction writes its result over an operand, always or where nothing needs it.

Updates of a slice always do (`HloDataflowAnalysis::GetInPlaceInputOutputPairs`), and work element
by element may (`CanShareOperandBufferWithUser` there, and the hint that the GPU compiler gives for
fusions and collectives, xla/service/gpu/buffer_sharing.cc). Shapes of operand and result are taken
to be equally large; whether the operand is still needed is for the caller to know.
"""

from math import prod
from typing import Literal

from hlo_parser import Computation, Instruction, Module

_ELEMENTWISE = frozenset(
    {
        "abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "compare", "complex", "convert",
        "cosine", "count-leading-zeros", "divide", "erf", "exponential", "exponential-minus-one",
        "floor", "imag", "is-finite", "log", "log-plus-one", "logistic", "maximum", "minimum",
        "multiply", "negate", "not", "or", "popcnt", "power", "real", "reduce-precision",
        "remainder", "round-nearest-afz", "round-nearest-even", "rsqrt", "select", "shift-left",
        "shift-right-arithmetic", "shift-right-logical", "sign", "sine", "sqrt",
        "stochastic-convert", "subtract", "tan", "tanh", "xor",
    }
)  # fmt: skip
_PART_BY_PART = frozenset({"all-reduce", "all-reduce-start", "collective-broadcast", "sort"})
_MOST_LOOKED_AT = 2_000


InPlace = Literal["always", "where_free"]


def in_place(module: Module, instruction: Instruction, operand: int, result: int) -> InPlace | None:
    """Whether element `result` of what it makes lies where operand number `operand` lay."""
    opcode = instruction.opcode
    if opcode in _ELEMENTWISE:
        return "where_free"
    if opcode in ("dynamic-update-slice", "scatter", *_PART_BY_PART):
        is_update = opcode == "dynamic-update-slice"
        return ("always" if is_update else "where_free") if operand == result else None
    if opcode != "fusion":
        return None
    fused = next((callee for _, callee in module.callees(instruction)), None)
    start = None if fused is None else _parameter(fused, operand)
    if fused is None or start is None:
        return None
    if _updated_parameter(fused, result) is start:
        return "always"
    return "where_free" if _runs_in_place(fused, start, result) else None


def _parameter(fused: Computation, number: int) -> Instruction | None:
    return next((p for p in fused.parameters if p.parameter_number == number), None)


def _made(fused: Computation, result: int) -> Instruction | None:
    """What makes element `result` of a fusion."""
    root = fused.root
    if root.opcode != "tuple":
        return root
    return fused.get(root.operands[result]) if result < len(root.operands) else None


def _updated_parameter(fused: Computation, result: int) -> Instruction | None:
    """The parameter that the fusion updates a slice of, or several one after the other."""
    here = _made(fused, result)
    is_updated = False
    for _ in range(_MOST_LOOKED_AT):
        if here is None or here.opcode not in ("bitcast", "dynamic-update-slice"):
            break
        is_updated |= here.opcode == "dynamic-update-slice"
        here = fused.get(here.operands[0]) if here.operands else None
    return here if is_updated else None


def _runs_in_place(fused: Computation, start: Instruction, result: int) -> bool:
    """Whether the fusion reads the operand only at the elements that it writes in its place."""
    made = _made(fused, result)
    wanted = "" if made is None else made.name
    count = prod(start.shape.dimensions)
    pending, seen = [start], {start.name}
    reached = start.name == wanted
    for here in pending:
        for user in fused.users.get(here.name, ()):
            if user.name in seen:
                continue
            if not _keeps_place(user, here, count) or len(seen) > _MOST_LOOKED_AT:
                return False
            seen.add(user.name)
            reached |= user.name == wanted
            if user.opcode not in ("tuple", "dynamic-slice"):
                pending.append(user)
    return reached


def _keeps_place(user: Instruction, operand: Instruction, count: int) -> bool:
    if user.opcode in ("tuple", "dynamic-slice"):
        return True
    if user.opcode in ("dynamic-update-slice", "scatter"):
        return user.operands[:1] == (operand.name,)
    if user.opcode == "copy":
        return user.shape == operand.shape
    is_same = user.opcode in _ELEMENTWISE or user.opcode == "bitcast"
    return is_same and prod(user.shape.dimensions) == count
