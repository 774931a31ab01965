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
xla/stream_executor/cuda/cuda_command_buffer.cc;
xla/backends/gpu/runtime/command_buffer_cmd_emitter.cc; jax-ml/jax#25141, elixir-nx/nx#1602,
openxla/xla#14889, jax-ml/jax#27599.
"""

import re
from collections.abc import Iterator

from app.analysis.suspects import Place, in_recorded_graphs, with_opcode, with_target
from app.model.facts import Diagnosis, Facts
from app.rules.cited import Named, suspecting, suspects
from app.rules.telling import Story, Try, class_rule
from hlo_parser import Module

# xla/backends/gpu/runtime/command_buffer_cmd_emitter.cc: thunks that it has no command for (0.8.3).
_KIND = re.compile(r"Unsupported thunk kind: (k[A-Z]\w*)")
_TARGETS = {
    "kConvolution": r"^__cudnn\$conv",
    "kCholesky": r"(?i)cusolver",
    "kCustomCall": r"",
    "kFft": r"(?i)fft",
    "kNorm": r"^__cudnn\$norm",
}
_recorded = suspecting(in_recorded_graphs, role="recorded in a command buffer")


def _called(module: Module, words: str) -> Iterator[Place]:
    """Custom calls to targets that fit, in computations that a call runs."""
    calls = with_opcode(module, ("call",))
    within = {callee.name for _, call in calls for callee in call.callees}
    return (place for place in with_target(module, words) if place[0].name in within)


def _suspected(facts: Facts, diagnosis: Diagnosis) -> tuple[Named, ...]:
    """What is recorded; where nothing is, the calls that were taken for something recorded."""
    found = _recorded(facts, diagnosis)
    kind = _KIND.search(diagnosis.text)
    if found or not (kind or "CommandBufferThunk" in diagnosis.text):
        return found
    if kind and (words := _TARGETS.get(kind[1])):
        role = f"becomes a {kind[1]}, within a call taken for a command buffer"
        found = suspects(facts, lambda module: _called(module, words), role=role)
        if found:
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
