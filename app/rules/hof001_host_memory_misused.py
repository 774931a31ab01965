"""A value in host memory is used where only device memory will do.

## What it finds
Failures and warnings of host offloading: computing on values that lie on the host, outputs that
should lie there and do not, failed checks of its passes.

## Why it matters
A warning means that an instruction runs on the host, which is very slow; a failure names XLA's own
instruction, which has a line in the program.

## How we know
The message says it and mostly names the instruction, which is found in the dump; else values in
host memory, and the calls that move values there, are the suspects.

## What to do
Move the value to the device with jax.device_put before computing on it; state the memory kind of
outputs (out_shardings); keep indices and updates of an in-place write in one memory.

## Limits
Which of several moves is too much or missing is for the reader to see.

## Sources
xla/hlo/transforms/host_offloader.cc, xla/service/host_offload_utils.cc; openxla/xla#34565,
openxla/xla#47380, openxla/xla#40519, openxla/xla#20373.
"""

from app.analysis.suspects import in_host_memory
from app.rules.cited import suspecting
from app.rules.telling import Story, Try, class_rule

_on_the_host = suspecting(in_host_memory, role="lies in host memory or moves there")

STORIES = {
    "host-compute": Story(
        title="An instruction computes on values in host memory",
        what="XLA moves the computation to the host, where it is very slow.",
        tries=(
            Try(
                "Move the operands to the device first (jax.device_put with memory kind 'device')."
            ),
        ),
        refs=("openxla/xla#34565",),
    ),
    "": Story(
        title="A value in host memory is used where it cannot be",
        what="Values can lie in the memory of the host, but few operations may touch them there.",
        tries=(
            Try("Move the value to the device before it is used (jax.device_put)."),
            Try("State the memory kind of outputs that shall stay on the host (out_shardings)."),
        ),
        refs=("openxla/xla#34565", "openxla/xla#47380", "openxla/xla#40519"),
        flags=("xla_gpu_enable_host_memory_offloading",),
        unknown=("where the value was to be moved, in the eyes of the program",),
        suspects=_on_the_host,
    ),
}

RULE = class_rule(
    code="HOF001",
    slug="host-memory-misused",
    title="A value in host memory is used where it cannot be",
    class_="host-offload",
    sources=(
        "xla/hlo/transforms/host_offloader.cc",
        "xla/service/host_offload_utils.cc",
        "openxla/xla#34565",
        "openxla/xla#47380",
        "openxla/xla#40519",
    ),
    stories=STORIES,
)
