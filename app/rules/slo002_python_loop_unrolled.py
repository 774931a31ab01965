"""A loop in Python wrote the same piece of the program many times.

## What it finds
Four and more copies of a piece with a matrix product or convolution, from the same lines and with
the same operations and shapes, each of which depends on the one before, or all of which go into one
total part by part: the layers of a model, the steps of a recurrence, or small batches whose
gradients are summed, written by a `for` in Python.

## Why it matters
Every pass works on every copy: compile time and the size of the program grow with the number of
copies, for some passes faster than that.

## How we know
From the first text of the module, before any pass. Instructions are copies if opcode, shape,
operation, line with its callers and the shapes of the operands agree; the products among them must
follow each other, or reach one line that adds them up, one part more at each of its instructions.
What a scan would save is counted, not estimated from lines.

## What to do
Stack what differs between the steps (parameters, batches) along a new first axis and use
jax.lax.scan, with the total as its carry; a fori_loop or scan with `unroll` keeps the gain for a
few steps.

## Limits
A scan adds slices of the stacked arrays, and XLA fuses and overlaps less across its iterations: the
program may run a little slower. Steps whose shapes differ are no copies. An `unroll=True` of JAX
leaves the same trace.

## Sources
jax-ml/jax#2777, jax-ml/jax#3891; openxla/xla#23924.
"""

from collections.abc import Iterable

from app import knowledge
from app.analysis.repeated_lines import RepeatedLines
from app.model.dump import ModuleHistory
from app.model.facts import Facts
from app.model.report import Finding, Workaround
from app.rules.amounts import part_in_words
from app.rules.cited import cited
from app.rules.citing import dump_evidence, place
from app.rules.frame import Rule
from app.rules.unrolled import copies_in, first_and_last, is_serious, written_as_a_scan


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for each module of the user that holds such copies."""
    for history in facts.modules:
        found = copies_in(history) if history.role == "user" else None
        if found is not None:
            yield _finding(facts, history, found)


def _finding(facts: Facts, history: ModuleHistory, found: RepeatedLines) -> Finding:
    dump = history.dumps[0]
    all_of_it = dump.module.instruction_count
    named = first_and_last(facts, history, found)
    first = place(named[0].culprit)
    how, order = "one after the other", "each copy after the one before"
    if found.total is not None:
        named.append(cited(facts, history, dump, found.computation, found.total, role="total"))
        how = "summed one after the other"
        order = f"and their results go into one total ({place(named[-1].culprit)}) part by part"
    return Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="warning" if is_serious(history, found) else "note",
        confidence="likely",
        title=f"{found.times} copies of the same {found.size} instructions, {how}: {first}",
        message=(
            f"The piece around {first} stands {found.times} times in the program as it was traced, "
            f"{order}: {found.instructions:,} of {all_of_it:,} "
            f"instructions. A scan over it would leave out up to {found.saved:,} "
            f"({part_in_words(found.saved, all_of_it)})."
        ),
        culprits=tuple(one.culprit for one in named),
        evidence=(
            *(one.evidence for one in named if one.evidence is not None),
            dump_evidence(dump, f"{found.times} copies of {found.size} instructions"),
        ),
        workarounds=(
            written_as_a_scan(found, first),
            Workaround(text="Keep compiled programs in a cache (jax_compilation_cache_dir)."),
        ),
        unknown=("how long the compile takes for it: compile with fewer steps and compare",),
        upstream=knowledge.upstream("jax-ml/jax#2777", "jax-ml/jax#3891", "openxla/xla#23924"),
    )


RULE = Rule(
    code="SLO002",
    slug="python-loop-unrolled",
    title="A loop in Python wrote the same piece of the program many times",
    class_="slow-compile",
    since="0.1.0",
    sources=("jax-ml/jax#2777", "jax-ml/jax#3891", "openxla/xla#23924"),
    check=check,
)
