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
sizes are, with the loops around them. Where the dump describes the device, what was asked for is
laid against its memory.

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

import re

from app.model.facts import Diagnosis, Facts
from app.rules.amounts import bytes_in_words, part_in_words
from app.rules.cited import Named
from app.rules.device_memory import device_of
from app.rules.memory_suspects import largest, of_two_sizes
from app.rules.telling import Story, Try, class_rule, diagnosis_of

_CLASS = "oom-buffers"
# xla/hlo/transforms/simplifiers/hlo_rematerialization.cc, what is left to take; then what the
# allocators of xla/pjrt, tsl/framework/bfc_allocator.cc and xla/stream_executor were asked for:
# `allocate 7 bytes`, `allocate 2.20GiB (2362232012 bytes)`, newer ones without the brackets.
_WANTED = re.compile(
    r"only reduced to [^\n(]{1,40}\((?P<left>\d{1,18}) bytes\)"
    r"|allocat(?:e|ing) (?:[\d.]{1,20}[KMGT]?i?B \()?(?P<bytes>\d{1,18}) ?(?:bytes|B\))"
    r"|iB \((?P<in_brackets>\d{1,18})B\)|\(rounded to (?P<rounded>\d{1,18})\)"
    r"|allocat(?:e|ing) (?P<size>\d{1,9}(?:\.\d{1,9})?)(?P<unit>[KMGT])iB"
)


def _of_the_device(facts: Facts, culprits: tuple[Named, ...]) -> tuple[str, ...]:
    """What was asked for beside the memory of the device, where both are stated."""
    diagnosis = diagnosis_of(facts, _CLASS)
    wanted = _wanted(diagnosis) if diagnosis is not None else None
    has = _has(facts)
    if wanted is None or has is None:
        return ()
    words = f"The device described in the dump has {bytes_in_words(has)}"
    asked = bytes_in_words(wanted)
    if wanted > has:
        return (f"{words}: what is wanted here, {asked}, is more, whatever else holds memory.",)
    return (f"{words}; what is wanted here, {asked}, is {part_in_words(wanted, has)} of it.",)


def _opens(facts: Facts, diagnosis: Diagnosis) -> tuple[str, ...]:
    wanted, has = _wanted(diagnosis), _has(facts)
    if wanted is not None and has is not None and wanted > has:
        return ()
    if diagnosis.failure is not None:
        return ("what else held memory of the device at that moment",)
    if has is not None:
        return ("how much of the device's memory is free when the program runs",)
    return ("whether the device has the memory after all",)


def _has(facts: Facts) -> int | None:
    target = device_of(facts)
    return target.memory_bytes if target is not None else None


def _wanted(diagnosis: Diagnosis) -> int | None:
    found = _WANTED.search(diagnosis.text)
    if found is None:
        return None
    if unit := found["unit"]:
        return round(float(found["size"]) * 1024 ** ("KMGT".index(unit) + 1))
    return int(next(filter(None, found.groups())))


_LESS = (
    Try("Rematerialise or shard the largest values (jax.checkpoint, shardings), or shrink them."),
    Try("Donate inputs that outputs can take the place of (donate_argnums)."),
)
_LESS_IN_FLIGHT = Try(
    "Let the scheduler hold less memory than it may (95 of 100 is the default).",
    "--xla_gpu_memory_limit_slop_factor=80",
)
_NEIGHBOUR = Try("Try a neighbouring release of jaxlib, and send this report upstream.")
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
    "oom-buffers-file": Story(
        title="The planning of memory failed on a check of its own",
        what="XLA decides which values share a place in memory, and met one that is not of the "
        "form it counts on. That is no lack of memory.",
        tries=(_NEIGHBOUR,),
        unknown=("which pass left the value so",),
    ),
    "oom-buffers-frame": Story(
        title="The run died in the planning of memory",
        what="XLA was deciding which values share a place in memory; whether there was enough of "
        "it is not said.",
        tries=(_NEIGHBOUR,),
        unknown=("what it met there",),
    ),
    "allocator-died": Story(
        title="The run died where memory is handed out",
        what="What an allocator keeps of its memory was not as it left it: often something was "
        "overwritten, or freed twice, before.",
        tries=(
            Try("Leave custom calls and donated buffers out, for a test."),
            _NEIGHBOUR,
        ),
        unknown=("what overwrote it, and when",),
    ),
    "remat-short": Story(
        title="Rematerialisation could not bring the program under its memory limit",
        what="The program goes on with more memory than XLA wants to give it, and may fail to "
        "allocate it.",
        tries=(*_LESS, _LESS_IN_FLIGHT),
        refs=("jax-ml/jax#27748", "EnzymeAD/Enzyme-JAX#1363", "openxla/xla#27322"),
        opens=_opens,
        suspects=largest,
        adds=_of_the_device,
    ),
    "arguments-too-large": Story(
        title="The arguments of the program alone need more memory than the device has",
        what="Nothing is left for what is computed from them, so no schedule can help.",
        tries=(
            Try("Split the arguments over more devices, or keep a part of them on the host."),
            Try("Donate arguments that are not needed later (donate_argnums)."),
        ),
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
        opens=_opens,
        suspects=largest,
        adds=_of_the_device,
    ),
}

RULE = class_rule(
    code="OOM001",
    slug="memory-ran-out",
    title="Memory of the device or of the host ran out",
    class_=_CLASS,
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
