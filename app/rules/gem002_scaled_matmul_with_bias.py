"""A matmul that is scaled and has a bias may leave the bias unscaled.

## What it finds
Calls of cuBLASLt that scale the product (alpha) and add a bias in the same call, in a release in
which XLA folds the scalar of `s * (x @ w + b)` into the scale of the product alone.

## Why it matters
The result is `s * (x @ w) + b`: wrong numbers without any message.

## How we know
From the configuration of the calls in the newest text: a scale other than 1 together with an
epilogue that adds a bias. The release decides whether the fold is wrong.

## What to do
Move to jaxlib 0.11.1 or newer; until then leave the rewriting out, or scale before the bias is
added.

## Limits
A program that itself writes `s * (x @ w) + b` compiles to the same call and is right: a suspect,
never a proof. Releases that are not known leave a note.

## Sources
openxla/xla#46110, jax-ml/jax#39336.
"""

from collections.abc import Iterable, Iterator

from app import knowledge
from app.analysis.suspects import Place, scaled_with_bias
from app.model.dump import ModuleHistory
from app.model.facts import Facts
from app.model.report import Finding, Workaround
from app.rules.cited import cited
from app.rules.citing import place
from app.rules.frame import Rule
from app.rules.releases import flag_workarounds, is_before_fix

_REF = "openxla/xla#46110"
_MOST = 5


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for each module of the user with such calls, unless the release is too new."""
    is_affected = is_before_fix(facts.environment.jaxlib.releases, _REF)
    if is_affected is False:
        return
    for history in facts.modules:
        calls = list(scaled_with_bias(history.last.module)) if history.role == "user" else []
        if calls:
            yield _finding(facts, history, calls[:_MOST], is_known=is_affected is True)


def _finding(
    facts: Facts, history: ModuleHistory, calls: list[Place], *, is_known: bool
) -> Finding:
    named = [
        cited(facts, history, history.last, computation, instruction, role="scaled, with a bias")
        for computation, instruction in calls
    ]
    first = place(named[0].culprit)
    return Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="warning" if is_known else "note",
        confidence="possible",
        title=f"The bias of {first} may not be scaled",
        message=(
            f"{first} scales the product and adds a bias in one call. Where the program scales the "
            "sum, `s * (x @ w + b)`, releases before 0.11.1 scale the product alone: wrong "
            "numbers, no message. Where it scales the product itself, the call is right."
        ),
        culprits=tuple(found.culprit for found in named),
        evidence=tuple(found.evidence for found in named if found.evidence is not None),
        workarounds=tuple(_workarounds(facts)),
        unknown=(
            "which of the two the program writes: the lines named say it",
            *(() if is_known else ("the jaxlib release: give it with --release",)),
        ),
        upstream=knowledge.upstream(_REF, "jax-ml/jax#39336"),
    )


def _workarounds(facts: Facts) -> Iterator[Workaround]:
    yield Workaround(text="Move to jaxlib 0.11.1 or newer.", releases="0.11.1 and newer")
    yield from flag_workarounds(
        "Leave the rewriting of matmuls out, for a test.",
        "--xla_disable_hlo_passes=cublas-gemm-rewriter",
        facts.environment.jaxlib.releases,
    )
    yield Workaround(text="Scale the product before the bias is added, and scale the bias, too.")


RULE = Rule(
    code="GEM002",
    slug="scaled-matmul-with-bias",
    title="A matmul that is scaled and has a bias may leave the bias unscaled",
    class_="gemm-rewriter",
    since="0.1.0",
    sources=("openxla/xla#46110", "jax-ml/jax#39336"),
    check=check,
)
