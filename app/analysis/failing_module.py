"""Which module of a dump was being compiled when the compiler died.

Evidence is weighed in this order: a module that the message names, a call to a target that it
names, the instructions that it names, a missing text after all optimizations, and, where all
modules came through their passes, an opcode that it names or a Python stack within a compile.
Given are the failure, the log and the histories; given back is a module, or None, with the reason.
"""

import re
from collections.abc import Sequence

from app import knowledge
from app.analysis.class_suspects import of_opcode
from app.analysis.printed import opcodes_in, targets_in
from app.analysis.python_frames import died_outside_jax
from app.model.dump import CheckFailure, LogFacts, ModuleHistory

KILLED = "signal::SIGKILL"
ALL_COMPILED = "every module in the dump was optimized to the end"
# Failures of a run that had compiled; no module was in the compiler's hands.
_RUNTIME_KINDS = frozenset({"rendezvous", "nccl"})
_COPY = "-clone"
# What the C++ library and absl say of a look-up that failed: `absl::...::raw_hash_map<>::at`.
_FROM_CPP = re.compile(r"\babsl::|\bstd::|_Map_base::at|_M_range_check|\bmap::at\b")
# jax/_src/compiler.py: the functions that hand a module to XLA (0.4.28 to 0.12.0).
_COMPILING = re.compile(r"backend_compile\b|backend_compile_and_load\b")
_WORD = re.compile(r"[\w.$@]*\w")
# How XLA names the module that it complains of, or prints it.
_OF_MODULE = re.compile(r"\bHLO module: (?P<name>[\w.\-]*\w)|\bHloModule (?P<printed>[\w.\-]*\w)")


def failing_module(
    cause: CheckFailure, log: LogFacts, modules: Sequence[ModuleHistory]
) -> tuple[ModuleHistory | None, str]:
    """The module that died and the reason for naming it.

    A compile that dies leaves no text after all optimizations, so an incomplete module among
    complete ones is the one; instructions named in the message decide between several.
    """
    own = [m for m in modules if m.role != "autotuning"]
    is_elsewhere = is_of_the_run(cause) or cause.signature == KILLED or died_outside_jax(cause)
    if not own or is_elsewhere:
        return None, ""
    absent = _named_and_absent(cause, own)
    if absent:
        return None, f"the message is about module {absent}, which the dump does not hold"
    calling = _calling_what_is_named(cause, log, own)
    if calling is not None:
        return calling, f"module {calling.id} alone calls the target that the message names"
    named = _holding_most(own, log.names)
    if named is not None:
        return named, f"module {named.id} holds the instructions that the message names"
    unfinished = [m for m in own if not m.complete]
    if unfinished:
        module = max(unfinished, key=lambda m: (m.role == "user", len(m.dumps), m.id))
        return module, f"module {module.id} has no text after all optimizations"
    if _dies_in_a_pass(cause):
        return (
            None,
            "every module of this dump was optimized to the end: is the log of another run?",
        )
    if len(own) == 1:
        return own[0], f"{own[0].id} is the only module in the dump"
    return _last_compiled(cause, own)


def _last_compiled(
    cause: CheckFailure, modules: Sequence[ModuleHistory]
) -> tuple[ModuleHistory | None, str]:
    """The module whose code was being made, where all had come through their passes."""
    opcodes = opcodes_in(cause.text)
    holding = [
        (module, opcode)
        for module in modules
        for opcode in opcodes
        if any(of_opcode(module.last.module, opcode))
    ]
    if holding:
        module, opcode = max(holding, key=lambda found: found[0].id)
        others = {held.id for held, _ in holding} - {module.id}
        alone = ", the newest of those that do," if others else " alone"
        return module, f"module {module.id}{alone} holds a {opcode}, which the message names"
    if not any(_COMPILING.match(frame.function) for frame in cause.frames):
        return None, ALL_COMPILED
    newest = max((m for m in modules if m.role == "user"), key=lambda m: m.id, default=None)
    if newest is None:
        return None, ALL_COMPILED
    return newest, f"JAX was compiling, and {newest.id} is the newest module of the dump"


def _named_and_absent(cause: CheckFailure, modules: Sequence[ModuleHistory]) -> str:
    """The module that the message names, where none of that name was dumped; else ""."""
    named = [found["name"] or found["printed"] for found in _OF_MODULE.finditer(cause.text)]
    known = {module.name.partition(".")[0].removesuffix(_COPY) for module in modules}
    absent = [name for name in named if name.partition(".")[0].removesuffix(_COPY) not in known]
    return absent[0] if absent and len(absent) == len(named) else ""


def copy_of(module: ModuleHistory, modules: Sequence[ModuleHistory]) -> ModuleHistory:
    """Where the compile of the module went on; the module itself where it was not copied.

    The scheduler of 0.8 works on a copy, whose texts have a number and a name of their own.
    """
    name = f"{module.name}{_COPY}"
    copies = [m for m in modules if m.name == name and m.id > module.id and not m.complete]
    return module if module.complete or not copies else copies[-1]


def is_raised_by_python(cause: CheckFailure) -> bool:
    """Whether a failure is an exception of Python that no C++ library threw, as far as it says."""
    return cause.kind == "python" and _FROM_CPP.search(cause.text, 0, 400) is None


def is_of_the_run(cause: CheckFailure) -> bool:
    """Whether a failure is one of a program that had been compiled.

    An exception of the C++ library that Python raises on came out of the compiler.
    """
    if cause.kind == "python":
        return is_raised_by_python(cause)
    return cause.kind in _RUNTIME_KINDS


def _calling_what_is_named(
    cause: CheckFailure, log: LogFacts, modules: Sequence[ModuleHistory]
) -> ModuleHistory | None:
    """The one module with a custom call whose target stands in the message as a word.

    Errors that were logged before count, too, where they say that they speak of a target.
    """
    words = set(_WORD.findall(cause.text))
    for line in log.verbose:
        if line.severity == "E" and line.line_number < cause.line_number:
            words.update(targets_in(line.text))
    calling = [
        m
        for m in modules
        if any(
            i.custom_call_target in words
            for c in m.last.module.computations
            for i in c.instructions
            if i.custom_call_target is not None
        )
    ]
    return calling[0] if len(calling) == 1 else None


def _dies_in_a_pass(cause: CheckFailure) -> bool:
    """Whether the failure belongs to a pass, which leaves no text after all optimizations."""
    if cause.file is None or knowledge.is_outside_passes(cause.file):
        return False
    return bool(knowledge.passes_of_file(cause.file, cause.condition))


def _holding_most(modules: Sequence[ModuleHistory], names: Sequence[str]) -> ModuleHistory | None:
    """The one module whose newest text defines most of the named instructions, if one leads."""
    if not names:
        return None
    counts = [
        (sum(any(c.get(n) for c in m.last.module.computations) for n in names), m) for m in modules
    ]
    best = max(count for count, _ in counts)
    leaders = [m for count, m in counts if count == best]
    return leaders[0] if best and len(leaders) == 1 else None
