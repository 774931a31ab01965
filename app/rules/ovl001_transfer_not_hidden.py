"""A collective that could hide behind computation does not.

## What it finds
In a finished, scheduled program for GPUs or TPUs: collectives that are synchronous, or whose window
between start and done holds no computation, while matrix products that neither need their result
nor are needed by them stand in the same computation, or while an all-gather of a loop could be
sent an iteration ahead.

## Why it matters
The devices wait for the links although they have something to do. In a loop they do so in each
iteration.

## How we know
From the schedule of the final text: what lies between start and done, and what depends on what.
That nothing hides the collective is certain; that something could is likely. Times are estimates
from the peaks of the device and its links; a product counts once for each collective it could
hide, though it can hide but one at a time, so sums are upper bounds.

## What to do
Switch the latency-hiding scheduler on; let all-gathers and reduce-scatters of loops be pipelined;
double the bodies of loops; or write the program so that the product comes between.

## Limits
Silent where all of them together could save less than a tenth of a millisecond. One that sends so
little that more than nine tenths of its time is starting it is left out: a few bytes cost the same
wherever they stand, and of starting there is but a guess. So is one that could save less than a
hundredth of what all could. The scheduler also
weighs memory, and a product may already hide another collective. A device that the dump does not
name is taken for a common one of its kind, and then it is a note whatever the time. Programs for
CPUs are left alone.

## Sources
xla/service/latency_hiding_scheduler.cc, xla/service/gpu/gpu_hlo_schedule.cc (which starts are
marked synchronous), xla/service/collective_pipeliner.cc; openxla/xla#9065.
"""

from collections.abc import Iterable, Iterator, Sequence

from app import knowledge
from app.analysis.cost_model import Device, device_of
from app.analysis.lost_overlap import LostOverlap, find_lost_overlap
from app.model.dump import ModuleHistory
from app.model.facts import Facts
from app.model.report import Evidence, Finding, Workaround
from app.rules.amounts import bytes_in_words, time_in_words
from app.rules.cited import cited
from app.rules.citing import instruction_evidence, place
from app.rules.frame import Rule
from app.rules.releases import flag_workarounds

