"""A reduction over devices is at odds with how its operand is split.

## What it finds
Messages of the Shardy partitioner that a reduction overlaps with the sharding of its operand. Such
a program would compute wrong numbers.

## Why it matters
Most miscompiles by partitioning leave no line at all; these are caught.

## How we know
The message says it; it may name the operation and the axis.

## What to do
Constrain the sharding of the operand; for sharded scatter-adds move to a release with the fix.

## Limits
Silent miscompiles are not found here.

## Sources
openxla/xla#42481, openxla/xla#40034, openxla/xla#49143.
"""

from app.analysis.miscompiled_forms import scatter_of_two_shardings
from app.rules.cited import suspecting_at_first
from app.rules.telling import Story, Try, class_rule

_SUSPECTS = suspecting_at_first(
    scatter_of_two_shardings, role="adds updates that are split otherwise"
)
STORIES = {
    "sharded-differs": Story(
        title="Values differ with the way in which arrays are split over devices",
        what="The partitioner may have lost or doubled a sum over devices; so may the program.",
        tries=(
            Try("Compare the results with a run on one device, one function at a time."),
            Try("Constrain the shardings of the operands (with_sharding_constraint)."),
        ),
        refs=("openxla/xla#42481", "openxla/xla#40034", "openxla/xla#49143"),
        unknown=("which operation it is, and whether the program itself sums twice",),
        suspects=_SUSPECTS,
    ),
    "spmd-miscompile-file": Story(
        title="The pass died that moves reductions over devices out of loops",
        what="It adds up in the loop and reduces once behind it; one of the loops was not of the "
        "form it counts on.",
        tries=(
            Try(
                "Leave the pass out.",
                "--xla_disable_hlo_passes=while-loop-all-reduce-code-motion",
            ),
        ),
        refs=("openxla/xla#42481",),
        unknown=("which loop it was, where the check prints none",),
        suspects=_SUSPECTS,
    ),
    "": Story(
        title="A reduction over devices is at odds with how its operand is split",
        what="The partitioner would reduce over an axis of the mesh over which the value is split.",
        tries=(
            Try(
                "Constrain the sharding of the value before the reduction "
                "(with_sharding_constraint)."
            ),
            Try("Compare the results with a run on one device."),
        ),
        refs=("openxla/xla#42481", "openxla/xla#40034", "openxla/xla#49143"),
        unknown=("which operation of the program it is, where the message names none",),
        suspects=_SUSPECTS,
    ),
}

RULE = class_rule(
    code="SPM003",
    slug="reduction-at-odds",
    title="A reduction over devices is at odds with its operand",
    class_="spmd-miscompile",
    sources=(
        "openxla/xla#42481",
        "openxla/xla#40034",
        "openxla/xla#49143",
    ),
    stories=STORIES,
)
