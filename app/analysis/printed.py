"""Instructions that a message names or prints: their names, and what the print says of them.

A message prints an instruction with its operands; the one it speaks of stands before the ` = `, in
quotes, or under a word that says so. Nothing is looked up in a module here, and nothing is
invented: what a message does not print is None.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.model.source import Frame, Source
from hlo_parser.possessive import compile_pattern

_NAME = r"(?P<name>[A-Za-z_][\w\-]*+(?:\.[\w\-]+)*+)"
# Who a message is about, by the words around the name.
_SUBJECTS = tuple(
    compile_pattern(pattern, re.M)
    for pattern in (
        rf"%{_NAME} = ",
        rf"tracing scope: {_NAME}",
        rf"compiling fusion {_NAME}",
        rf"HloInstruction '{_NAME}'",
        rf"[Ii]nstruction \(\"{_NAME}\"\)",
        rf"\(from \"{_NAME}\"\)",
        rf"starting from %?{_NAME}",
        rf"on stack for %?{_NAME}",
        rf"Entry function '{_NAME}'",
        rf"kernel:? '?{_NAME}'? (?:with|uses|failed|on) ",
        rf"[;.] HLO: {_NAME};",
        rf"^ *{_NAME} \(displaying the full instruction",
    )
)
_CYCLE = compile_pattern(r"Directed cycle:\s*\n(?P<names>(?: *[\w.\-]+ *\n?)+)")
_ANY_NAME = compile_pattern(rf"%{_NAME}")
_PRINTED = compile_pattern(
    rf"(?:%{_NAME} = |\bConv: )(?P<shape>[^\n]*?) (?P<opcode>[a-z][a-z0-9\-]*+)\((?P<rest>[^\n]*)"
)
_TARGETS = (
    compile_pattern(r"custom call to (?P<target>[\w.$\-]{1,200}) for "),
    compile_pattern(r"handler registered for (?P<target>[\w.$\-]{1,200}) on "),
    compile_pattern(r"Custom emitter for (?P<target>[\w.$\-]{1,200}) not found"),
    # xla/service/cpu/simple_orc_jit.cc
    compile_pattern(r"Unable to resolve runtime symbol: [`'\"](?P<target>[\w.$\-]{1,200})['\"]"),
    compile_pattern(r"custom call named '(?P<target>[\w.$\-]{1,200}\.\*)'"),
    compile_pattern(r"custom call target '?(?P<target>[\w.$\-]{1,200})'?"),
)
_OPCODES = (
    # xla/backends/gpu/codegen: `Stable sort not supported. Did stable_sort_expander run?` (0.10.2).
    compile_pattern(r"\b[Ss]table (?P<opcode>sort) not supported"),
    compile_pattern(r"\bopcode:? ['\"`]?(?P<opcode>[a-z][a-z\-]{1,40}\b(?!-))"),
    # xla/backends/cpu/runtime: `TopK is not yet supported by XLA:CPU ThunkEmitter` (0.12.0).
    compile_pattern(
        r"(?<![A-Za-z] )\b(?P<opcode>[A-Z][A-Za-z]{1,40}) is not (?:yet )?"
        r"(?:supported|implemented)\b"
    ),
)
# Opcodes that every module holds, or that mean something else in a sentence.
_ALSO_WORDS = frozenset(
    {"async", "bitcast", "call", "constant", "copy", "layout", "map", "parameter", "tuple"}
)
_CHANNEL = compile_pattern(r"\bop[_ ]id[:=] ?(?P<channel>\d{1,9})")
_DEVICES = compile_pattern(r"devices=(?:\d{1,6}:)?\[(?P<devices>[\d, ]{1,4000})\]")
_MISREAD = compile_pattern(r"(?:Parsing|syntax) error near '(?P<word>[\w.$%\-]{2,100})'")
_FROM_EQUALS = compile_pattern(r"(%[\w.\-]+) = [^\n]*")
_METADATA = compile_pattern(r"metadata=\{(?P<fields>[^{}\n]*)\}")
_OP_NAME = compile_pattern(r"op_name=\"(?P<value>(?:[^\"\\]|\\.)*+)\"")
_SOURCE_FILE = compile_pattern(r"source_file=\"(?P<value>(?:[^\"\\]|\\.)*+)\"")
_SUSPECTED = compile_pattern(
    r"Suspected Python Code Location:\n(?P<frames>(?: {2}[^\n]*(?:\n|$))+)"
)
_SUSPECTED_FRAME = compile_pattern(
    r"^ {2}(?P<file>[^\n]{1,1000}?):(?P<line>\d{1,9})(?::\d{1,9})? "
    r"\[(?P<function>[^\]\n]{0,400})\]$",
    re.M,
)
_SOURCE_LINE = compile_pattern(r"source_line=(?P<value>\d{1,9})")


@dataclass(frozen=True, slots=True)
class PrintedInstruction:
    """An instruction as a message prints it; `name` is None where the print leaves it out."""

    name: str | None
    opcode: str
    op_name: str | None
    source: Source | None


def subjects_in(text: str) -> tuple[str, ...]:
    """The names of the instructions or kernels a message is about, each once, in text order.

    Where no words say whom it is about, and no instruction is printed without its name, all names
    with a `%` count.
    """
    found = {(m.start(), m["name"]) for pattern in _SUBJECTS for m in pattern.finditer(text)}
    names = dict.fromkeys(name for _, name in sorted(found))
    if cycle := _CYCLE.search(text):
        names.update(dict.fromkeys(cycle["names"].split()))
    if not names and _PRINTED.search(text) is None:
        names = dict.fromkeys(m["name"] for m in _ANY_NAME.finditer(text))
    return tuple(names)


def printed_in(text: str) -> tuple[PrintedInstruction, ...]:
    """The instructions printed in full, in text order."""
    return tuple(_printed(text))


def without_print(text: str) -> str:
    """The text with the names of the instructions that it prints, and nothing else of them."""
    return _FROM_EQUALS.sub(r"\1", text)


def targets_in(text: str) -> tuple[str, ...]:
    """The targets of custom calls that a message names, each once."""
    return tuple(dict.fromkeys(m["target"] for p in _TARGETS for m in p.finditer(text)))


def opcodes_in(text: str) -> tuple[str, ...]:
    """The opcodes that a message names as such, in lower case, each once.

    An opcode that is written like a class, `TopK`, comes without hyphens: `topk`.
    """
    words = dict.fromkeys(m["opcode"].lower() for p in _OPCODES for m in p.finditer(text))
    return tuple(word for word in words if word not in _ALSO_WORDS)


def misread_words(text: str) -> tuple[str, ...]:
    """The words at which an assembler says it stopped reading, each once."""
    return tuple(dict.fromkeys(m["word"] for m in _MISREAD.finditer(text)))


def rendezvous_in(text: str) -> tuple[int | None, tuple[int, ...]]:
    """The number of the operation and the devices in the name of a rendezvous, as far as given."""
    channel, devices = _CHANNEL.search(text), _DEVICES.search(text)
    return (
        int(channel["channel"]) if channel else None,
        tuple(int(word) for word in re.findall(r"\d+", devices["devices"])) if devices else (),
    )


def suspected_place(text: str) -> Source | None:
    """The place in Python that XLA itself suspects (from 0.10 on), with the frames around it."""
    header = _SUSPECTED.search(text)
    if header is None:
        return None
    frames = [
        Frame(file=found["file"], line=int(found["line"]), function=found["function"])
        for found in _SUSPECTED_FRAME.finditer(header["frames"])
    ]
    if not frames:
        return None
    first = frames[0]
    return Source(
        file=first.file, line=first.line, function=first.function, frames=tuple(frames[1:])
    )


def _printed(text: str) -> Iterator[PrintedInstruction]:
    # Without metadata in the print it is the instruction that the message begins with.
    suspected = suspected_place(text)
    for found in _PRINTED.finditer(text):
        metadata = _METADATA.search(found["rest"])
        fields = metadata["fields"] if metadata else ""
        file, line = _SOURCE_FILE.search(fields), _SOURCE_LINE.search(fields)
        op_name = _OP_NAME.search(fields)
        yield PrintedInstruction(
            name=found["name"],
            opcode=found["opcode"],
            op_name=op_name["value"] if op_name else None,
            source=Source(file=file["value"], line=int(line["value"]))
            if file and line
            else suspected,
        )
        suspected = None
