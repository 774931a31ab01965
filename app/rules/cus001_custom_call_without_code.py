"""A custom call has no code behind it, or its code fails.

## What it finds
Messages that no implementation or handler is registered for the target of a custom call, and
failures of the code behind one.

## Why it matters
The target is a name inside a library; which line of the program calls it stands in the dump.

## How we know
The message names the target, or the instruction that was running; custom calls with that target are
looked up in the newest text.

## What to do
Import the library that registers the target, or register it (jax.ffi.register_ffi_target) for the
platform of the message and with the version of the interface that the call uses.

## Limits
Whether a library was imported cannot be seen from here.

## Sources
xla/ffi/ffi_api.cc; NVIDIA/TransformerEngine#1024, jax-ml/jax#21807, jax-ml/jax-triton#225.
"""

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice

from app.analysis.suspects import Place, with_opcode, with_target
from app.model.facts import Diagnosis, Facts
from app.rules.cited import Named, cited, suspects
from app.rules.naming import calls_named
from app.rules.telling import Story, Try, class_rule
from hlo_parser import Module

_MOST = 5
_LIBRARY = re.compile(r"\bcu(Solver|FFT)", re.IGNORECASE)
# Targets, and opcodes that xla/service/gpu/transforms (gpusolver_rewriter.cc) turns into such.
_OF_LIBRARIES = {
    "solver": (r"(?i)solver", ("cholesky",)),
    "fft": (r"(?i)fft", ("fft",)),
}


def _callbacks(facts: Facts, diagnosis: Diagnosis) -> tuple[Named, ...]:
    """The calls back into Python, of all modules, where the message is of such a call."""
    if "allback" not in diagnosis.text and diagnosis.sign != "callback-died":
        return ()
    own = (history for history in facts.modules if history.role != "autotuning")
    return tuple(
        islice(
            (
                cited(facts, history, history.last, computation, instruction, role="calls Python")
                for history in own
                for computation, instruction in with_target(history.last.module, "callback")
            ),
            _MOST,
        )
    )


def _of_library(facts: Facts, diagnosis: Diagnosis) -> tuple[Named, ...]:
    """What calls the library that the message speaks of, or is replaced by such a call."""
    library = _LIBRARY.search(diagnosis.text)
    if library is None:
        return ()
    words, opcodes = _OF_LIBRARIES[library[1].lower()]

    def calls(module: Module) -> Iterator[Place]:
        return chain(with_target(module, words), with_opcode(module, opcodes))

    return suspects(facts, calls, role=f"calls cu{library[1]}, or is replaced by such a call")


def _suspected(facts: Facts, diagnosis: Diagnosis) -> tuple[Named, ...]:
    return _callbacks(facts, diagnosis) or _of_library(facts, diagnosis)


_story = partial(Story, names=calls_named)
STORIES = {
    "unknown-target": _story(
        title="A custom call has no code behind it",
        what="Nobody has registered the target that the message names for this platform.",
        tries=(
            Try("Import the library that registers the target before the program is compiled."),
            Try(
                "If the target is yours, register it with jax.ffi.register_ffi_target for the "
                "platform in the message."
            ),
        ),
        refs=("NVIDIA/TransformerEngine#1024", "jax-ml/jax#21807"),
        unknown=("whether the library that has the code was imported",),
    ),
    "callback-died": _story(
        title="Python code died that the compiled program had called",
        what="The innermost line of Python is of a function that a callback runs; what it calls "
        "outside of Python ended the process.",
        tries=(
            Try("Call the function without jit, on the same arrays, under faulthandler or gdb."),
            Try("Look for C code, ctypes or extension modules that the function calls."),
        ),
        unknown=("what the function was given",),
        suspects=_callbacks,
    ),
    "": _story(
        title="The code behind a custom call failed",
        what="XLA called code outside of it, which returned an error.",
        tries=(
            Try("Look the error up where the code of the target comes from."),
            Try("Give kernels written by hand smaller blocks, if the message speaks of memory."),
        ),
        refs=("jax-ml/jax-triton#225",),
        unknown=("what the code behind the call does",),
        suspects=_suspected,
    ),
}

RULE = class_rule(
    code="CUS001",
    slug="custom-call-without-code",
    title="A custom call has no code behind it, or its code fails",
    class_="custom-call",
    sources=(
        "xla/ffi/ffi_api.cc",
        "NVIDIA/TransformerEngine#1024",
        "jax-ml/jax#21807",
        "jax-ml/jax-triton#225",
    ),
    stories=STORIES,
)
