"""The partitioner changes the sharding of a value that nobody asked to change.

## What it finds
In the partitioned program: an all-gather of which each device keeps only its own slice, and
all-to-alls and permutes between devices that come from no primitive of the program and from no
sharding constraint.

## Why it matters
Each execution pays for the transfer, and a gathered value stands whole on every device for a
while. XLA prints no line for most of these.

## How we know
From the newest text that is partitioned and not fused yet, after the simplifiers have had their
turn. A gathered value all of whose uses are slices by the device's number changed its sharding and
nothing else: likely. An exchange whose `op_name` is no exchange was added by the partitioner for
that operation; that another sharding would do without it is possible.

## What to do
Give the value, or the operation named, the sharding that its other side has
(jax.lax.with_sharding_constraint, out_shardings, in_specs); the line is the one to annotate.

## Limits
Operations that need the edges of their neighbours' parts (convolutions, slices, concatenations)
exchange them rightly and are left out. Without metadata nothing is said.

## Sources
xla/service/spmd/spmd_partitioner.cc (PartitionedHlo::ReshardNoCache); openxla/xla#15207,
jax-ml/jax#20381, jax-ml/jax#23052.
"""

from collections.abc import Iterable, Iterator, Sequence

from app import knowledge
from app.analysis.resharding import Resharding, find_reshardings
from app.model.dump import ModuleHistory
from app.model.facts import Facts
from app.model.report import Evidence, Finding, Workaround
from app.rules.amounts import bytes_in_words
from app.rules.cited import cited
from app.rules.citing import instruction_evidence, place
from app.rules.frame import Rule

_MOST = 4
_SERIOUS_BYTES = 16 << 20


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for each module of the user in which shardings change unasked."""
    for history in facts.modules:
        found = find_reshardings(history) if history.role == "user" else ()
        if found:
            yield _finding(facts, history, found)


def _finding(facts: Facts, history: ModuleHistory, found: Sequence[Resharding]) -> Finding:
    gathered = [r for r in found if r.kind == "gathered-and-sliced"]
    shown = [*gathered, *(r for r in found if r.kind == "exchanged")][:_MOST]
    named = [
        (
            r,
            cited(facts, history, r.dump, r.computation, r.exchange, role="changes the sharding"),
            [
                cited(facts, history, r.dump, r.computation, piece, role="what each device keeps")
                for piece in r.slices[:1]
            ],
        )
        for r in shown
    ]
    first = place(named[0][1].culprit)
    is_serious = bool(gathered) and gathered[0].bytes >= _SERIOUS_BYTES
    return Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="warning" if is_serious else "note",
        confidence="likely" if gathered else "possible",
        title=f"{first} changes a sharding, and nothing in the program asks for it"
        if gathered
        else f"{first} moves a value between devices, perhaps only to change its sharding",
        message=" ".join(_said(r, place(exchange.culprit)) for r, exchange, _ in named)
        + _rest(len(found) - len(shown)),
        culprits=tuple(n.culprit for _, one, more in named for n in (one, *more)),
        evidence=tuple(_evidence(shown)),
        workarounds=(
            Workaround(
                text=f"Annotate the value at {first} with jax.lax.with_sharding_constraint, so "
                "that what makes it and what uses it have the same sharding."
            ),
            Workaround(
                text="Give jit the same sharding for an argument or a result as the code inside "
                "uses (in_shardings, out_shardings)."
            ),
        ),
        unknown=("whether the exchange can be avoided: compile with the annotation and compare",),
        upstream=knowledge.upstream("openxla/xla#15207", "jax-ml/jax#20381"),
    )


def _said(resharding: Resharding, exchange: str) -> str:
    size = bytes_in_words(resharding.bytes)
    metadata = resharding.exchange.metadata
    serves = metadata.op_name if metadata else None
    if resharding.kind == "gathered-and-sliced":
        return (
            f"{exchange} gives every device a whole value of {size}, of which each keeps only its "
            f"own slice; it was made for {serves}."
        )
    return f"{exchange} moves {size} between devices for {serves}, which is no exchange in itself."


def _rest(count: int) -> str:
    return f" {count} more are like them." if count > 0 else ""


def _evidence(shown: Sequence[Resharding]) -> Iterator[Evidence]:
    for resharding in shown:
        for instruction in (resharding.exchange, *resharding.slices[:1]):
            yield instruction_evidence(resharding.dump, resharding.computation, instruction)


RULE = Rule(
    code="RSH001",
    slug="sharding-changed-unasked",
    title="The partitioner changes a sharding that nobody asked to change",
    class_="spmd-involuntary-remat",
    since="0.1.0",
    sources=("xla/service/spmd/spmd_partitioner.cc", "openxla/xla#15207", "jax-ml/jax#20381"),
    check=check,
)
