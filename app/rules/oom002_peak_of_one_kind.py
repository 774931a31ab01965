"""Much of the memory at the peak is of one kind that can be made smaller.

## What it finds
Programs whose peak is taken to one half by arrays that a loop fills or reads slice by slice (what a
scan keeps for its gradient), to a quarter by results of collectives or by copies and transposes, or
to a tenth by donated inputs that no output takes the place of.

## Why it matters
These are the bytes that a change of a line frees; a program that is near the memory of its device
fails when the next size of batch comes.

## How we know
From the buffer assignment and the live ranges of the final text: which buffers live at the peak,
what defines them, and what is done to them. What a loop stacks is told as the element of its tuple
with the instruction that writes or reads the slices; that it is kept for the gradient stands in
JAX's names. Donations stand in the header of the final text: as `buffer_donor` while no output was
found for them, else as `input_output_alias`.

## What to do
Kept for the gradient: jax.checkpoint around the body, with a policy that keeps less. Given back by
each iteration: give back less, or fold it into the carry. Read slice by slice: shard it. Gathered:
keep the value sharded, or gather it later or in parts. Copies: give the value the layout or the
type it is used with. Donated: let an output have the shape, type and sharding of the input, or do
not donate it.

## Limits
A large part of a small peak is no fault. Whether the device has the memory is told where the dump
describes the device, or where the log says that this compile needs more than there is. Buffers that
share bytes count for the first of them.

## Sources
xla/service/buffer_assignment.cc, xla/service/heap_simulator/heap_simulator.cc; jax-ml/jax#27748,
EnzymeAD/Enzyme-JAX#1363.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from app import knowledge
from app.analysis.peak_causes import Cause, PeakCause, find_peak_causes
from app.model.dump import ModuleHistory, PassDump
from app.model.facts import Facts, MemoryProfile
from app.model.memory import LiveBuffer
from app.model.report import Finding, Workaround
from app.rules.amounts import bytes_in_words, part_in_words
from app.rules.cited import Named, cited
from app.rules.citing import dump_evidence, place
from app.rules.device_memory import room_for
from app.rules.frame import Rule
from app.rules.memory_suspects import cited_buffer
from app.rules.stacked_arrays import Stacked, advice, name_stacked, shares_in_words, stacked_of

_LEAST_PEAK = 64 << 20
_SERIOUS_PEAK = 16 << 30
_PART: dict[Cause, float] = {"stacked": 0.5, "collective": 0.25, "copy": 0.25, "donated": 0.1}
_MOST = 3
_IS: dict[Cause, str] = {
    "stacked": "arrays that a loop fills or reads slice by slice",
    "collective": "results of collectives",
    "copy": "copies and transposes",
    "donated": "donated inputs that no output takes the place of",
}
_TRY: dict[Cause, tuple[str, ...]] = {
    "stacked": (),
    "collective": (
        "Keep the value sharded (jax.lax.with_sharding_constraint), or gather it in parts, where "
        "it is used.",
    ),
    "copy": ("Make the value in the order and the type in which it is used.",),
    "donated": (
        "Let an output have the shape, the type and the sharding of the donated input, or do not "
        "donate it (donate_argnums).",
    ),
}


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for each module of the user with such a peak, about its largest kind."""
    for history in facts.modules:
        profiles = facts.memory.get(history.id, ()) if history.role == "user" else ()
        for profile in profiles[:1]:
            causes = find_peak_causes(history, profile, least=min(_PART.values()))
            large = [c for c in causes if c.bytes >= _PART[c.cause] * c.peak]
            if large and large[0].peak >= _LEAST_PEAK:
                yield _finding(facts, history, profile, large[0])


def _finding(
    facts: Facts, history: ModuleHistory, profile: MemoryProfile, cause: PeakCause
) -> Finding:
    dump = history.dumps[profile.memory.dump]
    stacked = stacked_of(facts, history, dump, cause.buffers) if cause.cause == "stacked" else ()
    named = tuple(islice(_named(facts, history, dump, cause, stacked), _MOST))
    share = part_in_words(cause.bytes, cause.peak)
    of = f"{bytes_in_words(cause.bytes)} of the {bytes_in_words(cause.peak)} at the peak"
    listed = ", ".join(place(one.culprit) for one in named)
    room = room_for(facts, history, cause.peak)
    return Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="warning" if cause.peak >= _SERIOUS_PEAK else "note",
        confidence="certain",
        title=f"{share} of the memory at the peak: {_IS[cause.cause]}"
        + (f", such as {place(named[0].culprit)}" if named else ""),
        message=f"{of} are {_IS[cause.cause]}."
        + (f" Among the largest buffers: {shares_in_words(stacked)}." if stacked else "")
        + (f" The largest: {listed}." if listed else "")
        + (f" {room.words}" if room.words else ""),
        culprits=tuple(one.culprit for one in named),
        evidence=(
            *(one.evidence for one in named if one.evidence is not None),
            dump_evidence(dump, f"{cause.bytes:,} of {cause.peak:,} bytes at the peak"),
            *room.evidence,
        ),
        workarounds=tuple(Workaround(text=text) for text in (*_TRY[cause.cause], *advice(stacked))),
        unknown=room.unknown,
        upstream=knowledge.upstream("jax-ml/jax#27748", "EnzymeAD/Enzyme-JAX#1363"),
    )


def _named(
    facts: Facts,
    history: ModuleHistory,
    dump: PassDump,
    cause: PeakCause,
    stacked: tuple[Stacked, ...],
) -> Iterator[Named]:
    for parameter in cause.parameters:
        yield cited(facts, history, dump, dump.module.entry, parameter, role="donated, unused")
    seen: set[tuple[str | None, str | None]] = set()
    for named in (
        *(name_stacked(facts, history, dump, one) for one in stacked),
        *(
            cited_buffer(facts, history, dump, one, role=_held(one))
            for one in cause.buffers
            if not stacked
        ),
    ):
        if named is not None:
            key = named.culprit.computation, named.culprit.instruction
            if key not in seen:
                seen.add(key)
                yield named


def _held(buffer: LiveBuffer) -> str:
    return f"holds {bytes_in_words(buffer.bytes)} at the peak"


RULE = Rule(
    code="OOM002",
    slug="peak-of-one-kind",
    title="Much of the memory at the peak is of one kind",
    class_="oom-buffers",
    since="0.1.0",
    sources=(
        "xla/service/buffer_assignment.cc",
        "xla/service/heap_simulator/heap_simulator.cc",
        "jax-ml/jax#27748",
    ),
    check=check,
)
