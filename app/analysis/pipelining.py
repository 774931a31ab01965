"""What the collective pipeliner may move, and where its backward direction trips over itself.

Facts about XLA, read in xla/service/collective_pipeliner.cc of jaxlib 0.4.30:
`CollectIndependentOperandChain` accepts an all-gather of a while body when the operands it depends
on end only in constants, loop-invariant carry elements and the induction variable; inner loops are
transformed before outer ones, and `TransformLoopBackward` puts clones of an inner loop's
all-gathers in front of it, into the body of the outer loop. A candidate of the outer loop whose
chain runs through that inner loop then takes the fresh clones with it (`CloneBackwardChain`).

Only the graph is read here. Whether a compile died of it is for a rule to say: the same structure
stands in healthy programs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.analysis.dataflow import Value, root_elements, value_of
from app.model.facts import WhileLoop
from hlo_parser import Computation, Instruction


@dataclass(frozen=True, slots=True)
class BackwardCandidate:
    """An all-gather that the backward direction may move out of `loop`.

    `chain` is what it depends on inside the body (the all-gather itself left out), nearest first;
    `ends` are the elements of the carried tuple in which the chain ends.
    """

    loop: WhileLoop
    instruction: Instruction
    chain: tuple[Instruction, ...]
    ends: frozenset[int]


@dataclass(frozen=True, slots=True)
class Containment:
    """An outer candidate whose chain runs through an inner loop with candidates of its own.

    `container` is the outer one. `contained` are the inner loop's candidates whose clones become
    candidates of the outer loop too, in text order of the inner body.
    """

    outer: WhileLoop
    inner: WhileLoop
    container: BackwardCandidate
    contained: tuple[BackwardCandidate, ...]


def backward_candidates(
    loop: WhileLoop, *, opcode: str = "all-gather"
) -> tuple[BackwardCandidate, ...]:
    """The all-gathers of the loop's body that the backward direction may move, in text order.

    The pass meets them whole; in a scheduled text `opcode` is that of their starts. Empty where the
    trip count is not known: the pass leaves such loops alone
    (`WhileLoopAnalysis::ComputeLoopStatistics`).
    """
    if loop.trip_count is None or loop.induction is None or len(loop.body.parameters) != 1:
        return ()
    movable = loop.invariant | {loop.induction.index}
    found: list[BackwardCandidate] = []
    for instruction in loop.body.instructions:
        if instruction.opcode == opcode:
            candidate = _candidate(loop, instruction, movable)
            if candidate is not None:
                found.append(candidate)
    return tuple(found)


def find_containments(loops: Sequence[WhileLoop]) -> tuple[Containment, ...]:
    """All containments among the loops of one module, outer loops in text order.

    The containers of one outer loop stand in text order, which is not the order of XLA's own
    instruction list: any of them may have been the first to be moved.
    """
    found: list[Containment] = []
    for outer in loops:
        candidates = backward_candidates(outer)
        inner_loops = [
            (inner, _clones_movable_in(outer, inner))
            for inner in loops
            if inner.computation is outer.body and candidates
        ]
        for container in candidates:
            names = {instruction.name for instruction in container.chain}
            found.extend(
                Containment(outer, inner, container, contained)
                for inner, contained in inner_loops
                if contained and inner.name in names
            )
    return tuple(found)


def _candidate(
    loop: WhileLoop, instruction: Instruction, movable: frozenset[int]
) -> BackwardCandidate | None:
    chain = _independent_chain(loop.body, instruction.operands, instruction.operand_paths, movable)
    if chain is None:
        return None
    return BackwardCandidate(loop, instruction, *chain)


def _independent_chain(
    body: Computation,
    operands: Sequence[str],
    paths: Sequence[tuple[int, ...]],
    movable: frozenset[int],
) -> tuple[tuple[Instruction, ...], frozenset[int]] | None:
    """What the operands depend on, and the carried elements that ends it; None if one varies."""
    parameter = body.parameters[0].name
    seen: set[str] = set()
    chain: list[Instruction] = []
    ends: set[int] = set()
    pending = list(zip(operands, paths, strict=True))
    for name, path in pending:
        value = value_of(body, name, path)
        if value.name == parameter:
            if value.path and value.path[0] not in movable:
                return None
            ends.update(value.path[:1])
            continue
        if value.name in seen:
            continue
        seen.add(value.name)
        instruction = body.get(value.name)
        if instruction is None or instruction.opcode == "recv-done":
            return None
        chain.append(instruction)
        pending.extend(zip(instruction.operands, instruction.operand_paths, strict=True))
    return tuple(chain), frozenset(ends)


def _clones_movable_in(outer: WhileLoop, inner: WhileLoop) -> tuple[BackwardCandidate, ...]:
    """The inner loop's candidates whose clones, put in front of it, are candidates of `outer`."""
    if outer.induction is None:
        return ()
    movable = outer.invariant | {outer.induction.index}
    initial = _initial_values(outer.body, inner)

    def hoisted_is_movable(candidate: BackwardCandidate) -> bool:
        starts = [initial.get(index) for index in candidate.ends]
        known = [value for value in starts if value is not None]
        return len(known) == len(starts) and (
            _independent_chain(
                outer.body, [v.name for v in known], [v.path for v in known], movable
            )
            is not None
        )

    return tuple(c for c in backward_candidates(inner) if hoisted_is_movable(c))


def _initial_values(body: Computation, inner: WhileLoop) -> dict[int, Value]:
    """The values that the inner loop starts with, by carried element."""
    operands = inner.instruction.operands
    if len(operands) != 1:
        return {}
    name, path = operands[0], inner.instruction.operand_paths[0]
    return {i: value_of(body, name, (*path, i)) for i in range(len(root_elements(inner.body)))}
