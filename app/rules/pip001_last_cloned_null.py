"""The collective pipeliner clones an all-gather that it has cloned already.

## What it finds
Compilation that dies with `Check failed: last_cloned != nullptr` in `collective_pipeliner.cc`, and
the loop, the all-gathers and the lines of the program behind it.

## Why it matters
The message names no instruction, no loop and no line, and the all-gather on which the check fails
stands in no dump: the pass had just made it.

## How we know
The backward direction of the pass moves all-gathers of a loop to the end of the iteration before.
It starts with inner loops and puts clones of their all-gathers in front of the inner loop, into
the body of the outer one. There they are candidates themselves. An older candidate of the outer
loop (the container) whose operands run through the inner loop takes those fresh clones along when
it is moved; when their own turn comes nothing is left to clone, and the check fails. The rule reads
loops, invariant elements and operand chains from the newest text and looks for that structure. The
structure also stands in healthy programs, so only the log's line makes it a finding.

## What to do
Switch the pipelining of all-gathers off, or the backward direction of the pass; unroll the outer
loop; or move to a release that has the fix.

## Limits
XLA's own order of instructions is not printed. Where several all-gathers could be the container
they are all named. With only the text before optimizations there are no all-gathers to read: the
rule then names the nested loops, as a possibility. With only a log it names no culprit.

## Sources
xla/service/collective_pipeliner.cc (CollectIndependentOperandChain, TransformLoopBackward,
CloneBackwardChain) in jaxlib 0.4.30; openxla/xla#14332; jax-ml/jax#22210.
"""

from collections.abc import Iterable, Iterator, Sequence

from app import knowledge
from app.model.dump import CheckFailure
from app.model.facts import Facts
from app.model.report import Culprit, Finding, RuledOut, Workaround
from app.rules.citing import dump_evidence, log_evidence, place
from app.rules.frame import Rule
from app.rules.pipeliner_story import read_story
from app.rules.releases import flag_workarounds, is_set_so

_FILE = "collective_pipeliner.cc"
_CONDITION = "last_cloned != nullptr"
_DOUBLE_BUFFERING = "loop-double-buffer-transformer"


def check(facts: Facts) -> Iterable[Finding]:
    """One finding where the log's first cause is this check, else none."""
    cause = facts.log.failures[0] if facts.log.failures else None
    if cause is None or cause.file != _FILE or cause.condition != _CONDITION:
        return
    releases = _releases(facts, cause)
    story = read_story(facts)
    outer = story.outer
    yield Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="error",
        confidence=story.confidence,
        title=_title(outer),
        message=story.message,
        culprits=story.culprits,
        evidence=(log_evidence(cause), *story.evidence),
        flags=_flags_involved(facts),
        workarounds=tuple(
            each
            for each in _workarounds(outer, releases)
            if not is_set_so(facts.environment.flags, each)
        ),
        ruled_out=(*_double_buffering(facts), *story.ruled_out),
        unknown=story.unknown,
        upstream=knowledge.upstream("openxla/xla#14332", "jax-ml/jax#22210"),
    )


def _title(loop: Culprit | None) -> str:
    where = f" of loop {place(loop)}" if loop else ""
    return f"Pipelining the all-gathers{where} made the compiler clone one of them twice"


def _releases(facts: Facts, cause: CheckFailure) -> tuple[str, ...]:
    """Releases that fit: those of the environment, else those of the check's file and line."""
    return facts.environment.jaxlib.releases or knowledge.releases_of_check(
        _FILE, _CONDITION, cause.line
    )


def _flags_involved(facts: Facts) -> tuple[str, ...]:
    written = knowledge.flag_as_set(facts.environment.flags, "xla_gpu_enable_pipelined_all_gather")
    return (written,) if written is not None else ()


def _workarounds(loop: Culprit | None, releases: Sequence[str]) -> Iterator[Workaround]:
    yield from (
        *flag_workarounds(
            "Do not pipeline all-gathers.", "--xla_gpu_enable_pipelined_all_gather=false", releases
        ),
        *flag_workarounds(
            "Leave out the backward direction of the pass; the forward one stays on.",
            "--xla_disable_hlo_passes=collective-pipeliner-backward",
            releases,
        ),
        *flag_workarounds(
            "Keep pipelining, but treat collectives as costly by an estimate of their time.",
            "--xla_gpu_enable_approx_costly_collectives=true",
            releases,
        ),
    )
    where = f" at {place(loop)}" if loop else ""
    yield Workaround(
        text=f"Unroll the outer loop{where} (fori_loop(..., unroll=True)); it costs memory and "
        "compile time.",
    )
    yield Workaround(
        text="Move to jaxlib 0.4.33 or newer. 0.4.31 compiles, but may leave the work of the "
        "inner loops doubled.",
        releases="0.4.33 and newer",
    )


def _double_buffering(facts: Facts) -> Iterator[RuledOut]:
    """Double buffering runs after the pipeliner; the dump shows that it had not run."""
    history = facts.failing
    why = (
        f"{_DOUBLE_BUFFERING} runs in a later pipeline than the collective pipeliner, so it had "
        "not touched any loop when the compiler died."
    )
    if history is None or not any(dump.name.after for dump in history.dumps):
        yield RuledOut(hypothesis=_SUSPICION, why=why, flags=(_WITHOUT_IT,))
        return
    ran = [d for d in history.dumps if d.name.after == _DOUBLE_BUFFERING]
    if ran:
        return
    setting = facts.environment.flags.get("xla_gpu_enable_while_loop_double_buffering")
    if setting == "false":
        why += " It was switched off in this run, too."
    yield RuledOut(
        hypothesis=_SUSPICION,
        why=why,
        flags=(_WITHOUT_IT,),
        evidence=(
            dump_evidence(
                history.last,
                f"the newest of {len(history.dumps)} texts; none is from after {_DOUBLE_BUFFERING}",
            ),
        ),
    )


_WITHOUT_IT = "--xla_gpu_enable_while_loop_double_buffering=false"
_SUSPICION = "Double buffering of a while loop causes the crash"


RULE = Rule(
    code="PIP001",
    slug="last-cloned-null",
    title="The collective pipeliner clones an all-gather twice",
    class_="collective-pipeliner",
    since="0.1.0",
    sources=(
        "xla/service/collective_pipeliner.cc",
        "openxla/xla#14332",
        "jax-ml/jax#22210",
    ),
    check=check,
)
