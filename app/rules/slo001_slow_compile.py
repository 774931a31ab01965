"""The compile is very slow.

## What it finds
XLA's alarm of a very slow compile, and passes that never come to rest.

## Why it matters
The usual cause is a Python loop that was traced step by step: the same lines many times over.

## How we know
The log states it. In the first text of each module the source line that most instructions come from
is counted; it is named where it makes at least a tenth of them.

## What to do
Use lax.scan or fori_loop for repeated work, or vmap; keep jitted functions small; use the
compilation cache.

## Limits
A line may make many instructions for good reason.

## Sources
xla/service/slow_operation_alarm.cc, xla/hlo/pass/hlo_pass_fix.h; jax-ml/jax#2777, jax-ml/jax#3891,
openxla/xla#23924.
"""

from app.analysis.suspects import made_by_one_line
from app.model.facts import Diagnosis, Facts
from app.rules.cited import Named, cited
from app.rules.citing import dump_evidence
from app.rules.telling import Story, Try, class_rule

# A line that makes less of a program than this part is not worth naming.
_PART = 10


def _repeated(facts: Facts, _: Diagnosis) -> tuple[Named, ...]:
    found: list[Named] = []
    for history in (h for h in facts.modules if h.role == "user"):
        first = history.dumps[0]
        made = made_by_one_line(first.module)
        if made is not None and made[1] * _PART >= first.module.instruction_count:
            (computation, instruction), count = made
            role = "the first instruction of the line that made most of them"
            named = cited(facts, history, first, computation, instruction, role=role)
            words = f"{count} of {first.module.instruction_count} instructions come from that line"
            found.append(Named(named.culprit, dump_evidence(first, words)))
    return tuple(found[:1])


_TRIES = (
    Try("Replace Python loops over layers or steps by lax.scan or fori_loop."),
    Try("Keep compiled programs (jax_compilation_cache_dir)."),
    Try("Compile with less effort, for a test.", "--xla_backend_optimization_level=0"),
)
_REFS = ("jax-ml/jax#2777", "jax-ml/jax#3891", "openxla/xla#23924")
STORIES = {
    "pass-in-a-circle": Story(
        title="A pass goes back and forth between two forms",
        what="XLA noticed it and leaves the pass; that costs some iterations, and no more.",
        severity="note",
    ),
    "took-long": Story(
        title="A compile took a minute or more",
        severity="note",
        what="JAX says so, having been told to log its compiles.",
        tries=_TRIES,
        refs=_REFS,
        unknown=("which pass takes the time: the times of the files of a dump tell it",),
        suspects=_repeated,
    ),
    "": Story(
        title="The compile is very slow",
        what="XLA itself complains of how long it takes.",
        tries=_TRIES,
        refs=_REFS,
        unknown=("which pass takes the time: the times of the files of a dump tell it",),
        suspects=_repeated,
    ),
}

RULE = class_rule(
    code="SLO001",
    slug="slow-compile",
    title="The compile is very slow",
    class_="slow-compile",
    sources=(
        "xla/service/slow_operation_alarm.cc",
        "xla/hlo/pass/hlo_pass_fix.h",
        "jax-ml/jax#2777",
        "openxla/xla#23924",
    ),
    stories=STORIES,
)
