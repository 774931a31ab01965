"""The program needs more of one of the memories of a TPU than the chip has.

## What it finds
Compiles and runs that end because HBM, VMEM, SMEM or a scoped part of them is full.

## Why it matters
The message often gives totals only, and not which values take the place.

## How we know
The message names the memory, and that it is full is certain where it does. The instructions that it
lists are found in the newest text; where it lists none, the largest buffers at the peak are shown,
or without a buffer assignment the largest values of the newest text. Whether a change of those is
what helps stays open.

## What to do
HBM: shard or rematerialise the values named, use smaller batches, donate inputs. VMEM and SMEM:
smaller blocks in the kernel, or fewer operands of the fusion, that takes it.

## Limits
Without a buffer assignment largest is not the same as alive at the peak: the log does not print
what lives when.

## Sources
openxla.org/xla/errors (E1000, E1001, E0100, E0101); vllm-project/vllm#8318,
tensorflow/tensorflow#26893.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from app.analysis.printed import without_print
from app.model.facts import Facts
from app.model.report import Finding
from app.rules.frame import Rule
from app.rules.memory_suspects import has_peak, largest
from app.rules.telling import Story, Try, diagnosis_of, tell

_CLASS = "tpu-memory-space"
# `on HBM`, `memory space vmem`, `(0x0x0_HBM0)`: which of them the message is about stands first.
_MEMORY = re.compile(r"(?<![A-Za-z])(?P<memory>HBM|VMEM|SMEM)(?![A-Za-z])", re.IGNORECASE)
_LESS = (
    Try(
        "Shard or rematerialise the largest values (jax.checkpoint), or make them smaller "
        "(batch, sequence, precision)."
    ),
    Try("Donate inputs that outputs can take the place of (donate_argnums)."),
)
_BLOCKS = Try("If a Pallas kernel takes it, use smaller blocks in that kernel.")
_FEWER = Try("If a fusion takes it, give it fewer or smaller operands.")
_NO_MEMORY_NAMED = Try("If it is VMEM or SMEM, use smaller blocks in the Pallas kernels.")
_TRIES = {"HBM": _LESS, "VMEM": (_BLOCKS, _FEWER), "SMEM": (_BLOCKS, _FEWER)}
# Where the message names no memory; `check` says of the others which.
STORIES = {
    "": Story(
        title="A memory of the TPU is too small for the program",
        what="The values of the program, with the padding that tiles need, do not fit.",
        tries=(*_LESS, _NO_MEMORY_NAMED),
        refs=("vllm-project/vllm#8318", "tensorflow/tensorflow#26893"),
        suspects=largest,
    )
}


def check(facts: Facts) -> Iterable[Finding]:
    """The finding about the memory that the message names, if the log speaks of one."""
    diagnosis = diagnosis_of(facts, _CLASS)
    if diagnosis is None:
        return ()
    story = STORIES[""]
    named = _MEMORY.search(without_print(diagnosis.text))
    if named is not None:
        memory = named["memory"].upper()
        story = replace(
            story,
            title=f"{memory} of the TPU is too small for the program",
            tries=_TRIES[memory],
            is_stated=True,
        )
    if not has_peak(facts):
        at_peak = "which values are alive at the peak: the log does not list them"
        story = replace(story, unknown=(at_peak,))
    return tell(facts, RULE.code, _CLASS, {"": story})


RULE = Rule(
    code="TPU001",
    slug="memory-of-a-tpu",
    title="The program needs more memory than the TPU has",
    class_=_CLASS,
    since="0.1.0",
    sources=("vllm-project/vllm#8318", "tensorflow/tensorflow#26893"),
    check=check,
)
