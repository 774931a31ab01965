"""The compiler evaluates constants for long.

## What it finds
XLA's alarm that folding a constant takes more than a second, and deaths in its evaluator.

## Why it matters
The evaluator is a slow interpreter on the host. A large array that the program closes over, or
makes of constants, keeps every compile waiting.

## How we know
The alarm prints the instruction, with its line where there are metadata. Where it names none that
the dump holds, the instructions of the first text whose inputs are all constants are suspects.

## What to do
Pass the array as an argument in place of closing over it; make large constants at run time; leave
constant folding out.

## Limits
The alarm does not say how much the result is worth.

## Sources
xla/service/slow_operation_alarm.cc, xla/hlo/transforms/simplifiers/hlo_constant_folding.cc;
jax-ml/jax#21300, jax-ml/jax#16647.
"""

from app.analysis.class_suspects import computed_from_constants
from app.rules.cited import suspecting_at_first
from app.rules.telling import Story, Try, class_rule

STORIES = {
    "": Story(
        title="The compiler evaluates an instruction on constants, slowly",
        what="All inputs of the instruction are constants, so XLA computes it while it compiles.",
        tries=(
            Try(
                "Pass the arrays behind it as arguments of the jitted function, in place of "
                "closing over them."
            ),
            Try("Leave constant folding out.", "--xla_disable_hlo_passes=constant_folding"),
        ),
        refs=("jax-ml/jax#21300", "jax-ml/jax#16647"),
        unknown=("how long the folding took in all",),
        suspects=suspecting_at_first(computed_from_constants, role="all its inputs are constants"),
    ),
}

RULE = class_rule(
    code="CFD001",
    slug="slow-constant-folding",
    title="The compiler evaluates constants for long",
    class_="constant-folding",
    sources=(
        "xla/service/slow_operation_alarm.cc",
        "jax-ml/jax#21300",
        "jax-ml/jax#16647",
    ),
    stories=STORIES,
)
