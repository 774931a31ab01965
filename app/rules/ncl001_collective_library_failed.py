"""The library for collectives between GPUs fails a call.

## What it finds
Errors of NCCL and RCCL, devices that cannot reach each other's memory, reductions that the library
does not know.

## Why it matters
It is seldom a fault of the compiler: networks, drivers, memory and processes that died are. The
collective that was running has a line.

## How we know
The message says it. A tracing scope in it names the instruction; for the last two kinds the
collectives that fit are looked up in the newest text.

## What to do
Run with NCCL_DEBUG=INFO and read the first warning; look for an earlier failure in the logs of the
other processes; see that shared memory and the network interfaces are as the library needs them.

## Limits
The library's own message "may be unrelated", as it says itself.

## Sources
xla/backends/gpu/collectives; jax-ml/jax#17399, jax-ml/jax#18391, openxla/xla#47146,
openxla/xla#47383.
"""

from collections.abc import Callable, Iterator
from itertools import islice

from app.analysis.opcodes import base_opcode
from app.analysis.suspects import Place, instructions, with_opcode
from app.model.facts import Diagnosis, Facts
from app.rules.cited import Named, cited
from app.rules.telling import Story, Try, class_rule
from hlo_parser import Module

_MOST = 5
_REDUCERS = frozenset({"all-reduce", "reduce-scatter"})


def _ragged(facts: Facts, _: Diagnosis) -> tuple[Named, ...]:
    return _in_all_modules(
        facts, "copies to peers", lambda m: with_opcode(m, ("ragged-all-to-all",))
    )


def _reductions(facts: Facts, _: Diagnosis) -> tuple[Named, ...]:
    return _in_all_modules(facts, "reduces with more than one operation", _unusual)


def _unusual(module: Module) -> Iterator[Place]:
    for computation, instruction in instructions(module):
        if base_opcode(instruction.opcode) in _REDUCERS:
            reducers = (callee for _, callee in module.callees(instruction))
            if any(sum(i.opcode != "parameter" for i in r.instructions) > 1 for r in reducers):
                yield computation, instruction


def _in_all_modules(
    facts: Facts, role: str, find: Callable[[Module], Iterator[Place]]
) -> tuple[Named, ...]:
    """A run that fails has no module in the compiler's hands."""
    return tuple(
        cited(facts, history, history.last, computation, instruction, role=role)
        for history in facts.modules
        if history.role == "user"
        for computation, instruction in islice(find(history.last.module), _MOST)
    )[:_MOST]


STORIES = {
    "peer-access": Story(
        title="Devices of one group cannot reach each other's memory",
        what="A collective wants to write straight into the memory of other devices, and may not.",
        tries=(
            Try(
                "Leave that way of copying out.",
                "--xla_gpu_unsupported_use_ragged_all_to_all_one_shot_kernel=false",
            ),
            Try("Run all devices of the host in one process."),
        ),
        refs=("openxla/xla#47146",),
        suspects=_ragged,
    ),
    "reduction-kind": Story(
        title="A collective reduces with a function that the library does not know",
        what="Only sums, products, minima, maxima and the like can be reduced between devices.",
        tries=(
            Try("Write the reduction as one of psum, pmax, pmin, or gather and reduce locally."),
        ),
        refs=("openxla/xla#47383",),
        suspects=_reductions,
    ),
    "": Story(
        title="The library for collectives between GPUs failed a call",
        what="NCCL or its kin returned an error; the compiler is seldom at fault.",
        tries=(
            Try("Run with NCCL_DEBUG=INFO and read the first warning."),
            Try("Look for an earlier failure in the logs of the other processes."),
            Try("Leave more memory to it: XLA_PYTHON_CLIENT_MEM_FRACTION=0.8."),
        ),
        refs=("jax-ml/jax#17399", "jax-ml/jax#18391"),
        unknown=("which of the collectives it was, where the message names none",),
    ),
}

RULE = class_rule(
    code="NCL001",
    slug="collective-library-failed",
    title="The library for collectives fails a call",
    class_="nccl-error",
    sources=(
        "xla/backends/gpu/collectives",
        "jax-ml/jax#17399",
        "jax-ml/jax#18391",
        "openxla/xla#47146",
        "openxla/xla#47383",
    ),
    stories=STORIES,
)
