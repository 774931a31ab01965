"""A command buffer cannot be recorded, updated, started or freed.

## What it finds
Errors about graphs of the device (CUDA and HIP graphs), which XLA calls command buffers.

## Why it matters
XLA records parts of the program once and replays them. Libraries and custom calls in such a part
may do what cannot be recorded; the message does not say which did.

## How we know
The message says it. What computations for command buffers hold that is known to resist recording
(custom calls, collectives, loops, conditionals) is listed from the newest text.

## What to do
Switch command buffers off; if the failure goes away, leave out one kind of command at a time.

## Limits
The suspects are what could resist, not what did.

## Sources
xla/stream_executor/cuda/cuda_command_buffer.cc; jax-ml/jax#25141, elixir-nx/nx#1602,
openxla/xla#14889, jax-ml/jax#27599.
"""

from app.analysis.suspects import in_recorded_graphs, with_opcode
from app.model.facts import Diagnosis, Facts
from app.rules.naming import Named, suspecting, suspects
from app.rules.telling import Story, Try, class_rule

_recorded = suspecting(in_recorded_graphs, role="recorded in a command buffer")


def _suspected(facts: Facts, diagnosis: Diagnosis) -> tuple[Named, ...]:
    """What is recorded; where nothing is, the calls that were taken for something recorded."""
    found = _recorded(facts, diagnosis)
    if found or "CommandBufferThunk" not in diagnosis.text:
        return found
    role = "a call, taken for a command buffer"
    return suspects(facts, lambda module: with_opcode(module, ("call",)), role=role)


STORIES = {
    "": Story(
        title="A part of the program could not be recorded as a graph of the device",
        what="XLA records parts of the program and replays them; here the recording, or its "
        "replay, failed.",
        tries=(
            Try("Run without command buffers.", "--xla_gpu_enable_command_buffer="),
            Try(
                "In releases before command buffers, run without graphs.", "--xla_gpu_graph_level=0"
            ),
            Try("Mark custom calls of your own as not compatible with command buffers."),
        ),
        refs=("jax-ml/jax#25141", "openxla/xla#14889", "jax-ml/jax#27599", "openxla/xla#36086"),
        flags=("xla_gpu_enable_command_buffer", "xla_gpu_graph_level"),
        unknown=("which command broke the recording",),
        suspects=_suspected,
    ),
}

RULE = class_rule(
    code="CMD001",
    slug="graph-not-recorded",
    title="A command buffer cannot be recorded or updated",
    class_="command-buffer",
    sources=(
        "xla/stream_executor/cuda/cuda_command_buffer.cc",
        "jax-ml/jax#25141",
        "openxla/xla#14889",
        "jax-ml/jax#27599",
    ),
    stories=STORIES,
)
