"""Which JAX construct a while was written as, where the text tells.

JAX lowers `lax.scan`, `lax.map`, `lax.fori_loop` and `lax.while_loop` all to a while named
`while`; what tells them apart is what JAX itself adds around the user's function, which carries
the source place of the loop and not of the user's lines. `lax.map` is a scan and is called one.
Read where the loop is first seen: passes remove the signs. None where they do not speak plainly.
"""

from app.analysis.dataflow import root_elements
from app.analysis.sources import source_of
from app.model.facts import WhileLoop
from app.model.report import Source
from hlo_parser import Computation, Instruction, Module

_SLICES = frozenset({"dynamic-slice", "dynamic-update-slice", "gather"})
_COUNTER_TYPES = frozenset({"s32[]", "s64[]", "u32[]", "u64[]"})


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
    parts = (loop.body, *called)
    for part in parts:
        for instruction in part.instructions:
            if instruction.opcode in _SLICES and _same(source_of(module, instruction), place):
                return "scan"
    counted = [source_of(module, step) for part in parts for step in _counter_steps(part)]
    # jaxlib 0.10.2 gives the inner counter's step a name and no place.
    own = all(source is None or _same(source, place) for source in counted)
    return "fori_loop" if own and len(counted) > 1 else None


def _counter_steps(computation: Computation) -> list[Instruction]:
    """The additions that make integer scalars for the next iteration."""
    results = {value.name for value in root_elements(computation)}
    return [
        instruction
        for instruction in computation.instructions
        if instruction.opcode == "add"
        and instruction.name in results
        and instruction.shape.without_layout in _COUNTER_TYPES
    ]


def _same(one: Source | None, other: Source) -> bool:
    return one is not None and (one.file, one.line) == (other.file, other.line)
