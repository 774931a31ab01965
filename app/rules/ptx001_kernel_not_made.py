"""A kernel of the GPU cannot be assembled or started, or touches memory it must not touch.

## What it finds
Failures of ptxas, LLVM and the driver: kernels that want too much shared memory, text that the
assembler cannot read, illegal addresses.

## Why it matters
The message names a kernel, or nothing at all. A kernel is a fusion or a custom call of the program,
and has a line. An illegal address is reported by the next call that waits for the device, so what
the message names is innocent.

## How we know
A kernel is called like its fusion with `_` for `-` and `.`. Where the assembler stumbles over a
piece of a name, instructions with that piece in their name are looked up. For shared memory the
kernels written by hand (Pallas, Triton) are suspects.

## What to do
Smaller blocks for kernels written by hand; without the passes that the run switched off; a newer
ptxas; for illegal addresses one launch at a time (CUDA_LAUNCH_BLOCKING=1) or compute-sanitizer.

## Limits
For an illegal address the true culprit ran earlier and is not named anywhere.

## Sources
xla/stream_executor/gpu/asm_compiler.cc; jax-ml/jax#27190, jax-ml/jax#25002, jax-ml/jax#10083.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from app.analysis.class_suspects import by_need_of_a_block
from app.analysis.printed import misread_words
from app.analysis.readers import readers_of
from app.analysis.sources import source_of
from app.analysis.suspects import Place, named_like, with_opcode, with_target
from app.model.facts import Diagnosis, Facts
from app.rules.amounts import bytes_in_words, part_in_words
from app.rules.cited import Named, suspecting, suspects
from app.rules.telling import Story, Try, class_rule, diagnosis_of
from hlo_parser import Module

_CLASS = "ptxas-backend"
# xla/service/gpu/llvm_gpu_backend, then what ptxas says.
_SHARED = re.compile(
    r"requested (\d{1,18}), available: (\d{1,18})"
    r"|\((0x[0-9a-f]{1,12}) bytes, (0x[0-9a-f]{1,12}) max\)"
)
# Kernels that people write; the library calls of XLA itself are none.
_BY_HAND = r"triton|mosaic|pallas|^(?!__|xla\.)[\w.]+$"


def _written_by_hand(module: Module) -> Iterator[Place]:
    return with_target(module, _BY_HAND)


def _by_need(module: Module) -> Iterator[Place]:
    return by_need_of_a_block(_written_by_hand(module))


def _may_hold_matmuls_of_triton(facts: Facts) -> bool:
    """Whether Triton code that XLA made for matmuls may be at fault; unknown without a dump."""
    if facts.failing is None:
        return True
    return any(
        "__triton" in place[1].attributes.get("backend_config", "")
        for place in with_opcode(facts.failing.last.module, ("fusion",))
    )


def _may_hold_kernels_by_hand(facts: Facts) -> bool:
    return facts.failing is None or any(_written_by_hand(facts.failing.last.module))


def _how_much_more(facts: Facts, culprits: tuple[Named, ...]) -> tuple[str, ...]:
    """What a kernel wants beside what there is, where the message gives both."""
    diagnosis = diagnosis_of(facts, _CLASS)
    found = _SHARED.search(diagnosis.text) if diagnosis is not None else None
    if found is None:
        return ()
    wants, has = (
        int(number, 16 if number.startswith("0x") else 10)
        for number in filter(None, found.groups())
    )
    if not 0 < has < wants:
        return ()
    return (
        f"It wants {bytes_in_words(wants)} where {bytes_in_words(has)} are there, "
        f"{part_in_words(wants, has)} of that.",
    )


def _writes_by_index(module: Module) -> Iterator[Place]:
    return chain(_written_by_hand(module), with_opcode(module, ("scatter",)))


def _misread(facts: Facts, diagnosis: Diagnosis) -> tuple[Named, ...]:
    """Instructions with the piece of a name at which the assembler stopped, and their kernels.

    Names of constants become names of variables in a kernel; where one fits, others are left out.
    """
    words = misread_words(diagnosis.text)

    def named(module: Module) -> list[Place]:
        found = [place for word in words for place in named_like(module, word)]
        return [place for place in found if place[1].opcode == "constant"] or found

    def kernels(module: Module) -> Iterator[Place]:
        places = named(module)
        around = list(_kernels_around(module, places))
        return iter(around or [r for place in places for r in _readers_with_a_line(module, place)])

    return (
        *suspects(facts, named, role="holds the piece of a name that the assembler refused"),
        *suspects(facts, kernels, role="the kernel around it"),
    )


def _kernels_around(module: Module, places: Sequence[Place]) -> Iterator[Place]:
    """The fusions whose code, or the code that it calls, holds the instructions."""
    reached = list(dict.fromkeys(computation.name for computation, _ in places))
    for name in reached:
        for caller in module.callers(name):
            if caller[1].opcode == "fusion":
                yield caller
            elif caller[0].name not in reached:
                reached.append(caller[0].name)


def _readers_with_a_line(module: Module, place: Place) -> Iterator[Place]:
    """The first instruction after a constant, on its way, that has a source line."""
    computation, constant = place
    for instruction in readers_of(computation, constant):
        if source_of(module, instruction) is not None:
            yield computation, instruction
            return


STORIES = {
    "shared-memory": Story(
        title="A kernel wants more shared memory than there is",
        what="Each block of a kernel may have only so much shared memory; this one asks for more.",
        tries=(
            Try(
                "Use smaller blocks, or fewer stages, in the kernel written by hand.",
                where=_may_hold_kernels_by_hand,
            ),
            Try(
                "Compile matmuls without Triton.",
                "--xla_gpu_enable_triton_gemm=false",
                where=_may_hold_matmuls_of_triton,
            ),
            Try("Try a neighbouring release of jaxlib, and send this report to openxla/xla."),
        ),
        refs=("jax-ml/jax#27190",),
        suspects=suspecting(_by_need, role="kernel written by hand"),
        adds=_how_much_more,
    ),
    "ptx-syntax": Story(
        title="The assembler cannot read a kernel",
        what="A name in the text of a kernel holds a character that PTX does not allow.",
        tries=(Try("Try a neighbouring release of jaxlib, and send this report to openxla/xla."),),
        unknown=("which kernel it was: the file that ptxas read is gone",),
        suspects=_misread,
    ),
    "illegal-address": Story(
        title="A kernel touched memory it must not touch",
        what="The device reports this to the next call that waits for it: what the message names "
        "only noticed, and a kernel that ran before is to blame.",
        tries=(
            Try("Run with CUDA_LAUNCH_BLOCKING=1, or under compute-sanitizer."),
            Try("Run without command buffers.", "--xla_gpu_enable_command_buffer="),
            Try("Take custom calls and kernels written by hand out, one by one."),
        ),
        refs=("jax-ml/jax#25002", "jax-ml/jax#28710"),
        flags=("xla_gpu_enable_command_buffer",),
        unknown=("which kernel it was",),
        suspects=suspecting(_writes_by_index, role="may write to a wrong address"),
    ),
    "no-ptxas": Story(
        title="XLA found no ptxas and has the driver compile kernels",
        what="The line is harmless as long as the driver can do it.",
        tries=(Try("Put the ptxas of the CUDA toolkit in PATH, for faster compiles."),),
        severity="note",
    ),
    "old-ptxas": Story(
        title="The assembler of the GPU is old or does badly",
        what="XLA warns of the ptxas it found: old ones are known to miscompile.",
        tries=(Try("Put a newer ptxas first in PATH, or install the CUDA wheels of jax."),),
        refs=("jax-ml/jax#10083",),
    ),
    "": Story(
        title="A kernel could not be made or started",
        what="LLVM, ptxas or the driver of the GPU failed on a kernel.",
        tries=(
            Try("Update the driver and CUDA, or take the CUDA wheels of jax."),
            Try("Compile matmuls without Triton.", "--xla_gpu_enable_triton_gemm=false"),
        ),
        refs=("openxla/xla#47361",),
        unknown=("whether another driver or ptxas compiles the same kernel",),
    ),
}

RULE = class_rule(
    code="PTX001",
    slug="kernel-not-made",
    title="A kernel of the GPU cannot be made, started or trusted",
    class_=_CLASS,
    sources=(
        "xla/stream_executor/gpu/asm_compiler.cc",
        "jax-ml/jax#27190",
        "jax-ml/jax#25002",
        "jax-ml/jax#10083",
    ),
    stories=STORIES,
)
