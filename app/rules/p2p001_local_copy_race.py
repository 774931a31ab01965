"""A ring of permutes may run on local copies that nothing keeps in order.

## What it finds
A collective-permute in a while loop that sends on what a permute of the iteration before received,
in a program compiled with `xla_gpu_use_memcpy_local_p2p`.

## Why it matters
With the flag, devices of one process copy straight into each other's buffers. In a ring the buffer
a device reads is the one a peer writes next; where copies are not ordered against each other,
values are overwritten before they are read, and the result is wrong without any error.

## How we know
The permutes, the loop and the way of the value through the carry are read from the newest text. The
flag leaves no trace in HLO; it is read from `debug_options` (0.6.0 and newer), the log or the flags
given by the user.

## What to do
Run once with the flag off and compare. If the numbers then agree, leave it off.

## Limits
A suspect, never a proof: the graph is the same whether the copies are ordered or not. With the flag
known to be off the rule is silent; where no flags are known it leaves a note.

## Sources
openxla/xla#19555; jaxlib 0.4.38 orders the start of the copies, 0.6.0 their stream.
"""

from collections.abc import Iterable, Sequence

from app import knowledge
from app.analysis.permute_rings import PermuteRing, find_permute_rings
from app.model.dump import ModuleHistory
from app.model.facts import Facts, LoopHistory
from app.model.report import Finding, Workaround
from app.rules.citing import instruction_culprit, instruction_evidence, loop_culprit, place
from app.rules.frame import Rule

_FLAG = "xla_gpu_use_memcpy_local_p2p"
_FIXED = "0.6.0"


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for each loop with a ring, unless the flag is known to be off."""
    environment = facts.environment
    setting = environment.flags.get(_FLAG)
    is_known = bool(environment.flags_from)
    if environment.backend in ("CPU", "TPU") or (is_known and setting != "true"):
        return
    for history in facts.modules:
        for tracked in facts.loops.get(history.id, ()):
            loop = tracked.occurrences.get(history.last.index)
            rings = find_permute_rings(history.last.module, loop) if loop is not None else ()
            if rings:
                yield _finding(facts, history, tracked, rings, is_known=is_known)


def _finding(
    facts: Facts,
    history: ModuleHistory,
    tracked: LoopHistory,
    rings: Sequence[PermuteRing],
    *,
    is_known: bool,
) -> Finding:
    dump = history.last
    loop = tracked.occurrences[dump.index]
    permutes = tuple(
        instruction_culprit(history, dump, loop.body, ring.permute, loop=tracked.id, role="permute")
        for ring in rings
    )
    around = loop_culprit(history, dump, tracked, role="loop")
    flag = f"--{_FLAG}=false"
    state = "is on" if is_known else "may be on (no flags are known)"
    return Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="warning" if is_known else "note",
        confidence="possible",
        title=f"Local copies may race in the ring of {place(permutes[0])}",
        message=(
            f"{_ways(rings)} in loop {place(around)}. {_FLAG} {state}: then devices of one process "
            "copy into each other's buffers, and if nothing orders the copies a value is "
            "overwritten before it is read. Wrong numbers, no error. The graph alone cannot prove "
            f"it: run once with the flag off and compare. {_fixes(facts)}"
        ),
        culprits=(*permutes, around),
        evidence=(
            *(instruction_evidence(dump, loop.body, ring.permute) for ring in rings),
            instruction_evidence(dump, loop.computation, loop.instruction),
        ),
        flags=(f"--{_FLAG}=true",) if is_known else (),
        workarounds=(
            Workaround(text="Switch the local copies off and compare the numbers.", flags=(flag,)),
            Workaround(text="Unroll the loop by hand: straight-line permutes use other buffers."),
        ),
        unknown=("whether the numbers are wrong: no file says so",)
        + (() if is_known else (f"whether {_FLAG} is on: give the run's XLA_FLAGS with --flags",)),
        upstream=knowledge.upstream("openxla/xla#19555", "openxla/xla#23793"),
    )


def _fixes(facts: Facts) -> str:
    """Whether the faults known upstream may be in the release that compiled this."""
    releases = facts.environment.jaxlib.releases
    if not releases:
        return (
            "The faults known upstream are fixed in 0.4.38 and 0.6.0: whether yours has them "
            "depends on the jaxlib release, which no file says (--release)."
        )
    if min(map(knowledge.release_key, releases)) >= knowledge.release_key(_FIXED):
        return "The faults known upstream are fixed in this release; another may remain."
    if max(map(knowledge.release_key, releases)) < knowledge.release_key(_FIXED):
        return f"This release is older than {_FIXED}, the first with both known fixes."
    return f"The release may be older than {_FIXED}, the first with both known fixes."


def _ways(rings: Sequence[PermuteRing]) -> str:
    ways = [
        f"{ring.permute.name} sends what {ring.previous.name} received"
        + (" in the iteration before" if ring.through_carry else "")
        for ring in rings
    ]
    return " and ".join(ways)


RULE = Rule(
    code="P2P001",
    slug="local-copy-race",
    title="A ring of permutes may run on local copies that nothing keeps in order",
    class_="p2p-race",
    since="0.1.0",
    sources=("openxla/xla#19555", "openxla/xla#23793"),
    check=check,
)
