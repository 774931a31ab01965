"""Which JAX construct a while was written as, where the text tells.

JAX lowers `lax.scan`, `lax.map`, `lax.fori_loop` and `lax.while_loop` all to a while named
`while`; what tells them apart is what JAX itself adds around the user's function, which carries
the source place of the loop and not of the user's lines. `lax.map` is a scan and is called one.
Read where the loop is first seen: passes remove the signs. None where they do not speak plainly.
"""

from app.analysis.sources import source_of
from app.model.facts import WhileLoop
from app.model.report import Source
from hlo_parser import Module

_SLICES = frozenset({"dynamic-slice", "dynamic-update-slice", "gather"})
_COUNTER_TYPES = ("s32[]", "s64[]", "u32[]", "u64[]")


def jax_construct(module: Module, loop: WhileLoop) -> str | None:
    """`scan`, `fori_loop`, `while_loop` or None.

    A scan slices its stacked inputs or outputs at the loop's own line; a fori_loop with constant
    limits is a scan that carries a second counter beside its own; a while_loop's condition is the
    user's, at the user's line.
    """
    place = source_of(module, loop.instruction)
    if place is None:
        return None
    condition_place = source_of(module, loop.condition.root)
    if condition_place is not None and not _same(condition_place, place):
        return "while_loop"
    if loop.induction is None:
        return None
    called = [
        callee
        for instruction in loop.body.instructions
        if instruction.opcode == "call"
        for _, callee in module.callees(instruction)
    ]
    here = [
        instruction
        for computation in (loop.body, *called)
        for instruction in computation.instructions
        if _same(source_of(module, instruction), place)
    ]
    if any(instruction.opcode in _SLICES for instruction in here):
        return "scan"
    counters = [i for i in here if i.opcode == "add" and i.shape.text.startswith(_COUNTER_TYPES)]
    return "fori_loop" if len(counters) > 1 else None


def _same(one: Source | None, other: Source) -> bool:
    return one is not None and (one.file, one.line) == (other.file, other.line)
