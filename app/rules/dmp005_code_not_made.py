"""A module came through all passes, and the dump has no code of it.

## What it finds
Modules for a GPU with the text after all optimizations and a buffer assignment, and without the
list of thunks, in a dump without a log that states a failure.

## Why it matters
The passes were not at fault if the compiler died: what makes code was, and it has a piece of code,
or an error, for each instruction of the last text.

## How we know
XLA writes the list of thunks as soon as the code of a module for a GPU is made; each of the dumps
from jaxlib 0.4.30 to 0.12.0 that compiled has it. Suspects are operations that a pass should have
replaced, then calls that the inliner left, kernels that Triton compiles and custom calls whose
targets are not XLA's own.

## What to do
Give the log of the run (`--log`, or the log box of the page): it says what could not be made.

## Limits
The list may as well have been left out when the dump was packed, or the dump was made while the
compile was running. No suspect may be at fault.

## Sources
xla/service/gpu/gpu_compiler.cc (CompileToBackendResult, thunk_sequence).
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from app.analysis.class_suspects import left_over
from app.analysis.suspects import Place, with_opcode, with_target
from app.model.dump import ModuleHistory
from app.model.facts import Facts
from app.model.report import Culprit, Finding, Workaround
from app.rules.cited import Named, suspects
from app.rules.citing import dump_evidence, places
from app.rules.frame import Rule
from hlo_parser import Module

_OF_GPU = "_gpu_after_optimizations"
# Targets of XLA and of what jaxlib registers itself; the rest somebody has to bring.
_BROUGHT = (
    r"^(?!__|xla[._]|triton|mosaic|lapack_|gpu\$|Sharding$|SPMD(?:FullToShard|ShardToFull)Shape$"
    r"|annotate_device_placement$|MoveTo(?:Host|Device)$|Pin$|Unpin$|TopK$|CreateBuffer$"
    r"|AllocateBuffer$|(?:cu|hip|roc)(?:blas|dnn|solver|sparse|fft)[\w]*_|miopen"
    r"|(?:cu|cuda|hip)_(?:threefry2x32|lu_pivots|cholesky_update))[\w.$\-]+$"
)
_BY_HAND = r"^(?:__gpu\$xla\.gpu\.)?(?:triton|mosaic)"


def check(facts: Facts) -> Iterable[Finding]:
    """One note for each such module, unless the log states a failure or the run hung."""
    if facts.log.failures or facts.hung:
        return
    for history in facts.modules:
        if history.role == "user" and _is_without_code(history):
            yield _finding(facts, history)


def _is_without_code(history: ModuleHistory) -> bool:
    return (
        history.complete
        and _OF_GPU in history.last.file
        and "buffer_assignment" in history.files
        and "thunk_sequence" not in history.files
    )


def _finding(facts: Facts, history: ModuleHistory) -> Finding:
    named = tuple(_suspects(replace(facts, failing=history)))
    whole = Culprit(module=history.id, dump=history.last.index, stated=False, role="module")
    told = [
        f"{history.id} has the text after all optimizations and a buffer assignment, and no list "
        "of thunks, which XLA writes when the code of a module is made.",
        "If the run died, it was while code was made; its log says of what.",
    ]
    if named:
        told.append(f"The first to look at: {places(found.culprit for found in named)}.")
    return Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="note",
        confidence="possible",
        title=f"The code of {history.name} is not in this dump",
        message=" ".join(told),
        culprits=(whole, *(found.culprit for found in named)),
        evidence=(
            dump_evidence(history.last, "the text that code is made of"),
            *(found.evidence for found in named if found.evidence is not None),
        ),
        workarounds=(Workaround(text="Send the dump again, with the log of the run."),),
        unknown=("whether the compiler died here",),
    )


def _suspects(facts: Facts) -> Iterator[Named]:
    yield from suspects(facts, left_over, role="an operation that passes for GPUs replace")
    yield from suspects(facts, _calls, role="a call that no pass took apart")
    yield from suspects(facts, _brought, role="code that XLA does not have by itself")


def _calls(module: Module) -> Iterator[Place]:
    """Calls that the inliner left, but for those that a pass made to be recorded."""
    for computation, call in with_opcode(module, ("call",)):
        if not any(callee.name.startswith("command_buffer") for callee in call.callees):
            yield computation, call


def _brought(module: Module) -> Iterator[Place]:
    return chain(with_target(module, _BROUGHT), with_target(module, _BY_HAND))


RULE = Rule(
    code="DMP005",
    slug="code-not-made",
    title="A module came through all passes, and no code of it is there",
    class_="dump-incomplete",
    since="0.1.0",
    sources=("xla/service/gpu/gpu_compiler.cc",),
    check=check,
    leads=True,
)
