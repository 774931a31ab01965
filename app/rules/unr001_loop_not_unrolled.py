"""A pass that unrolls loops, or doubles their bodies, dies.

## What it finds
Deaths in the passes that unroll while loops or double their bodies, by the file of a check, by the
frames of the stack, or because such a pass was the last one known to be running.

## Why it matters
These deaths are mostly bare signals; which loop it was is not printed.

## How we know
From the file, the frames, or the last pass in the log or the dump. The loops of the newest text are
the suspects.

## What to do
Switch the unrolling or doubling off, or unroll the loop in the program.

## Limits
Unrolled loops may also compute wrong numbers without any line in a log; then this rule is silent.

## Sources
xla/service/while_loop_unroller.cc, xla/service/gpu/transforms/double_buffer_loop_unrolling.cc;
openxla/xla#42041, openxla/xla#47218, openxla/xla#15163.
"""

from app.model.facts import Diagnosis, Facts
from app.rules.cited import Named, loop_suspects
from app.rules.telling import Story, Try, class_rule


def _loops(facts: Facts, _: Diagnosis) -> tuple[Named, ...]:
    return loop_suspects(facts, lambda _: True)


STORIES = {
    "unroll-refused": Story(
        title="JAX cannot unroll a loop whose bounds it does not know",
        what="Its bounds are values of the program, not numbers known when it is traced.",
        tries=(
            Try("Give the loop Python integers as bounds, or mark them static."),
            Try("Leave unroll out, or unroll the body by hand."),
        ),
    ),
    "": Story(
        title="A pass that unrolls or doubles loops died",
        what="A pass over the while loops of the program could not handle one of them.",
        tries=(
            Try(
                "Do not double the bodies of loops.",
                "--xla_gpu_enable_while_loop_double_buffering=false",
                takes_back=True,
            ),
            Try(
                "Do not unroll loops.",
                "--xla_gpu_enable_while_loop_unrolling=WHILE_LOOP_UNROLLING_NO_UNROLL",
            ),
            Try("Unroll the loop in the program (lax.scan and fori_loop take unroll)."),
        ),
        refs=("openxla/xla#42041", "openxla/xla#47218", "openxla/xla#15163"),
        flags=(
            "xla_gpu_enable_while_loop_double_buffering",
            "xla_gpu_enable_while_loop_unrolling",
        ),
        unknown=("which of the loops it was",),
        suspects=_loops,
    ),
}

RULE = class_rule(
    code="UNR001",
    slug="loop-not-unrolled",
    title="A pass that unrolls or doubles a loop dies",
    class_="loop-unroll",
    sources=(
        "xla/service/while_loop_unroller.cc",
        "xla/service/gpu/transforms/double_buffer_loop_unrolling.cc",
        "openxla/xla#42041",
        "openxla/xla#47218",
    ),
    stories=STORIES,
)
