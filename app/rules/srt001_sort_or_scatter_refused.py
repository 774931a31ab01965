"""A sort or scatter breaks in a rewrite, or stands where it cannot run.

## What it finds
Verifier messages after passes over sorts and scatters, and failed checks on them.

## Why it matters
Gathers, scatters and argsort of the program become these; the message prints XLA's own form.

## How we know
The message says it and mostly prints the instruction. Else sorts, scatters and reductions whose
scalar code holds a scatter, a loop or an update are the suspects: such code cannot be nested.

## What to do
Use 32-bit indices; leave the rewriting pass out; take the scatter out of the comparison or
reduction function.

## Limits
None of the suspects may be at fault where the check prints nothing.

## Sources
openxla/xla#34096 (jaxlib 0.8.2 to 0.10.0), openxla/xla#47370, openxla/xla#34917.
"""

from app.analysis.suspects import heavy_comparators
from app.rules.cited import suspecting
from app.rules.telling import Story, Try, class_rule

_nested = suspecting(heavy_comparators, role="has code in its function that cannot be nested")

STORIES = {
    "": Story(
        title="A sort or scatter could not be handled",
        what="A rewrite of a sort or scatter left types that do not fit, or it stands inside "
        "scalar code where it cannot run.",
        tries=(
            Try(
                "Leave the rewriting of sorts of permutations out.",
                "--xla_disable_hlo_passes=permutation_sort_simplifier",
            ),
            Try("Use 32-bit indices (jax_enable_x64 off, or argsort and scatter on int32)."),
            Try(
                "Keep .at[].set and loops out of functions that are mapped, sorted or reduced with."
            ),
        ),
        refs=("openxla/xla#34096", "openxla/xla#47370", "openxla/xla#34917"),
        unknown=("which sort or scatter it was, where the message prints none",),
        suspects=_nested,
    ),
}

RULE = class_rule(
    code="SRT001",
    slug="sort-or-scatter-refused",
    title="A sort or scatter breaks in a rewrite",
    class_="scatter-sort",
    sources=(
        "openxla/xla#34096",
        "openxla/xla#47370",
        "openxla/xla#34917",
    ),
    stories=STORIES,
)