_SCHEDULER = "xla_gpu_enable_latency_hiding_scheduler"
_DOUBLING = "xla_gpu_enable_while_loop_double_buffering"
_PIPELINING = {
    "all-gather": "xla_gpu_enable_pipelined_all_gather",
    "reduce-scatter": "xla_gpu_enable_pipelined_reduce_scatter",
    "all-reduce": "xla_gpu_enable_pipelined_all_reduce",
}
_MOST = 3
# What all of them could save; below it nobody would change a program.
_LEAST_SECONDS = 1e-4
# Of its start-up time: what sends for less is next to nothing but starting.
_SENDING_PART = 0.1
# Of what all could save.
_LEAST_PART = 0.01
# Below this time, or this part of the products' own time, it is a note.
_SERIOUS_SECONDS = 1e-3
_SERIOUS_PART = 0.1


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for each finished module of the user with such collectives."""
    for history in facts.modules:
        if history.role == "user" and history.complete:
            lost = find_lost_overlap(
                history,
                facts.collectives.get(history.id, ()),
                facts.loops.get(history.id, ()),
                facts.environment.backend,
            )
            lost = _worth_telling(lost, device_of(history, facts.environment.backend))
            if sum(o.seconds for o in lost) >= _LEAST_SECONDS:
                yield _finding(facts, history, lost)


def _worth_telling(lost: Sequence[LostOverlap], device: Device | None) -> list[LostOverlap]:
    """Those that cost something, in the order given."""
    sending = [
        o
        for o in lost
        if device is not None
        and o.collective.bytes / device.link_bandwidth >= _SENDING_PART * device.collective_launch
    ]
    least = _LEAST_PART * sum(o.seconds for o in sending)
    return [o for o in sending if o.seconds >= least]


def _finding(facts: Facts, history: ModuleHistory, lost: Sequence[LostOverlap]) -> Finding:
    shown = lost[:_MOST]
    named = [
        (
            cited(facts, history, history.last, o.computation, o.instruction, role="not hidden"),
            cited(facts, history, history.last, o.computation, o.work[0], role="could hide it"),
        )
        for o in shown
    ]
    seconds = sum(o.seconds for o in lost)
    first = place(named[0][0].culprit)
    others = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
    said = " ".join(
        _said(o, place(c.culprit), place(w.culprit)) for o, (c, w) in zip(shown, named, strict=True)
    )
    return Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="warning" if _is_serious(facts, history, lost[0].seconds) else "note",
        confidence="likely",
        title=f"Nothing hides {first}{others}, though computation could",
        message=(
            f"{said} At most {time_in_words(seconds)} of one execution could be hidden"
            f"{' for all of them together' if others else ''} (an estimate)."
        ),
        culprits=tuple(found.culprit for pair in named for found in pair),
        evidence=tuple(_evidence(history, shown)),
        flags=_flags(facts),
        workarounds=tuple(_workarounds(facts, lost)),
        unknown=tuple(_unknown(facts, history, lost)),
        upstream=knowledge.upstream("openxla/xla#9065"),
    )


def _said(lost: LostOverlap, collective: str, work: str) -> str:
    if lost.collective.printed:
        collective += f", a {lost.collective.opcode} (inferred from its fusion),"
    how = "is synchronous" if lost.manner == "synchronous" else "has no computation in its window"
    size = bytes_in_words(lost.collective.bytes)
    times = f" {lost.times} times" if lost.times and lost.times > 1 else ""
    if lost.chance == "iteration ahead":
        chance = f"its operands are known an iteration ahead, when {work} could hide it"
    else:
        chance = f"{work} neither needs its result nor makes its input"
    return f"{collective} sends {size}{times} and {how}; {chance}."


def _is_serious(facts: Facts, history: ModuleHistory, seconds: float) -> bool:
    """Of the costliest collective alone: a sum may count the same product several times."""
    device = device_of(history, facts.environment.backend)
    work = facts.work.get(history.id, ())
    if device is None or device.is_assumed or not work or seconds < _SERIOUS_SECONDS:
        return False
    return seconds >= _SERIOUS_PART * device.compute_seconds(work[-1].flops, 0)


def _evidence(history: ModuleHistory, lost: Sequence[LostOverlap]) -> Iterator[Evidence]:
    for overlap in lost:
        for instruction in (overlap.instruction, overlap.work[0]):
            yield instruction_evidence(history.last, overlap.computation, instruction)


def _flags(facts: Facts) -> tuple[str, ...]:
    known = facts.environment.flags
    names = (_SCHEDULER, *_PIPELINING.values(), _DOUBLING)
    return tuple(filter(None, (knowledge.flag_as_set(known, name) for name in names)))


def _workarounds(facts: Facts, lost: Sequence[LostOverlap]) -> Iterator[Workaround]:
    flags, releases = facts.environment.flags, facts.environment.jaxlib.releases
    wanted: list[tuple[str, str]] = []
    if facts.environment.backend == "GPU":
        wanted.append(("Let the scheduler hide transfers.", _SCHEDULER))
        in_loops = {o.collective.opcode for o in lost if o.collective.loop is not None}
        wanted += [
            (f"Send what a loop needs next ahead of its iteration ({opcode}).", flag)
            for opcode, flag in _PIPELINING.items()
            if opcode in in_loops
        ]
        if in_loops:
            wanted.append(("Let each iteration overlap with the next.", _DOUBLING))
    for text, name in wanted:
        if knowledge.setting(flags, name) != "true":
            yield from flag_workarounds(text, f"--{name}=true", releases)
    yield Workaround(
        text="Write the independent product between the collective and the first use of its "
        "result, or start the collective of the next step before this one's products."
    )


def _unknown(facts: Facts, history: ModuleHistory, lost: Sequence[LostOverlap]) -> Iterator[str]:
    yield "the true times: a profile tells them"
    if facts.environment.flags.get(_SCHEDULER) is None and facts.environment.backend == "GPU":
        yield f"whether the latency-hiding scheduler was on: nothing tells --{_SCHEDULER}"
    device = device_of(history, facts.environment.backend)
    if device is not None and device.is_assumed:
        yield f"the device: the estimate takes it for a {device.name}"
    if any(o.times is None for o in lost):
        yield "how often some of the loops run: they count once"


RULE = Rule(
    code="OVL001",
    slug="transfer-not-hidden",
    title="A collective that could hide behind computation does not",
    class_="lost-overlap",
    since="0.1.0",
    sources=(
        "xla/service/latency_hiding_scheduler.cc",
        "xla/service/gpu/gpu_hlo_schedule.cc",
        "xla/service/collective_pipeliner.cc",
        "openxla/xla#9065",
    ),
    check=check,
)
