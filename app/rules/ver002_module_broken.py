"""The newest text of a compile that stopped holds what XLA refuses.

## What it finds
A module of the program whose texts end in the middle of its passes, and in its newest text
instructions that wait for each other in a circle, or a permute to a device that there is not; in a
dump without a log that states a failure. With a log, VER001 and its neighbours speak.

## Why it matters
The compile cannot have gone on from there: the dump alone tells what stopped it, and where.

## How we know
Operands and control predecessors of each computation are followed; nothing that waits for itself
can be put in an order. The numbers of a permute's partners are held against the number of
partitions (or replicas) in the header. The texts before are looked through for the first that holds
the fault: the pass that wrote it made the fault, or a pass before it that left no text.

## What to do
For a circle, leave out the pass that made it or what asks for it. For a partner that there is not,
mend the permutation where the program states it, or compile for as many devices as it names.

## Limits
A text that was edited by hand, or cut, may hold a fault that no compiler saw. Nothing else of what
the verifier checks is looked at.

## Sources
xla/hlo/ir/hlo_computation.cc (cycles), xla/service/hlo_verifier.cc (partners of permutes).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from app import knowledge
from app.analysis.broken import absent_partners, circles, has_absent_partner, has_circle
from app.model.dump import ModuleHistory, PassDump
from app.model.facts import Facts
from app.model.report import Finding, Workaround
from app.rules.cited import Named, cited
from app.rules.citing import dump_evidence, place
from app.rules.first_text import first_with, in_words
from app.rules.frame import Rule
from app.rules.releases import flag_workarounds
from app.rules.unfinished import is_unfinished
from hlo_parser import Module

_MOST_IN_CIRCLE = 6


@dataclass(frozen=True, slots=True)
class _Fault:
    """What a text holds; `has` says whether another text holds the like."""

    title: str
    what: str
    named: tuple[Named, ...]
    has: Callable[[Module], bool]
    mend: str = ""


def check(facts: Facts) -> Iterable[Finding]:
    """One error for each unfinished module whose newest text is broken, unless the log speaks."""
    if facts.log.failures:
        return
    for history in facts.modules:
        if history.role == "user" and is_unfinished(history):
            fault = _circle(facts, history) or _absent_partner(facts, history)
            if fault is not None:
                yield _finding(facts, history, fault)


def _circle(facts: Facts, history: ModuleHistory) -> _Fault | None:
    found = next(circles(history.last.module), None)
    if found is None:
        return None
    computation, circle = found
    named = tuple(
        cited(facts, history, history.last, computation, instruction, role="waits in a circle")
        for instruction in circle[:_MOST_IN_CIRCLE]
    )
    more = len(circle) - len(named)
    names = ", ".join(place(item.culprit) for item in named) + (f" and {more} more" * (more > 0))
    return _Fault(
        title="Instructions depend on each other in a circle",
        what=f"In the newest text these instructions wait for each other in a circle: {names}. No "
        "order satisfies them, so the compile ended at the next step that asks for one.",
        named=named,
        has=has_circle,
    )


def _absent_partner(facts: Facts, history: ModuleHistory) -> _Fault | None:
    found = next(absent_partners(history.last.module), None)
    if found is None:
        return None
    computation, instruction, number, devices = found
    named = cited(
        facts, history, history.last, computation, instruction, role="names a device there is not"
    )
    return _Fault(
        title="A permute goes to a device that there is not",
        what=f"{place(named.culprit)} names device {number}, and the module is compiled for "
        f"{devices}, the last of which is {devices - 1}.",
        named=(named,),
        has=has_absent_partner,
        mend="Mend the pairs of the permutation at the line given, or compile for as many devices "
        "as it names.",
    )


def _finding(facts: Facts, history: ModuleHistory, fault: _Fault) -> Finding:
    first = first_with(history, fault.has)
    return Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="error",
        confidence="likely",
        title=f"{fault.title}: {place(fault.named[0].culprit)}",
        message=f"The compile of {history.name} did not reach its end in this dump. {fault.what} "
        f"{in_words(history, first)}",
        culprits=tuple(named.culprit for named in fault.named),
        evidence=(
            *(named.evidence for named in fault.named if named.evidence is not None),
            dump_evidence(first, "the first text that holds it"),
        ),
        workarounds=tuple(_workarounds(facts, fault, first)),
        unknown=("the words of the failure: send the log of the run together with the dump",),
    )


def _workarounds(facts: Facts, fault: _Fault, first: PassDump) -> Iterator[Workaround]:
    if fault.mend:
        yield Workaround(text=fault.mend)
        return
    flags = facts.environment.flags
    disabled = flags.get("xla_disable_hlo_passes")
    if disabled:
        yield Workaround(
            text=f"Run without --xla_disable_hlo_passes={disabled}: later passes may rely on what "
            "these do."
        )
    for name in knowledge.flags_that_add(first.name.after or ""):
        yield from flag_workarounds(
            f"Leave out {first.name.after}.", f"--{name}=false", facts.environment.jaxlib.releases
        )
    if any("collective-permute" in (n.culprit.instruction or "") for n in fault.named):
        yield from flag_workarounds(
            "Do not pipeline transfers between peers.",
            "--xla_gpu_enable_pipelined_p2p=false",
            facts.environment.jaxlib.releases,
        )
    yield Workaround(text="Try a neighbouring release of jaxlib.")


RULE = Rule(
    code="VER002",
    slug="module-broken",
    title="The newest text of a compile that stopped holds what XLA refuses",
    class_="hlo-verifier",
    since="0.1.0",
    sources=("xla/hlo/ir/hlo_computation.cc", "xla/service/hlo_verifier.cc"),
    check=check,
)
