"""Code of the CPU back end dies.

## What it finds
Deaths in the run time and the code generation for CPUs: libraries it calls (YNN, oneDNN, Eigen,
MPI), symbols that cannot be found.

## Why it matters
The work runs in threads of its own, so the Python line in the traceback is not that of the
operation.

## How we know
Frames, threads, files or the message name the back end. Instructions after which the file of a
check is called, else fusions made for the YNN library, are the suspects where the dump has them.

## What to do
Switch the library named off; run with one thread for a test; update jaxlib.

## Limits
Which operation a worker was running is not printed.

## Sources
xla/backends/cpu; jax-ml/jax#39257, openxla/xla#16430, openxla/xla#47374, openxla/xla#13054.
"""

from collections.abc import Iterator

from app.analysis.suspects import Place, instructions, with_opcode
from app.model.facts import Diagnosis, Facts
from app.rules.cited import Named, suspecting, suspects
from app.rules.telling import Story, Try, class_rule
from hlo_parser import Module


def _library_fusions(module: Module) -> Iterator[Place]:
    for computation, instruction in with_opcode(module, ("fusion",)):
        if "__ynn_fusion" in instruction.text:
            yield computation, instruction


def _by_file(facts: Facts, diagnosis: Diagnosis) -> tuple[Named, ...]:
    """Instructions after which the file of a check is called: a dot for `dot_op_emitter.cc`."""
    file = diagnosis.failure.file if diagnosis.failure is not None else None

    def found(module: Module) -> Iterator[Place]:
        for computation, instruction in instructions(module):
            if (file or "").startswith(f"{instruction.opcode.replace('-', '_')}_"):
                yield computation, instruction

    return suspects(facts, found, role="of the kind that the file of the check is for")


def _suspected(facts: Facts, diagnosis: Diagnosis) -> tuple[Named, ...]:
    return _by_file(facts, diagnosis) or _of_libraries(facts, diagnosis)


_of_libraries = suspecting(_library_fusions, role="fusion for a library")
STORIES = {
    "feature-ignored": Story(
        title="LLVM leaves out what it does not know of a processor",
        what="The line is harmless by itself: code is made without that feature.",
        unknown=("whether LLVM was built for this kind of processor at all",),
        severity="note",
    ),
    "other-machine": Story(
        title="Code for the CPU was compiled for another machine",
        what="A compiled program was loaded, from a cache or a file, that uses features which this "
        "machine does not have; such code may die of SIGILL.",
        tries=(
            Try("Empty the compilation cache, or keep one for each kind of machine."),
            Try("Compile for an older processor.", "--xla_cpu_max_isa=AVX2"),
        ),
        refs=("jax-ml/jax#38445", "openxla/xla#44565"),
    ),
    **dict.fromkeys(
        ("bare-death", "macos"),
        Story(
            title="The process died without a word, on the CPU as far as known",
            what="No message, no frame and no pass tells where it died.",
            tries=(
                Try("Get the frames: run under gdb or lldb, or with faulthandler on."),
                Try("Run with one thread.", "--xla_cpu_multi_thread_eigen=false"),
            ),
            refs=("jax-ml/jax#39257",),
            unknown=("everything but the signal",),
            suspects=_of_libraries,
        ),
    ),
    "": Story(
        title="Code of the CPU back end died",
        what="The run time for CPUs, or a library it calls, failed on an operation.",
        tries=(
            Try("Make no fusions for the YNN library.", "--xla_cpu_experimental_ynn_fusion_type="),
            Try("Leave oneDNN out.", "--xla_cpu_use_onednn=false"),
            Try("Run with one thread.", "--xla_cpu_multi_thread_eigen=false"),
        ),
        refs=("jax-ml/jax#39257", "openxla/xla#16430", "openxla/xla#47374", "openxla/xla#13054"),
        unknown=("which operation it was: the Python line need not be the one",),
        suspects=_suspected,
    ),
}

RULE = class_rule(
    code="CPU001",
    slug="cpu-code-died",
    title="Code of the CPU back end dies",
    class_="cpu-backend",
    sources=(
        "jax-ml/jax#39257",
        "openxla/xla#16430",
        "openxla/xla#47374",
        "openxla/xla#13054",
    ),
    stories=STORIES,
)
