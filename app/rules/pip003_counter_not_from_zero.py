"""A loop whose counter does not start at zero was pipelined backwards by a release that cannot.

## What it finds
A while loop whose counter starts at another number than zero just before the backward direction of
the collective pipeliner rewrote it, in a release up to 0.4.35.

## Why it matters
The pass peels an iteration and sets the counter as if the loop had started at zero: the iterations
read the wrong slices. Training diverges, without any message.

## How we know
The loop is followed through the texts; its first value of the counter is read from the last text
before the pass.

## What to do
Move to jaxlib 0.4.36 or newer, or switch the pipelining of all-gathers or that of all-reduces off.

## Limits
Silent where no release is known: the same loops are harmless from 0.4.36 on.

## Sources
openxla/xla#16953, openxla/xla#19363.
"""

from collections.abc import Iterable, Iterator

from app import knowledge
from app.model.dump import ModuleHistory
from app.model.facts import Facts, LoopHistory, TrackedEvent
from app.model.report import Finding, Workaround
from app.rules.citing import instruction_evidence, loop_culprit, place
from app.rules.frame import Rule
from app.rules.releases import flag_workarounds, is_before_fix, releases_in_words

_REF = "openxla/xla#16953"


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for each such loop, where all releases that fit have the fault."""
    if not is_before_fix(facts.environment.jaxlib.releases, _REF):
        return
    for history in facts.modules:
        for tracked in facts.loops.get(history.id, ()):
            for event in tracked.events:
                start = _start_before(tracked, event)
                if start:
                    yield _finding(facts, history, tracked, event, start)


def _start_before(tracked: LoopHistory, event: TrackedEvent) -> int:
    """The first value of the counter in the text before the pass; 0 where nothing is known."""
    before = tracked.occurrences.get(event.dump - 1)
    if event.kind != "pipelined_backward" or before is None or before.induction is None:
        return 0
    return before.induction.init or 0


def _finding(
    facts: Facts, history: ModuleHistory, tracked: LoopHistory, event: TrackedEvent, start: int
) -> Finding:
    dump = history.dumps[event.dump - 1]
    loop = tracked.occurrences[dump.index]
    culprit = loop_culprit(history, dump, tracked, role="loop")
    fitting = releases_in_words(facts.environment.jaxlib.releases)
    return Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="warning",
        confidence="likely",
        title=f"Loop {place(culprit)} counts from {start}, and was pipelined backwards",
        message=(
            f"The counter of {place(culprit)} starts at {start} before {event.pass_name}. In "
            f"jaxlib {fitting} the pass peels an iteration as if it started at 0, so the "
            "iterations read the wrong slices: wrong numbers, no message."
        ),
        culprits=(culprit,),
        evidence=(instruction_evidence(dump, loop.computation, loop.instruction),),
        workarounds=tuple(_workarounds(facts)),
        unknown=("whether the numbers are wrong: no file says so",),
        upstream=knowledge.upstream(_REF, "openxla/xla#19363"),
    )


def _workarounds(facts: Facts) -> Iterator[Workaround]:
    yield Workaround(text="Move to jaxlib 0.4.36 or newer.", releases="0.4.36 and newer")
    for text, flag in (
        ("Do not pipeline all-gathers.", "--xla_gpu_enable_pipelined_all_gather=false"),
        ("Do not pipeline all-reduces.", "--xla_gpu_enable_pipelined_all_reduce=false"),
    ):
        yield from flag_workarounds(text, flag, facts.environment.jaxlib.releases)


RULE = Rule(
    code="PIP003",
    slug="counter-not-from-zero",
    title="A loop that does not count from zero was pipelined backwards",
    class_="collective-pipeliner",
    since="0.1.0",
    sources=("openxla/xla#16953", "openxla/xla#19363"),
    check=check,
)
