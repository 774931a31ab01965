"""The closed compiler or run time of the TPU dies.

## What it finds
Failed checks in libtpu, chips that halt, kernels that Mosaic cannot compile, programs of different
processes that meet at launch.

## Why it matters
The code is closed and its frames are unnamed; what is left is the program.

## How we know
The message is one that only libtpu prints. An instruction it names is found in the dump.

## What to do
Update libtpu; pad the minor dimension to a multiple of 128 where slices or concatenations along it
are at fault; run the same program in the same order in each process.

## Limits
The cause inside libtpu cannot be seen.

## Sources
jax-ml/jax#37029, pytorch/xla#8591, jax-ml/jax#38004, sgl-project/sglang-jax#197.
"""

from app.analysis.class_suspects import off_the_lanes
from app.rules.cited import suspecting
from app.rules.telling import Story, Try, class_rule

STORIES = {
    "": Story(
        title="The compiler or run time of the TPU died",
        what="libtpu is closed; its message is all there is.",
        tries=(
            Try("Update jax and libtpu together."),
            Try(
                "Pad the last dimension of what is concatenated or updated in slices to a multiple "
                "of 128."
            ),
            Try(
                "See that each process runs the same programs in the same order, and without a "
                "stale compilation cache."
            ),
        ),
        refs=("jax-ml/jax#37029", "jax-ml/jax#38004", "sgl-project/sglang-jax#197"),
        unknown=("what the closed code was doing",),
        suspects=suspecting(off_the_lanes, role="its last dimension fills no whole lanes"),
    ),
}

RULE = class_rule(
    code="TPU002",
    slug="tpu-code-died",
    title="The closed compiler or run time of the TPU dies",
    class_="tpu-backend",
    sources=(
        "jax-ml/jax#37029",
        "pytorch/xla#8591",
        "jax-ml/jax#38004",
        "sgl-project/sglang-jax#197",
    ),
    stories=STORIES,
)
