"""A collective stands where only some devices may come by.

## What it finds
A conditional or a while loop with a collective inside, whose predicate is made from the device's
own number or from data that differs between devices.

## Why it matters
Every device of a group must join a collective. A device that takes the other branch, or leaves the
loop an iteration earlier, never joins, and the others wait for ever: a hang without an error line,
or a rendezvous time-out.

## How we know
The predicate is followed backwards through the newest text of each module. `partition-id` and
`replica-id` differ between devices for certain. Inputs that are sharded, or that belong to one of
several replicas, may differ. The result of a collective over all devices is the same everywhere.
In code that XLA partitioned by itself predicates are kept alike on all devices, so only branches
inside shard_map or pmap count, by their op_name; a branch without one is at most possible.

## What to do
Call the collective outside the branch on every device (for example with a zero contribution), or
make the predicate the same everywhere first (reduce it over the same devices).

## Limits
A predicate may differ in form and still agree in fact: then nothing hangs. Whether the groups of
the collective split along the predicate is not examined. Inputs of a pmap that are the same on all
devices cannot be told from mapped ones.

## Sources
jax-ml/jax#11637; xla/service/rendezvous.cc (what a missing participant leads to).
"""

from collections.abc import Iterable, Iterator

from app.analysis.divergence import Cause, Divergence, Place, find_divergences
from app.model.dump import ModuleHistory
from app.model.facts import Facts
from app.model.report import Confidence, Culprit, Evidence, Finding, Severity, Workaround
from app.rules.citing import instruction_culprit, instruction_evidence, place
from app.rules.frame import Rule
from app.rules.standing import standing_of

_MAX_COLLECTIVES = 8
_CONFIDENCE: dict[Cause, Confidence] = {
    "device-number": "likely",
    "sharded-input": "likely",
    "outside-data": "possible",
}
_ORIGIN = {
    "device-number": "the device's own number",
    "sharded-input": "an input of which devices hold different parts",
    "outside-data": "data that reaches each device by itself",
}


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for each branch or loop that devices may leave differently."""
    for history in facts.modules:
        if history.role == "user":
            for divergence in find_divergences(history):
                if divergence.written != "whole":
                    yield _finding(facts, history, divergence)


def _finding(facts: Facts, history: ModuleHistory, divergence: Divergence) -> Finding:
    branch = _culprit(history, divergence.branch, "branch")
    collectives = tuple(
        _culprit(history, c, "collective") for c in divergence.collectives[:_MAX_COLLECTIVES]
    )
    origin = _culprit(history, divergence.origin, "what makes devices differ")
    severity: Severity = "error" if facts.hung else "warning"
    standing = standing_of(facts)
    verb = "waits" if len(divergence.collectives) == 1 else "wait"
    return Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity=severity,
        confidence=(
            "possible" if divergence.written == "unknown" else _CONFIDENCE[divergence.cause]
        ),
        title=f"Only some devices may reach {place(collectives[0])}",
        message=(
            f"{_listed(collectives)} {verb} for every device of the group, but "
            f"{'stands' if len(collectives) == 1 else 'stand'} under {place(branch)}, whose "
            f"predicate is made from {_ORIGIN[divergence.cause]} ({place(origin)}). Devices that "
            "go the other way never join, and the rest wait for ever."
            + (f" {standing.words}" if standing else "")
        ),
        culprits=(*collectives, branch, origin, *(standing.culprits if standing else ())),
        evidence=(*_evidence(history, divergence), *(standing.evidence if standing else ())),
        workarounds=tuple(_workarounds()),
        unknown=(() if facts.hung else ("whether the run hung: nobody said so",)),
    )


def _listed(collectives: tuple[Culprit, ...]) -> str:
    return ", ".join(place(culprit) for culprit in collectives)


def _culprit(history: ModuleHistory, where: Place, role: str) -> Culprit:
    return instruction_culprit(
        history, history.last, where.computation, where.instruction, loop=None, role=role
    )


def _evidence(history: ModuleHistory, divergence: Divergence) -> Iterator[Evidence]:
    for where in (*divergence.collectives[:_MAX_COLLECTIVES], divergence.branch, divergence.origin):
        yield instruction_evidence(history.last, where.computation, where.instruction)


def _workarounds() -> Iterator[Workaround]:
    yield Workaround(
        text="Call the collective outside the branch, on every device; let devices that have "
        "nothing to give contribute zeros."
    )
    yield Workaround(
        text="Reduce the predicate over the same devices first (for example with lax.pmax), so "
        "that all of them go the same way."
    )


RULE = Rule(
    code="HNG001",
    slug="collective-under-divergent-branch",
    title="A collective stands where only some devices may come by",
    class_="hang-rendezvous",
    since="0.1.0",
    sources=("jax-ml/jax#11637", "xla/service/rendezvous.cc"),
    check=check,
)
