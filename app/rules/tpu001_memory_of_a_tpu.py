"""The program needs more of one of the memories of a TPU than the chip has.

## What it finds
Compiles and runs that end because HBM, VMEM, SMEM or a scoped part of them is full.

## Why it matters
The message often gives totals only, and not which values take the place.

## How we know
The message names the memory. The instructions that it lists are found in the newest text; where it
lists none, the largest values of the newest text are the suspects.

## What to do
HBM: shard or rematerialise the values named, use smaller batches, donate inputs. VMEM and SMEM:
smaller blocks in the kernel named, or fewer operands of the fusion named.

## Limits
Largest is not the same as alive at the peak: libtpu does not print what lives when.

## Sources
openxla.org/xla/errors (E1000, E1001, E0100, E0101); vllm-project/vllm#8318,
tensorflow/tensorflow#26893.
"""

from app.rules.memory_suspects import largest
from app.rules.telling import Story, Try, class_rule

STORIES = {
    "": Story(
        title="A memory of the TPU is too small for the program",
        what="The values of the program, with the padding that tiles need, do not fit.",
        tries=(
            Try(
                "Shard or rematerialise the largest values (jax.checkpoint), or make them smaller "
                "(batch, sequence, precision)."
            ),
            Try("Donate inputs that outputs can take the place of (donate_argnums)."),
            Try("For VMEM and SMEM use smaller blocks in the Pallas kernel named."),
        ),
        refs=("vllm-project/vllm#8318", "tensorflow/tensorflow#26893"),
        unknown=("which values are alive at the peak: the log does not list them",),
        suspects=largest,
    ),
}

RULE = class_rule(
    code="TPU001",
    slug="memory-of-a-tpu",
    title="The program needs more memory than the TPU has",
    class_="tpu-memory-space",
    sources=("vllm-project/vllm#8318", "tensorflow/tensorflow#26893"),
    stories=STORIES,
)
