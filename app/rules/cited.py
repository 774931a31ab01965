"""Instructions of a dump as culprits, with their lines, and lists of suspects of such.

The line of an instruction that has none of its own comes from older texts, from what it only hands
on, from its parts, or from what runs its computation; then it is told as inferred.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import msgspec

from app.analysis.opcodes import collective_opcode
from app.analysis.readers import readers_anywhere
from app.analysis.sources import placed_source, source_of
from app.analysis.suspects import Place
from app.model.dump import ModuleHistory, PassDump
from app.model.facts import Diagnosis, Facts, LoopHistory
from app.model.report import Culprit, Evidence
from app.model.source import Source, SourceHow
from app.rules.citing import instruction_culprit, instruction_evidence, loop_culprit
from hlo_parser import Computation, Instruction, Module

# Of what is named or suspected, no more is told.
MOST_NAMED = 5
# Copies and dones followed back to a value with a source place.
_MOST_HANDED_ON = 8
_HANDS_ON = frozenset({"copy", "bitcast", "reshape", "transpose", "convert", "broadcast"})
INPUTS = ("parameter", "constant")


@dataclass(frozen=True, slots=True)
class Named:
    """An instruction as a culprit, and its line in the dump where it has one.

    `is_origin`: the message does not name it, but what it names may have been made of this.
    """

    culprit: Culprit
    evidence: Evidence | None = None
    is_origin: bool = False


def cited(
    facts: Facts,
    history: ModuleHistory,
    dump: PassDump,
    computation: Computation,
    instruction: Instruction,
    *,
    role: str,
) -> Named:
    """The instruction with its line; its source comes from older texts or callees if need be."""
    loops = facts.loops.get(history.id, ())
    around = next(
        (
            loop.id
            for loop in loops
            if dump.index in loop.occurrences
            and loop.occurrences[dump.index].body.name == computation.name
        ),
        None,
    )
    culprit = instruction_culprit(history, dump, computation, instruction, loop=around, role=role)
    if culprit.source is None:
        culprit = _with_source(culprit, facts, history, dump, (computation, instruction))
    return Named(culprit, instruction_evidence(dump, computation, instruction))


def _with_source(
    culprit: Culprit, facts: Facts, history: ModuleHistory, dump: PassDump, at: Place
) -> Culprit:
    """The culprit with the place of what it hands on, or of the parts that are taken out of it."""
    computation, instruction = at
    loops = facts.loops.get(history.id, ())
    for behind in _values_behind(computation, instruction):
        placed = placed_source(history, dump.index, computation, behind, loops)
        if placed is None:
            continue
        is_own = behind is instruction
        how: SourceHow = placed.how if is_own else "operand"
        stated = placed.how in ("stated", "earlier_text") and (
            is_own or instruction.opcode.endswith("-done")
        )
        return msgspec.structs.replace(culprit, source=placed.source, stated=stated, source_how=how)
    parts = (source_of(dump.module, part) for part in _parts_of(computation, instruction))
    source = next(filter(None, parts), None)
    how: SourceHow = "users"
    if instruction.opcode in INPUTS:
        source, how = _around(history, dump, at, loops)
    if source is None:
        return culprit
    return msgspec.structs.replace(culprit, source=source, stated=False, source_how=how)


def _around(
    history: ModuleHistory, dump: PassDump, at: Place, loops: Sequence[LoopHistory]
) -> tuple[Source | None, SourceHow]:
    """The place of what a constant is for, or of what runs the computation of a parameter."""
    computation, instruction = at
    if instruction.opcode == "constant":
        readers = readers_anywhere(dump.module, computation, instruction)
        sources = (source_of(dump.module, reader) for _, reader in readers)
        return next(filter(None, sources), None), "users"
    for around, runs in dump.module.callers(computation.name):
        placed = placed_source(history, dump.index, around, runs, loops)
        if placed is not None:
            return placed.source, "caller"
    return None, "caller"


def _parts_of(computation: Computation, instruction: Instruction) -> Iterator[Instruction]:
    """What is taken out of a collective: of a combined one only its parts keep their lines."""
    if collective_opcode(instruction) is None and not instruction.opcode.endswith("-done"):
        return
    pending = [instruction]
    for here in pending:
        for user in computation.users.get(here.name, ()):
            if user.opcode == "get-tuple-element":
                yield user
            elif user.opcode.endswith("-done"):
                pending.append(user)


def _values_behind(computation: Computation, instruction: Instruction) -> Iterator[Instruction]:
    """The instruction, then what it only hands on: passes often keep the place there alone."""
    behind: Instruction | None = instruction
    for _ in range(_MOST_HANDED_ON):
        if behind is None:
            return
        yield behind
        if not behind.operands or not (
            behind.opcode in _HANDS_ON or behind.opcode.endswith("-done")
        ):
            return
        behind = computation.get(behind.operands[0])


def suspects(
    facts: Facts, find: Callable[[Module], Iterable[Place]], *, role: str
) -> tuple[Named, ...]:
    """What `find` lists in the newest text of the module that died, five at most."""
    history = facts.failing
    if history is None:
        return ()
    return tuple(
        cited(facts, history, history.last, computation, instruction, role=role)
        for computation, instruction in islice(find(history.last.module), MOST_NAMED)
    )


def suspecting_at_first(
    find: Callable[[Module], Iterable[Place]], *, role: str
) -> Callable[[Facts, Diagnosis], tuple[Named, ...]]:
    """What a story suspects: what `find` lists in the first text of a module.

    Of the module that died, or, for a run that went on, of the first of the user's that has any.
    """

    def found(facts: Facts, _: Diagnosis) -> tuple[Named, ...]:
        for history in modules_asked(facts):
            first = history.dumps[0]
            places = tuple(islice(find(first.module), MOST_NAMED))
            if places:
                return tuple(cited(facts, history, first, *place, role=role) for place in places)
        return ()

    return found


def suspecting(
    find: Callable[[Module], Iterable[Place]], *, role: str
) -> Callable[[Facts, Diagnosis], tuple[Named, ...]]:
    """What a story suspects: whatever `find` lists in the newest text of the module that died."""
    return lambda facts, _: suspects(facts, find, role=role)


def loop_suspects(facts: Facts, holds: Callable[[Computation], bool]) -> tuple[Named, ...]:
    """Loops in the newest text of the module that died whose body `holds` what is asked."""
    history = facts.failing
    if history is None:
        return ()
    dump = history.last
    found: list[Named] = []
    for tracked in facts.loops.get(history.id, ()):
        loop = tracked.occurrences.get(dump.index)
        if loop is not None and holds(loop.body):
            evidence = instruction_evidence(dump, loop.computation, loop.instruction)
            found.append(Named(loop_culprit(history, dump, tracked, role="loop"), evidence))
    return tuple(found[:MOST_NAMED])


def modules_asked(facts: Facts) -> Sequence[ModuleHistory]:
    """The module that died, else all but those of the autotuner."""
    if facts.failing is not None:
        return (facts.failing,)
    return tuple(history for history in facts.modules if history.role != "autotuning")
