"""The partitioner gathers a whole tensor to change its sharding.

## What it finds
XLA's warning of an involuntary full rematerialization: a value goes from one sharding to another by
way of a full copy on every device.

## Why it matters
The program works, but the copy costs memory and a transfer of the whole tensor, in each step.

## How we know
The warning gives both shardings and, from late 2024 on, the instruction, which is found in the dump
or cited as printed.

## What to do
Annotate the value, or those before and after it, so that both shardings agree or differ by one
step; put a value that lives on one device (maximal) on all of them first.

## Limits
Whether the copy is small enough not to matter is for the reader to say: the shape is in the line.

## Sources
xla/service/spmd/spmd_partitioner.cc; openxla/xla#15207, jax-ml/jax#21562, EnzymeAD/Enzyme-JAX#822,
Physical-Intelligence/openpi#112.
"""

from app.rules.telling import Story, Try, class_rule

STORIES = {
    "": Story(
        title="XLA gathers a whole tensor to change its sharding",
        what="The partitioner knows no way from one sharding of a value to the next but a full "
        "copy on every device.",
        tries=(
            Try(
                "Annotate the value, or its neighbours, with jax.lax.with_sharding_constraint so "
                "that both shardings agree."
            ),
            Try(
                "If the line says `maximal device`, put the value on all devices first "
                "(jax.device_put with a sharding)."
            ),
        ),
        refs=("openxla/xla#15207", "jax-ml/jax#21562", "EnzymeAD/Enzyme-JAX#822"),
        unknown=("what the copy costs in this program",),
    ),
}

RULE = class_rule(
    code="RMT001",
    slug="tensor-gathered-whole",
    title="The partitioner gathers a whole tensor",
    class_="spmd-involuntary-remat",
    sources=(
        "xla/service/spmd/spmd_partitioner.cc",
        "openxla/xla#15207",
        "jax-ml/jax#21562",
    ),
    stories=STORIES,
)
