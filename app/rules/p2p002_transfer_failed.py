"""A transfer between peers fails.

## What it finds
Errors of collective-permute at run time.

## Why it matters
The message names the operation's kind; ppermutes of the program have lines.

## How we know
The message says it. The collective-permutes of the newest text are the suspects.

## What to do
Read the library's own message (NCCL_DEBUG=INFO); switch local copies off if they are on.

## Limits
Wrong numbers from local copies leave no line: P2P001 looks for them in the graph.

## Sources
jax-ml/jax#17426, openxla/xla#19555.
"""

from app.analysis.suspects import with_opcode
from app.rules.cited import suspecting
from app.rules.telling import Story, Try, class_rule

_permutes = suspecting(lambda module: with_opcode(module, ("collective-permute",)), role="permute")

STORIES = {
    "": Story(
        title="A transfer between peers failed",
        what="A collective-permute returned an error while the program ran.",
        tries=(
            Try("Run with NCCL_DEBUG=INFO and read what the library says."),
            Try(
                "Do not copy between devices of one process.",
                "--xla_gpu_use_memcpy_local_p2p=false",
                takes_back=True,
            ),
        ),
        refs=("jax-ml/jax#17426", "openxla/xla#19555"),
        flags=("xla_gpu_use_memcpy_local_p2p",),
        unknown=("which of the permutes it was, where the message names none",),
        suspects=_permutes,
    ),
}

RULE = class_rule(
    code="P2P002",
    slug="transfer-failed",
    title="A transfer between peers fails",
    class_="p2p-race",
    sources=(
        "jax-ml/jax#17426",
        "openxla/xla#19555",
    ),
    stories=STORIES,
)
