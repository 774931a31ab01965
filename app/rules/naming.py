"""The instructions that a message names, found in the dump.

An instruction is looked for in the newest text of the module that died, by its name, then as a
kernel (code generation writes `_` for `-` and `.`), then in older texts, and last by the operation
of the program that its print names. What no text holds is cited as the message prints it. Where a
message names an opcode alone, all instructions with it are.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

import msgspec

from app.analysis.class_suspects import of_opcode
from app.analysis.printed import (
    PrintedInstruction,
    opcodes_in,
    printed_in,
    subjects_in,
    targets_in,
)
from app.analysis.suspects import collectives, instructions, with_target
from app.model.dump import ModuleHistory, PassDump
from app.model.facts import Facts
from app.model.report import Culprit
from app.rules.cited import (
    INPUTS,
    MOST_NAMED,
    Named,
    cited,
    modules_asked,
    suspects,
)
from hlo_parser import Computation, Instruction

# Texts looked through for a name that the newest one does not hold.
_MOST_TEXTS = 40
_NUMBERED = re.compile(r"(?<![\w.\-/%])[A-Za-z_][\w\-]*(?:\.[\w\-]+)*\.\d+(?![\w\-]|\.\w)")
_DIMENSIONS = re.compile(r"\b[bf\d?]{2,9}_[io\d?]{2,9}->[bf\d?]{2,9}\b")
# `collective-permute` of `collective-permute.12-bwd-send-done`.
_STEM = re.compile(r"[a-z_]+(?:-(?!(?:start|done|fwd|bwd|send|recv)\b)[a-z]+)*")
_MOST_READ = 4000
_NOT_IN_KERNELS = re.compile(r"[^A-Za-z0-9_]")


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
            if len(named) == MOST_NAMED:
                return tuple(named.values())
    if named:
        found = tuple(named.values())
        origins = tuple(_origins(facts, found))
        return (*_on_the_line_of(origins, found), *origins)[:MOST_NAMED]
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
            facts, partial(with_target, words=_pattern_of(target)), role=f"calls {target}"
        )
    )
    return tuple(calls) or named_instructions(facts, texts)


def _pattern_of(target: str) -> str:
    """The expression for a target as a message names it, `xla.sdy.*` for all with that prefix."""
    return f"^{re.escape(target.removesuffix('*'))}" + ("" if target.endswith("*") else "$")


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
    return tuple(islice(named, MOST_NAMED))


def _of_named_opcode(facts: Facts, texts: Sequence[str]) -> tuple[Named, ...]:
    """Instructions with the opcode that a message names: `Unsupported instruction opcode: topk`."""
    opcodes = dict.fromkeys(opcode for t in texts for opcode in opcodes_in(t[:_MOST_READ]))
    found = (
        named
        for opcode in opcodes
        if opcode not in INPUTS
        for named in suspects(
            facts, partial(of_opcode, opcode=opcode), role=f"a {opcode}, which the message names"
        )
    )
    return tuple(islice(found, MOST_NAMED))


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


def _named(facts: Facts, name: str | None, printed: PrintedInstruction | None) -> Named | None:
    for history in modules_asked(facts):
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
        if instruction is not None and instruction.opcode not in INPUTS:
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
                and instruction.opcode not in INPUTS
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
