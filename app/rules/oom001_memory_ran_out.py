"""Memory of the device, or of the host, ran out.

## What it finds
Compiles and runs that end because an allocation failed or the planning of memory did, and warnings
that rematerialisation could not bring a program under its limit.

## Why it matters
The message gives a size. Which values of the program live at the peak, and on which line they are
made, stands in the buffer assignment.

## How we know
The message states it. The largest buffers at the peak are read from the buffer assignment of the
module where the dump has one, else the largest values of its newest text are named. For a buffer
that has two sizes (a failed check of the heap simulator) the instructions that make arrays of both
sizes are, with the loops around them.

## What to do
Shard, rematerialise or shrink the largest values; donate inputs; keep an eye on values that loops
stack up. For the failed check: switch off one of the flags that met.

## Limits
If the buffers of this module are small beside the memory of the device, something else took it:
another process, another program, or a leak.

## Sources
xla/service/buffer_assignment.cc, xla/service/heap_simulator/heap_simulator.cc,
xla/hlo/transforms/simplifiers/hlo_rematerialization.cc; jax-ml/jax#27748, jax-ml/jax#23548,
openxla/xla#20633.
"""

from app.rules.memory_suspects import largest, of_two_sizes
from app.rules.telling import Story, Try, class_rule

_LESS = (
    Try("Rematerialise or shard the largest values (jax.checkpoint, shardings), or shrink them."),
    Try("Donate inputs that outputs can take the place of (donate_argnums)."),
)
_LESS_IN_FLIGHT = Try(
    "Let the scheduler hold less memory than it may (95 of 100 is the default).",
    "--xla_gpu_memory_limit_slop_factor=80",
)
STORIES = {
    "heap-sizes": Story(
        title="The planning of memory met one buffer with two sizes",
        what="After the last pass XLA decides which values share a place in memory; two that were "
        "to share one have different sizes.",
        tries=(
            Try(
                "Do not double the bodies of loops.",
                "--xla_gpu_enable_while_loop_double_buffering=false",
                takes_back=True,
            ),
            Try(
                "Compile matmuls without cuBLASLt.",
                "--xla_gpu_enable_cublaslt=false",
                takes_back=True,
            ),
            Try("Try a newer release of jaxlib."),
        ),
        flags=("xla_gpu_enable_cublaslt", "xla_gpu_enable_while_loop_double_buffering"),
        unknown=("which two values were to share a place: the check prints their sizes only",),
        suspects=of_two_sizes,
    ),
    "remat-short": Story(
        title="Rematerialisation could not bring the program under its memory limit",
        what="The program goes on with more memory than XLA wants to give it, and may fail to "
        "allocate it.",
        tries=(*_LESS, _LESS_IN_FLIGHT),
        refs=("jax-ml/jax#27748", "EnzymeAD/Enzyme-JAX#1363", "openxla/xla#27322"),
        unknown=("whether the device has the memory after all",),
        suspects=largest,
    ),
    "host-memory": Story(
        title="Memory of the host ran out",
        what="Values that are kept on the host, or the compiler itself, need more than there is.",
        tries=(
            Try("Raise XLA_PJRT_GPU_HOST_MEMORY_LIMIT_GB if values are offloaded to the host."),
        ),
        refs=("openxla/xla#20633",),
        suspects=largest,
    ),
    "": Story(
        title="Memory of the device ran out",
        what="An allocation failed: the values alive at once need more than the device has left.",
        tries=(
            *_LESS,
            _LESS_IN_FLIGHT,
            Try("See whether another process holds memory (XLA_PYTHON_CLIENT_PREALLOCATE=false)."),
        ),
        refs=("jax-ml/jax#23548",),
        flags=("xla_gpu_memory_limit_slop_factor",),
        unknown=("what else held memory of the device at that moment",),
        suspects=largest,
    ),
}

RULE = class_rule(
    code="OOM001",
    slug="memory-ran-out",
    title="Memory of the device or of the host ran out",
    class_="oom-buffers",
    sources=(
        "xla/service/buffer_assignment.cc",
        "xla/service/heap_simulator/heap_simulator.cc",
        "xla/hlo/transforms/simplifiers/hlo_rematerialization.cc",
        "jax-ml/jax#27748",
        "jax-ml/jax#23548",
        "openxla/xla#20633",
    ),
    stories=STORIES,
)
