"""A failure that no other rule explains: what is known of it, and where to look.

## What it finds
Any failure stated by the log (a check, a status, a verifier's complaint, a signal) for which there
is no rule of its own.

## Why it matters
An unknown failure still has a file, a line, a pass, a newest text and a newest change; together
they are what a bug report needs and often enough to find a way around.

## How we know
The failure is quoted from the log. The pass is weighed from the log's own words, the C++ file and
the newest text, and says how sure it is. Instructions that the message names are looked up in the
newest text; the newest changes are those of the last pass that left a text.

## What to do
Try the pass switched off (`--xla_disable_hlo_passes=`), a neighbouring release, and send the report
upstream.

## Limits
It does not know the cause. The instructions named are candidates, never more than possible.

## Sources
xla/service/hlo_pass_pipeline.cc (which passes leave a text), xla/service/dump.cc (file names).
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from app import knowledge
from app.model.dump import ModuleHistory
from app.model.facts import Facts, LoopHistory
from app.model.report import Confidence, Culprit, Evidence, Failure, Finding, Workaround
from app.rules.citing import (
    dump_evidence,
    instruction_culprit,
    instruction_evidence,
    log_evidence,
    quote,
)
from app.rules.frame import Rule
from app.rules.releases import releases_in_words

_MAX_NAMED = 5


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for the log's first cause, if there is one."""
    if not facts.log.failures or facts.failure is None:
        return
    cause, failure = facts.log.failures[0], facts.failure
    named = tuple(islice(_named_instructions(facts), _MAX_NAMED))
    yield Finding(
        rule=RULE.code,
        class_="unknown",
        severity="error",
        confidence=_confidence(failure, named),
        title=_title(failure),
        message=_message(facts, failure, named),
        culprits=tuple(culprit for culprit, _ in named),
        evidence=(log_evidence(cause), *(e for _, e in named), *_newest(facts.failing)),
        workarounds=tuple(_workarounds(failure)),
        unknown=tuple(_unknown(facts, named)),
    )


def _confidence(failure: Failure, named: tuple[tuple[Culprit, Evidence], ...]) -> Confidence:
    return "likely" if named and failure.confidence in ("certain", "likely") else "possible"


def _title(failure: Failure) -> str:
    where = f" in {failure.pass_}" if failure.pass_ else ""
    what = failure.condition or failure.status or quote(failure.text)[:80]
    place = f" ({failure.file}:{failure.line})" if failure.file and failure.line else ""
    return f"The run died{where}: {what}{place}"


def _message(facts: Facts, failure: Failure, named: tuple[tuple[Culprit, Evidence], ...]) -> str:
    parts = ["No rule explains this failure; what follows is what the files say of it."]
    if failure.pass_:
        parts.append(f"It happened in {failure.pass_} ({failure.confidence}: {failure.how}).")
    elif failure.how:
        parts.append(f"The pass is not known ({failure.how}).")
    releases = facts.environment.jaxlib.releases
    if releases:
        parts.append(f"The releases that fit are jaxlib {releases_in_words(releases)}.")
    if named:
        parts.append("The message names instructions that the newest text holds.")
    if facts.failing is not None:
        last = facts.failing.last
        parts.append(f"The newest text of {facts.failing.id} is {last.file}.")
    return " ".join(parts)


def _named_instructions(facts: Facts) -> Iterator[tuple[Culprit, Evidence]]:
    """Instructions of the newest text that the failure's message names, in the log's order."""
    history = facts.failing
    if history is None:
        return
    dump = history.last
    loops = {
        loop.occurrences[dump.index].body.name: loop
        for loop in facts.loops.get(history.id, ())
        if dump.index in loop.occurrences
    }
    for name in facts.log.names:
        for computation in dump.module.computations:
            instruction = computation.get(name)
            # A message prints an instruction with its operands; inputs are never the fault.
            if instruction is not None and instruction.opcode not in ("parameter", "constant"):
                loop: LoopHistory | None = loops.get(computation.name)
                culprit = instruction_culprit(
                    history,
                    dump,
                    computation,
                    instruction,
                    loop=loop.id if loop else None,
                    role="named by the message",
                )
                yield culprit, instruction_evidence(dump, computation, instruction)


def _newest(history: ModuleHistory | None) -> Iterator[Evidence]:
    if history is None:
        return
    after = history.last.name.after
    yield dump_evidence(
        history.last, f"the newest text: after {after}" if after else "the newest text"
    )


def _workarounds(failure: Failure) -> Iterator[Workaround]:
    name = failure.pass_
    if name is None:
        return
    span = knowledge.pass_releases(name)
    yield Workaround(
        text=f"See whether the failure goes away without the pass {name}. Some passes cannot be "
        "left out: then another failure follows.",
        flags=(f"--xla_disable_hlo_passes={name}",),
        releases=f"{span.first} to {span.last} know the pass" if span else "",
    )


def _unknown(facts: Facts, named: tuple[tuple[Culprit, Evidence], ...]) -> Iterator[str]:
    yield "the cause"
    if facts.dump is None:
        yield "the module: rerun with --xla_dump_to=DIR --xla_dump_hlo_pass_re=.* and add the dump"
    elif not named:
        yield "the instruction: the message names none that the newest text holds"


RULE = Rule(
    code="CHK000",
    slug="unexplained-failure",
    title="A failure without a rule of its own",
    class_="unknown",
    since="0.1.0",
    sources=("xla/service/hlo_pass_pipeline.cc", "xla/service/dump.cc"),
    check=check,
    fallback=True,
)
