"""A fusion cannot be made, costed or compiled.

## What it finds
Failed checks in the passes that merge instructions into fusions, in the model of their cost, and in
the code made for them.

## Why it matters
A fusion is XLA's own; the line is that of the instructions inside.

## How we know
The message or the file says so. The instruction printed is found in the dump.

## What to do
Leave out the fusion pass that is named, for a test; put an optimization barrier between the two
instructions; try a neighbouring release.

## Limits
Fusions that compute wrong numbers or take too much memory leave no such line.

## Sources
xla/service/gpu/model/gpu_performance_model_base.cc, xla/hlo/ir/hlo_instructions.cc;
openxla/xla#7971, jax-ml/jax#18787, openxla/xla#47373, openxla/xla#47386.
"""

from app.analysis.class_suspects import fusions_of_updates
from app.rules.cited import suspecting
from app.rules.telling import Story, Try, class_rule

STORIES = {
    "": Story(
        title="A fusion could not be made or compiled",
        what="XLA merges instructions into fusions; this one broke what its code counts on.",
        tries=(
            Try("Put jax.lax.optimization_barrier between the operations of the fusion named."),
            Try("Choose fusions without the cost model.", "--xla_gpu_enable_priority_fusion=false"),
            Try("Try a neighbouring release of jaxlib."),
        ),
        refs=("openxla/xla#7971", "jax-ml/jax#17730", "openxla/xla#47373", "openxla/xla#47386"),
        unknown=("which instructions were to be merged, where the message prints none",),
        suspects=suspecting(fusions_of_updates, role="updates several arrays at once"),
    ),
}

RULE = class_rule(
    code="FUS001",
    slug="fusion-refused",
    title="A fusion cannot be made or costed",
    class_="fusion",
    sources=(
        "xla/service/gpu/model/gpu_performance_model_base.cc",
        "xla/hlo/ir/hlo_instructions.cc",
        "openxla/xla#7971",
        "openxla/xla#47373",
        "openxla/xla#47386",
    ),
    stories=STORIES,
)
