"""The partitioner refuses a sharding, or leaves a broken module behind.

## What it finds
Failed checks on shardings, instructions that should have one, donated inputs that are split in
another way than the output, and verifier messages after partitioning.

## Why it matters
Most of these checks print a condition and no instruction.

## How we know
The message, the file or the frames say so. Where an instruction is printed it is found in the dump;
else the newest text is searched for values that go between manual and other sharding without the
calls that are for it, and for instructions with side effects and no sharding.

## What to do
Annotate the value named (with_sharding_constraint), keep manual code inside shard_map, give donated
inputs the sharding of the outputs, or try the other partitioner (Shardy or GSPMD).

## Limits
Suspects are such in healthy programs, too.

## Sources
xla/service/spmd/spmd_partitioner.cc, xla/hlo/ir/hlo_sharding.cc; openxla/xla#4340,
jax-ml/jax#29162, openxla/xla#10543, jax-ml/jax#7635, jax-ml/jax#25346, openxla/xla#24086.
"""

import re
from collections.abc import Iterator

from app.analysis.suspects import Place, instructions, mixed_shardings, unsharded_side_effects
from app.model.facts import Diagnosis, Facts
from app.rules.cited import Named, suspecting, suspects
from app.rules.naming import calls_named
from app.rules.telling import Story, Try, class_rule
from hlo_parser import Module

_OTHER_PARTITIONER = Try(
    "Try the other partitioner: jax_use_shardy_partitioner in jax.config, where the release has it."
)


_mixed = suspecting(mixed_shardings, role="goes between manual and other sharding")

_without_sharding = suspecting(unsharded_side_effects, role="has a side effect and no sharding")

# `!all_reduce->has_sharding()`
_CHECKED = re.compile(r"!(?P<variable>\w+?)(?:_?op|_?instr\w*)?(?:\(\))?->has_sharding\(\)")


def _still_sharded(facts: Facts, diagnosis: Diagnosis) -> tuple[Named, ...]:
    """Instructions with a sharding, of the opcode after which the checked one is called, if any."""
    checked = _CHECKED.search(diagnosis.text)
    opcode = checked["variable"].replace("_", "-") if checked else ""
    opcode = "" if opcode in ("hlo", "instr", "instruction", "inst") else opcode

    def found(module: Module) -> Iterator[Place]:
        # Parameters of the entry computation keep theirs.
        for computation, instruction in instructions(module):
            is_of_it = instruction.opcode.removesuffix("-start") == opcode or not opcode
            is_input = instruction.opcode == "parameter"
            if instruction.attributes.get("sharding") and is_of_it and not is_input:
                yield computation, instruction

    return suspects(facts, found, role="has a sharding in the newest text")


STORIES = {
    "manual": Story(
        title="A value has another kind of sharding than the partitioner can take there",
        what="Values inside shard_map are sharded by hand (manual); here such a value met one that "
        "is not, or the other way round.",
        tries=(
            Try("Keep arrays that are not arguments out of shard_map bodies (pass them in)."),
            Try("Do not mix explicit sharding or constraints with manual axes in one function."),
            _OTHER_PARTITIONER,
        ),
        refs=("openxla/xla#4340", "jax-ml/jax#29162"),
        unknown=("which instruction it was: the check prints none",),
        suspects=_mixed,
    ),
    "no-sharding": Story(
        title="An instruction has no sharding where the partitioner needs one",
        what="Instructions with side effects, and those that were annotated, must say how they are "
        "split.",
        tries=(
            Try("Annotate the value with jax.lax.with_sharding_constraint, or move it out of jit."),
            _OTHER_PARTITIONER,
        ),
        refs=("openxla/xla#10543", "jax-ml/jax#7635"),
        unknown=("who dropped the sharding: the program or a pass",),
        suspects=_without_sharding,
    ),
    "has-sharding": Story(
        title="An instruction still has a sharding where none may be left",
        what="Passes behind the partitioner count on it to have taken all shardings away: it did "
        "not run, or left one out.",
        tries=(
            Try("Take spmd-partitioning out of --xla_disable_hlo_passes."),
            Try("Try a neighbouring release of jaxlib, and send this report to openxla/xla."),
        ),
        unknown=("which instruction it was: the check prints none",),
        suspects=_still_sharded,
    ),
    "aliased-input": Story(
        title="A donated input is split in another way than the output that takes its place",
        what="A donated buffer can only be reused for an output of the same size on each device.",
        tries=(
            Try(
                "Give the donated argument and the output the same sharding (in_shardings, "
                "out_shardings)."
            ),
            Try("Do not donate this argument."),
        ),
        refs=("jax-ml/jax#25346",),
    ),
    "": Story(
        title="The partitioner could not split the program",
        what="While the program was split over the devices, an instruction did not fit its "
        "sharding.",
        tries=(
            Try("Constrain the sharding of the value named (with_sharding_constraint)."),
            Try("Use 32-bit indices for gathers and scatters that are sharded."),
            _OTHER_PARTITIONER,
        ),
        refs=("openxla/xla#24086", "openxla/xla#18629"),
        unknown=("which instruction it was, where the message prints none",),
        suspects=_mixed,
        names=calls_named,
    ),
}

RULE = class_rule(
    code="SPM001",
    slug="sharding-refused",
    title="The partitioner refuses a sharding",
    class_="spmd-check",
    sources=(
        "xla/service/spmd/spmd_partitioner.cc",
        "xla/hlo/ir/hlo_sharding.cc",
        "openxla/xla#4340",
        "jax-ml/jax#29162",
        "openxla/xla#10543",
        "jax-ml/jax#7635",
    ),
    stories=STORIES,
)
