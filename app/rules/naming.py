"""The instructions that a message names, found in the dump.

An instruction is looked for in the newest text of the module that died, by its name, then as a
kernel (code generation writes `_` for `-` and `.`), then in older texts, and last by the operation
of the program that its print names. What no text holds is cited as the message prints it. Where a
message names an opcode alone, all instructions with it are.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import msgspec

from app.analysis.class_suspects import of_opcode
from app.analysis.opcodes import collective_opcode
from app.analysis.printed import (
    PrintedInstruction,
    opcodes_in,
    printed_in,
    subjects_in,
    targets_in,
)
from app.analysis.readers import readers_anywhere
from app.analysis.sources import placed_source, source_of
from app.analysis.suspects import Place, collectives, instructions, with_target
from app.model.dump import ModuleHistory, PassDump
from app.model.facts import Diagnosis, Facts, LoopHistory
from app.model.report import Culprit, Evidence
from app.model.source import Source, SourceHow
from app.rules.citing import instruction_culprit, instruction_evidence, loop_culprit
from hlo_parser import Computation, Instruction, Module

_MOST_NAMED = 5
# Texts looked through for a name that the newest one does not hold.
_MOST_TEXTS = 40
# Copies and dones followed back to a value with a source place.
_MOST_HANDED_ON = 8
_HANDS_ON = frozenset({"copy", "bitcast", "reshape", "transpose", "convert", "broadcast"})
_INPUTS = ("parameter", "constant")
_NUMBERED = re.compile(r"(?<![\w.\-/%])[A-Za-z_][\w\-]*(?:\.[\w\-]+)*\.\d+(?![\w\-]|\.\w)")
_DIMENSIONS = re.compile(r"\b[bf\d?]{2,9}_[io\d?]{2,9}->[bf\d?]{2,9}\b")
# `collective-permute` of `collective-permute.12-bwd-send-done`.
_STEM = re.compile(r"[a-z_]+(?:-(?!(?:start|done|fwd|bwd|send|recv)\b)[a-z]+)*")
_MOST_READ = 4000
_NOT_IN_KERNELS = re.compile(r"[^A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class Named:
    """An instruction as a culprit, and its line in the dump where it has one.

    `is_origin`: the message does not name it, but what it names may have been made of this.
    """

    culprit: Culprit
    evidence: Evidence | None = None
    is_origin: bool = False


def named_instructions(facts: Facts, texts: Sequence[str]) -> tuple[Named, ...]:
    """The instructions that the messages are about, in their order, five at most."""
    named: dict[object, Named] = {}
    for text in texts:
        printed = {p.name: p for p in printed_in(text)}
        for name in (*subjects_in(text), *(None for p in printed if p is None)):
            found = _named(facts, name, printed.get(name))
            if found is not None:
                key = (found.culprit.computation, found.culprit.instruction, found.culprit.op_name)
                named.setdefault(key, found)
            if len(named) == _MOST_NAMED:
                return tuple(named.values())
    if named:
        found = tuple(named.values())
        origins = tuple(_origins(facts, found))
        return (*_on_the_line_of(origins, found), *origins)[:_MOST_NAMED]
    return (
        _mentioned(facts, texts)
        or _of_named_opcode(facts, texts)
        or _of_named_dimensions(facts, texts)
    )


def _origins(facts: Facts, named: tuple[Named, ...]) -> Iterator[Named]:
    """Collectives that those named, which no text holds, may have been made of: of their kind.

    A dump without texts of passes has the module as it came in alone, where names are others.
    """
    history = facts.failing
    if history is None or any(found.evidence is not None for found in named):
        return
    kinds = {stem[0] for n in named if (stem := _STEM.match(n.culprit.instruction or ""))}
    role = "what is named may have been made of it"
    alike: list[Named] = []
    # 0.8.3 writes a text in which frame ids fit no table after one in which they do.
    for dump in (history.last, history.dumps[0]):
        alike = [
            replace(cited(facts, history, dump, *place, role=role), is_origin=True)
            for place in collectives(dump.module)
            if _is_of_kind(place[1], kinds)
        ]
        if any(found.culprit.source is not None for found in alike):
            break
    yield from alike


def _is_of_kind(collective: Instruction, kinds: Collection[str]) -> bool:
    stem = _STEM.match(collective.name)
    return collective.opcode in kinds or (stem is not None and stem[0] in kinds)


def _on_the_line_of(origins: Sequence[Named], named: tuple[Named, ...]) -> Iterator[Named]:
    """Those named, with the one line that all that they may have been made of is on."""
    sources = {(s.file, s.line): s for o in origins if (s := o.culprit.source) is not None}
    if len(sources) != 1:
        yield from named
        return
    (source,) = sources.values()
    for found in named:
        if found.culprit.source is not None:
            yield found
            continue
        culprit = msgspec.structs.replace(
            found.culprit, source=source, stated=False, source_how="earlier_text"
        )
        yield replace(found, culprit=culprit)


def calls_named(facts: Facts, texts: Sequence[str]) -> tuple[Named, ...]:
    """The custom calls to the targets that the messages name, else the instructions they name."""
    calls = (
        named
        for text in texts
        for target in targets_in(text)
        for named in suspects(
            facts, partial(with_target, words=rf"^{re.escape(target)}$"), role=f"calls {target}"
        )
    )
    return tuple(calls) or named_instructions(facts, texts)


def _mentioned(facts: Facts, texts: Sequence[str]) -> tuple[Named, ...]:
    """Instructions whose numbered names stand in a message as plain words.

    Only names that the newest text of the module that died holds: other words look like them.
    """
    history = facts.failing
    if history is None:
        return ()
    words = dict.fromkeys(w for text in texts for w in _NUMBERED.findall(text[:_MOST_READ]))
    places = (_defined(history.last, word) for word in words)
    named = (
        cited(facts, history, history.last, *found, role="named by the message")
        for found in places
        if found is not None
    )
    return tuple(islice(named, _MOST_NAMED))


def _of_named_opcode(facts: Facts, texts: Sequence[str]) -> tuple[Named, ...]:
    """Instructions with the opcode that a message names: `Unsupported instruction opcode: topk`."""
    opcodes = dict.fromkeys(opcode for t in texts for opcode in opcodes_in(t[:_MOST_READ]))
    found = (
        named
        for opcode in opcodes
        if opcode not in _INPUTS
        for named in suspects(
            facts, partial(of_opcode, opcode=opcode), role=f"a {opcode}, which the message names"
        )
    )
    return tuple(islice(found, _MOST_NAMED))


def _of_named_dimensions(facts: Facts, texts: Sequence[str]) -> tuple[Named, ...]:
    """Convolutions whose labels of dimensions a message prints: `b01f_01io->b01f`."""
    labels = {label for text in texts for label in _DIMENSIONS.findall(text[:_MOST_READ])}
    if not labels:
        return ()
    return suspects(
        facts,
        lambda module: (
            place
            for place in instructions(module)
            if place[1].attributes.get("dim_labels") in labels
        ),
        role="has the dimensions that the message prints",
    )


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
    if instruction.opcode in _INPUTS:
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
        for computation, instruction in islice(find(history.last.module), _MOST_NAMED)
    )


def suspecting_at_first(
    find: Callable[[Module], Iterable[Place]], *, role: str
) -> Callable[[Facts, Diagnosis], tuple[Named, ...]]:
    """What a story suspects: what `find` lists in the first text of a module.

    Of the module that died, or, for a run that went on, of the first of the user's that has any.
    """

    def found(facts: Facts, _: Diagnosis) -> tuple[Named, ...]:
        for history in _modules(facts):
            first = history.dumps[0]
            places = tuple(islice(find(first.module), _MOST_NAMED))
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
    return tuple(found[:_MOST_NAMED])


def _named(facts: Facts, name: str | None, printed: PrintedInstruction | None) -> Named | None:
    for history in _modules(facts):
        found = _by_name(history, name) or _by_operation(history, printed)
        if found is not None:
            dump, computation, instruction, role = found
            return cited(facts, history, dump, computation, instruction, role=role)
    if printed is None:
        return None
    return Named(
        Culprit(
            instruction=printed.name,
            opcode=printed.opcode,
            op_name=printed.op_name,
            source=printed.source,
            stated=printed.source is not None,
            role="printed in the message",
        )
    )


def _modules(facts: Facts) -> Sequence[ModuleHistory]:
    if facts.failing is not None:
        return (facts.failing,)
    return tuple(history for history in facts.modules if history.role != "autotuning")


_Found = tuple[PassDump, Computation, Instruction, str]


def _by_name(history: ModuleHistory, name: str | None) -> _Found | None:
    if name is None:
        return None
    for dump in (history.last, *history.dumps[-2 : -_MOST_TEXTS - 1 : -1]):
        if found := _defined(dump, name):
            return dump, *found, "named by the message"
        if dump is history.last and (found := _kernel(dump, name)):
            return dump, *found, "the kernel that the message names"
    return None


def _defined(dump: PassDump, name: str) -> tuple[Computation, Instruction] | None:
    for computation in dump.module.computations:
        instruction = computation.get(name)
        if instruction is not None and instruction.opcode not in _INPUTS:
            return computation, instruction
    return None


def _kernel(dump: PassDump, name: str) -> tuple[Computation, Instruction] | None:
    """The instruction whose kernel has that name; each of its characters may have been a `.`."""
    if not name.replace("_", "").isalnum():
        return None
    for computation in dump.module.computations:
        for instruction in computation.instructions:
            if (
                len(instruction.name) == len(name)
                and instruction.opcode not in _INPUTS
                and _NOT_IN_KERNELS.sub("_", instruction.name) == name
            ):
                return computation, instruction
    return None


def _by_operation(history: ModuleHistory, printed: PrintedInstruction | None) -> _Found | None:
    """The instruction of the newest text with the opcode, operation and line that were printed."""
    if printed is None or printed.op_name is None:
        return None
    dump = history.last
    for computation in dump.module.computations:
        for instruction in computation.instructions:
            metadata = instruction.metadata
            if (
                instruction.opcode == printed.opcode
                and metadata is not None
                and metadata.op_name == printed.op_name
                and (printed.source is None or metadata.source_line == printed.source.line)
            ):
                return dump, computation, instruction, "made for the operation in the message"
    return None
