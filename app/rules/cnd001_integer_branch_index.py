"""A conditional with an integer index meets code that knows only predicates.

## What it finds
`PRED == operand(0)->shape().element_type()` and other failed checks about conditionals.

## Why it matters
The check prints types and no instruction; lax.cond and lax.switch have a line.

## How we know
The condition says it. Conditionals with two branches and an integer index are looked up in the
newest text, those inside scalar code (map, reduce, scatter, sort) first.

## What to do
Give lax.cond a boolean, or write the branch as jnp.where; or move to a release with the fix.

## Limits
Several conditionals may fit.

## Sources
xla/service/conditional_to_select.cc; openxla/xla#12615, openxla/xla#18883, jax-ml/jax#5986.
"""

from app.analysis.suspects import integer_conditionals
from app.rules.cited import suspecting
from app.rules.telling import Story, Try, class_rule

_by_index = suspecting(integer_conditionals, role="has an integer index and two branches")

STORIES = {
    "branches-differ": Story(
        title="The branches of a conditional do not fit each other",
        what="Each branch has to give values of the same shapes and types, and these do not.",
        tries=(
            Try("Give the results of both branches one shape and dtype (astype, reshape)."),
            Try("Write the branch as jnp.where where both results are cheap."),
        ),
        unknown=("which conditional it was, where no line of the program is named",),
    ),
    "": Story(
        title="A conditional could not be handled",
        what="XLA writes lax.cond with an integer index or a predicate; a pass knew only one of "
        "them.",
        tries=(
            Try(
                "Write the branch as jnp.where, or give lax.cond a boolean and lax.switch three "
                "branches."
            ),
            Try(
                "Move the conditional out of the function that is mapped, reduced or compared with."
            ),
        ),
        refs=("openxla/xla#12615", "openxla/xla#18883", "jax-ml/jax#5986"),
        unknown=("which conditional it was: the check prints none",),
        suspects=_by_index,
    ),
}

RULE = class_rule(
    code="CND001",
    slug="integer-branch-index",
    title="A conditional with an integer index meets code for predicates",
    class_="conditional",
    sources=(
        "xla/service/conditional_to_select.cc",
        "openxla/xla#12615",
        "openxla/xla#18883",
        "jax-ml/jax#5986",
    ),
    stories=STORIES,
)
