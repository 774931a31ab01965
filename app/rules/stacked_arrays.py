"""Arrays that a loop fills or reads slice by slice, as the rule about the peak tells of them.

A buffer that lies in the carried tuple of a loop is told as that element: the instruction of the
body that writes or reads its slices, with its line, and what the loop does with it. Advice goes by
that: what a loop keeps for the gradient can be computed anew, what it was given cannot.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from app.analysis.carry import describe_carry
from app.model.dump import ModuleHistory, PassDump
from app.model.facts import Facts, LoopHistory, WhileLoop
from app.model.memory import LiveBuffer
from app.model.report import CarriedElement
from app.rules.amounts import bytes_in_words
from app.rules.cited import Named, cited

StackRole = Literal["kept", "filled", "read", "unknown"]

_IS: dict[StackRole, str] = {
    "kept": "kept by loops for the gradient",
    "filled": "filled by loops with what each iteration gives back",
    "read": "read by loops, a slice in each iteration",
    "unknown": "of loops, a slice in each iteration",
}
_TRY: dict[StackRole, tuple[str, ...]] = {
    "kept": (
        "Put jax.checkpoint around the body of the loop, with a policy that keeps less "
        "(jax.checkpoint_policies).",
        "Shard what the loop keeps, or make its iterations smaller (a smaller batch at a time).",
    ),
    "filled": (
        "Let the body give back less in each iteration (the second result of a scan), or fold it "
        "into the carry: jax.checkpoint does not shrink it.",
        "Shard what the loop fills.",
    ),
    "read": (
        "Shard what the loop is given slice by slice, or make the slice inside the body: "
        "jax.checkpoint does not shrink it.",
    ),
    "unknown": ("Shard what the loop stacks, or make its iterations smaller.",),
}


@dataclass(frozen=True, slots=True)
class Stacked:
    """One buffer: `role` says what the loop does with it, `element` where it lies in its tuple."""

    buffer: LiveBuffer
    role: StackRole
    loop: WhileLoop | None = None
    element: CarriedElement | None = None


def stacked_of(
    facts: Facts, history: ModuleHistory, dump: PassDump, buffers: Sequence[LiveBuffer]
) -> tuple[Stacked, ...]:
    """The buffers with the elements that they are, in their order."""
    loops = {loop.id: loop for loop in facts.loops.get(history.id, ())}
    carries: dict[str, tuple[CarriedElement, ...]] = {}
    found: list[Stacked] = []
    for buffer in buffers:
        tracked = loops.get(buffer.loop or "")
        loop = tracked.occurrences.get(dump.index) if tracked else None
        if tracked is None or loop is None:
            found.append(Stacked(buffer, "unknown"))
            continue
        if tracked.id not in carries:
            carries[tracked.id] = describe_carry(dump.module, loop)
        elements = _elements(buffer, loop, carries[tracked.id])
        roles: set[StackRole] = {_role(tracked, loop, element) for element in elements}
        role = roles.pop() if len(roles) == 1 else "unknown"
        found.append(Stacked(buffer, role, loop, elements[0] if len(elements) == 1 else None))
    return tuple(found)


def name_stacked(
    facts: Facts, history: ModuleHistory, dump: PassDump, stacked: Stacked
) -> Named | None:
    """The instruction of the body that writes or reads the slices, else what the buffer names."""
    loop, element = stacked.loop, stacked.element
    size = bytes_in_words(stacked.buffer.bytes)
    if loop is not None and element is not None:
        instruction = loop.body.get(element.instruction or "")
        if instruction is not None:
            does = "reads" if stacked.role == "read" else "fills"
            role = f"{does} element {element.index} of {loop.name}: {size} at the peak"
            named = cited(facts, history, dump, loop.body, instruction, role=role)
            return _at(named, element.source or stacked.buffer.source)
    computation = dump.module.get(stacked.buffer.computation or "")
    instruction = computation.get(stacked.buffer.instruction or "") if computation else None
    if computation is None or instruction is None:
        return None
    index = f"{stacked.buffer.index} " if stacked.buffer.index else ""
    role = f"{index}holds {size} at the peak"
    named = cited(facts, history, dump, computation, instruction, role=role)
    return _at(named, stacked.buffer.source)


def shares_in_words(stacked: Sequence[Stacked]) -> str:
    """What the buffers are for, with their bytes, the most first; "" for none."""
    sums = _sums(stacked)
    return ", ".join(f"{bytes_in_words(size)} {_IS[role]}" for role, size in sums)


def advice(stacked: Sequence[Stacked]) -> Iterator[str]:
    """What makes the largest share smaller, then what makes another large one smaller."""
    sums = _sums(stacked)
    for role, size in sums:
        if size * 4 >= sums[0][1]:
            yield from _TRY[role]


def _sums(stacked: Sequence[Stacked]) -> list[tuple[StackRole, int]]:
    sums: dict[StackRole, int] = {}
    for one in stacked:
        sums[one.role] = sums.get(one.role, 0) + one.buffer.bytes
    return sorted(sums.items(), key=lambda item: -item[1])


def _at(named: Named, source: object) -> Named:
    culprit = named.culprit
    if culprit.source is not None or source is None:
        return named
    culprit = msgspec.structs.replace(culprit, source=source, stated=False)
    return Named(culprit, named.evidence)


def _elements(
    buffer: LiveBuffer, loop: WhileLoop, carry: Sequence[CarriedElement]
) -> Sequence[CarriedElement]:
    """The element that a buffer is, by its place in the loop's tuple; else those like it."""
    own = {loop.name, *(p.name for c in (loop.body, loop.condition) for p in c.parameters)}
    number = buffer.index.strip("{}")
    if buffer.instruction in own and number.isdecimal() and int(number) < len(carry):
        return (carry[int(number)],)
    shape = buffer.shape.partition("{")[0]
    alike = [e for e in carry if e.kind.startswith("stacked") and e.shape == shape]
    placed = [e for e in alike if e.instruction == buffer.instruction]
    placed = placed or [e for e in alike if e.source is not None and e.source == buffer.source]
    return placed or alike


def _role(tracked: LoopHistory, loop: WhileLoop, element: CarriedElement) -> StackRole:
    if element.kind == "stacked_input":
        return "read"
    if element.kind != "stacked_output":
        return "unknown"
    writer = loop.body.get(element.instruction or "")
    metadata = None if writer is None else writer.metadata
    names = (tracked.op_name or "", (metadata and metadata.op_name) or "")
    return "kept" if any(map(_is_of_a_forward_pass, names)) else "filled"


def _is_of_a_forward_pass(name: str) -> bool:
    """Whether JAX made the operation to compute a gradient later, or to compute it anew."""
    return "rematted" in name or ("jvp(" in name and "transpose(" not in name)
