"""Triton code for a fusion cannot be made, or no configuration of it can be chosen.

## What it finds
A compile that dies while XLA makes Triton code for a fusion or tries configurations of it, and
results that differ between configurations while they are timed.

## Why it matters
The name in the message is that of a fusion that XLA made. Which matmul of the program it is stands
only in the dump. Results that differ may mean wrong numbers.

## How we know
The message or the C++ file says that a fusion was being timed or lowered. The fusion it names is
found in the newest text; its line is that of the operation inside.

## What to do
Without a device (a compile ahead of time) give a file with results of timing, or switch the Triton
matmuls off. With a device switch them off for a test, or lower the autotune level.

## Limits
A process that dies without a word is put here as a guess only: where the cause of such deaths on
GPUs became known, it was mostly Triton. Nothing in the files says so.

## Sources
xla/service/gpu/autotuning/gemm_fusion_autotuner.cc; jax-ml/jax#16973, openxla/xla#17103,
openxla/xla#47381, openxla/xla#23934.
"""

from collections.abc import Iterable, Iterator

from app.analysis.suspects import Place, with_opcode
from app.model.facts import Facts
from app.model.report import Finding
from app.rules.cited import suspecting
from app.rules.frame import Rule
from app.rules.telling import Story, Try, diagnosis_of, tell
from hlo_parser import Module

_NO_TRITON_MATMULS = Try("Compile matmuls without Triton.", "--xla_gpu_enable_triton_gemm=false")
_NO_TIMING = Try("Take configurations without timing them.", "--xla_gpu_autotune_level=0")


def _triton(module: Module) -> Iterator[Place]:
    for computation, instruction in with_opcode(module, ("fusion", "custom-call")):
        if "__triton" in instruction.text or "xla.gpu.triton" in instruction.text:
            yield computation, instruction


_TRITON_FUSIONS = suspecting(_triton, role="Triton fusion")
STORIES = {
    "no-cached-result": Story(
        title="A Triton fusion must be timed, and there is no device to time it on",
        what="XLA chooses how to compile this fusion by running it, which a compile without a "
        "device cannot.",
        tries=(
            _NO_TRITON_MATMULS,
            Try(
                "Give the results of timing from a run on a device, written there with "
                "--xla_gpu_dump_autotune_results_to=FILE.",
                "--xla_gpu_load_autotune_results_from=FILE",
            ),
        ),
        flags=("xla_gpu_enable_triton_gemm", "xla_gpu_load_autotune_results_from"),
        unknown=("whether the program compiles where a device is present",),
    ),
    "results-differ": Story(
        title="Configurations of one fusion gave different results",
        what="XLA compares what the configurations compute; these differ, so the numbers of the "
        "one that was chosen may be wrong.",
        tries=(
            _NO_TRITON_MATMULS,
            Try("Compare the results of the run with those of a run on the CPU."),
        ),
        refs=("openxla/xla#23934", "jax-ml/jax#27228"),
        flags=("xla_gpu_enable_triton_gemm", "xla_gpu_autotune_level"),
        unknown=("whether the difference is within the precision asked for",),
    ),
    "configs-filtered": Story(
        title="XLA left its hints aside when it chose configurations of a matmul",
        what="The line is harmless: XLA goes on with all of its configurations.",
        refs=("jax-ml/jax#29740",),
        severity="note",
    ),
    "delay-kernel": Story(
        title="The clock was not exact by which XLA times configurations",
        what="The line is harmless: the configuration taken may not be the fastest one.",
        refs=("openxla/xla#38882",),
        severity="note",
    ),
    "bare-death": Story(
        title="The process died without a word",
        what="No message, no frame and no pass tells where it died; what follows is a guess from "
        "other deaths like it.",
        tries=(
            Try("Get the frames: run under gdb, or with faulthandler on, and add the log."),
            _NO_TRITON_MATMULS,
            Try("See whether it dies on the CPU, too (JAX_PLATFORMS=cpu)."),
        ),
        refs=("jax-ml/jax#16973", "openxla/xla#17103"),
        unknown=("everything but the signal",),
        suspects=_TRITON_FUSIONS,
    ),
    "": Story(
        title="No Triton code could be made or chosen for a fusion",
        what="XLA makes Triton code for some fusions and times several configurations of it.",
        tries=(
            _NO_TRITON_MATMULS,
            _NO_TIMING,
            Try(
                "Switch the fusion of softmax by Triton off.",
                "--xla_gpu_enable_triton_softmax_fusion=false",
            ),
        ),
        refs=("openxla/xla#47381", "jax-ml/jax#16973"),
        flags=(
            "xla_gpu_enable_triton_gemm",
            "xla_gpu_autotune_level",
            "xla_gpu_triton_gemm_any",
            "xla_gpu_enable_triton_softmax_fusion",
        ),
        unknown=("whether it is the fusion or the configuration that cannot be compiled",),
        suspects=_TRITON_FUSIONS,
    ),
}


def check(facts: Facts) -> Iterable[Finding]:
    """One finding where the log speaks of the class, and no guess that the dump speaks against."""
    diagnosis = diagnosis_of(facts, RULE.class_)
    is_guess = diagnosis is not None and diagnosis.sign == "bare-death"
    history = facts.failing
    if is_guess and history is not None and not history.complete:
        # Among the passes nothing but the timing of such fusions runs code made by Triton.
        if next(_triton(history.last.module), None) is None:
            return ()
    return tell(facts, RULE.code, RULE.class_, STORIES)


RULE = Rule(
    code="TRI001",
    slug="fusion-without-a-configuration",
    title="Triton code for a fusion cannot be made or chosen",
    class_="triton-autotune",
    since="0.1.0",
    sources=(
        "xla/service/gpu/autotuning/gemm_fusion_autotuner.cc",
        "jax-ml/jax#16973",
        "openxla/xla#17103",
        "openxla/xla#47381",
        "openxla/xla#23934",
    ),
    check=check,
)
