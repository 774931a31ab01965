"""Numbers differ, and the program holds arithmetic that XLA simplifies.

## What it finds
A log that states a comparison of numbers that failed, or a death in the passes that simplify
arithmetic.

## Why it matters
XLA replaces some expressions by others that are nearly, not bitwise, equal: exp under log, squares
under roots, conversions to a narrower type and back. Such a difference looks like a bug of the
program.

## How we know
The log states the difference. Expressions of these kinds are looked up in the text before
optimizations; they are suspects, since simplification is only one way to other numbers. Where JAX
names the operation whose result is not a number, the instructions made for it are looked up there.

## What to do
Compare with the flags below, one at a time; each that makes the difference go away tells the pass.

## Limits
Rounding, another order of sums, and bugs of the program look the same.

## Sources
xla/hlo/transforms/simplifiers/algebraic_simplifier.cc; jax-ml/jax#38602, openxla/xla#10687,
openxla/xla#47299.
"""

import re
from collections.abc import Iterator, Sequence

from app.analysis.suspects import folded_arithmetic, instructions
from app.model.facts import Diagnosis, Facts
from app.rules.cited import Named, cited
from app.rules.naming import named_instructions
from app.rules.telling import Story, Try, class_rule

_MOST = 5
# `invalid value (nan) encountered in log`, or `in jit(f)` where JAX did not look further.
_ENCOUNTERED = re.compile(r"encountered in (?P<what>[\w\-]{1,100})(?P<whole>\()?")


def _folded(facts: Facts, _: Diagnosis) -> tuple[Named, ...]:
    """Arithmetic of the first texts: in the newest one it is replaced already."""
    found: list[Named] = []
    for history in (h for h in facts.modules if h.role == "user"):
        first = history.dumps[0]
        found += (
            cited(facts, history, first, computation, instruction, role="may be simplified")
            for computation, instruction in folded_arithmetic(first.module)
        )
    return tuple(found[:_MOST])


def _operation(facts: Facts, texts: Sequence[str]) -> tuple[Named, ...]:
    """The instructions of the first texts made for the operation of JAX that a message names."""
    found = _ENCOUNTERED.search(texts[0]) if texts else None
    if found is None or found["whole"]:
        return named_instructions(facts, texts)
    return tuple(_made_for(facts, found["what"]))[:_MOST]


def _made_for(facts: Facts, operation: str) -> Iterator[Named]:
    for history in (h for h in facts.modules if h.role == "user"):
        first = history.dumps[0]
        for computation, instruction in instructions(first.module):
            op_name = (instruction.metadata and instruction.metadata.op_name) or ""
            if op_name.partition("[")[0].rpartition("/")[2] == operation:
                role = "made for the operation in the message"
                yield cited(facts, history, first, computation, instruction, role=role)


def _how_far(_: Facts, named: tuple[Named, ...]) -> tuple[str, ...]:
    roles = {item.culprit.role for item in named}
    if "made for the operation in the message" in roles:
        return (
            "JAX ran single operations (of a compiled program, once it had run as a whole) and "
            "named the first bad one; of several instructions made for that operation the "
            "traceback's line tells which.",
        )
    return (
        "No single operation is named: JAX names one only where it could run the program again, "
        "operation by operation (not in a scan, a while loop, a pmap or a compiled callable).",
    )


STORIES = {
    "not-a-number": Story(
        title="A result is not a number",
        what="JAX checks results for NaN and infinity where jax_debug_nans or jax_debug_infs is "
        "set. Mostly the program makes them itself; simplification may, where it replaces an "
        "expression by one that is only nearly equal.",
        tries=(
            Try("Look at the operation that the message names, and at its inputs."),
            Try("Compare with jax.disable_jit(), and with a run in float32 or on the CPU."),
            Try("Leave the simplifier out, for a test.", "--xla_disable_hlo_passes=algsimp"),
        ),
        refs=("jax-ml/jax#38602",),
        flags=("xla_allow_excess_precision", "xla_cpu_enable_fast_math"),
        unknown=("whether the program makes it by itself: jax.disable_jit() tells",),
        names=_operation,
        suspects=_folded,
        adds=_how_far,
    ),
    "": Story(
        title="Numbers differ, and XLA simplifies arithmetic of this program",
        what="Simplification replaces some expressions by others that are only nearly equal.",
        tries=(
            Try(
                "Keep the precision that the program asks for.",
                "--xla_allow_excess_precision=false",
            ),
            Try("Leave the simplifier out, for a test.", "--xla_disable_hlo_passes=algsimp"),
            Try("Compare with jax.disable_jit(), and with a run in float32 or on the CPU."),
        ),
        refs=("jax-ml/jax#38602", "openxla/xla#10687", "openxla/xla#47299"),
        flags=("xla_allow_excess_precision", "xla_cpu_enable_fast_math"),
        unknown=("whether the difference comes from simplification at all",),
        suspects=_folded,
    ),
}

RULE = class_rule(
    code="NUM001",
    slug="numbers-differ",
    title="Numbers differ after simplification",
    class_="algsimp-numerics",
    sources=(
        "xla/hlo/transforms/simplifiers/algebraic_simplifier.cc",
        "jax-ml/jax#38602",
        "openxla/xla#10687",
    ),
    stories=STORIES,
)
