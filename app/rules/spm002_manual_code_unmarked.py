"""Code meant for one device at a time reaches the partitioner unmarked.

## What it finds
`PartitionId instruction is not supported for SPMD partitioning`, a custom partitioning that is left
over, and checks that want manual sharding.

## Why it matters
The number of a device means nothing in code that XLA splits by itself. The message names no line;
the call of axis_index (or a random key that uses it) has one.

## How we know
The message says it. The instructions that give a device its number, and left-over calls of custom
partitioning, are looked up in the newest text.

## What to do
Call axis_index inside shard_map (or pmap) only; update jax, whose older releases lost the mark in
some places.

## Limits
Who lost the mark is not seen.

## Sources
xla/service/spmd/spmd_partitioner.cc (HandlePartitionId); jax-ml/jax#16137,
EnzymeAD/Enzyme-JAX#789.
"""

from collections.abc import Iterator

from app.analysis.suspects import Place, with_opcode, with_target
from app.rules.cited import suspecting
from app.rules.naming import calls_named
from app.rules.telling import Story, Try, class_rule
from hlo_parser import Module


def _numbers_of_devices(module: Module) -> Iterator[Place]:
    for computation, instruction in with_opcode(module, ("partition-id",)):
        if instruction.sharding is None:
            yield computation, instruction
    yield from with_target(module, "^CustomSPMDPartitioning$")


STORIES = {
    "partitioner-mark": Story(
        title="A mark for the partitioner reached the back end",
        what="Such calls say where code for one device at a time begins and ends; the partitioner "
        "takes them away, and did not run on this module.",
        tries=(
            Try("Take spmd-partitioning and shardy-xla out of --xla_disable_hlo_passes."),
            Try("Give the compile its number of partitions, if the module was compiled by hand."),
        ),
        unknown=("why the partitioner did not run",),
        names=calls_named,
    ),
    "": Story(
        title="Code for one device at a time reached the partitioner unmarked",
        what="The partitioner met an instruction that only makes sense inside shard_map.",
        tries=(
            Try("Call jax.lax.axis_index, and what needs it, inside shard_map only."),
            Try("Update jax and jaxlib together."),
            Try(
                "If the message names a target of a custom call: register code for it on this "
                "platform, or call it inside shard_map."
            ),
        ),
        refs=("jax-ml/jax#16137", "EnzymeAD/Enzyme-JAX#789"),
        unknown=("who lost the mark: the program, jax or a pass",),
        names=calls_named,
        suspects=suspecting(_numbers_of_devices, role="needs to be in manual code"),
    ),
}

RULE = class_rule(
    code="SPM002",
    slug="manual-code-unmarked",
    title="Code for one device at a time reaches the partitioner unmarked",
    class_="shard-map-manual",
    sources=(
        "xla/service/spmd/spmd_partitioner.cc",
        "jax-ml/jax#16137",
        "EnzymeAD/Enzyme-JAX#789",
    ),
    stories=STORIES,
)
