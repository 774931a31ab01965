"""A failure that no other rule explains: what is known of it, and where to look.

## What it finds
Any failure stated by the log (a check, a status, a verifier's complaint, a signal) for which there
is no rule of its own.

## Why it matters
An unknown failure still has a file, a line, a pass, a newest text and a newest change; together
they are what a bug report needs and often enough to find a way around.

## How we know
The failure is quoted from the log. The pass is weighed from the log's own words, the C++ file, the
frames and the newest text, and says how sure it is. Instructions that the message names are looked
up in the dump. Where it names none, candidates are ranked: what the newest text holds and the text
before does not, first where the pass at hand works on it; then what that pass works on; the largest
values first. The newest changes are those of the last three texts, by opcode. Where Python raised
the exception, its message is the cause as far as the log has it; named are the line of the program
that it came out of and those that called that line.

## What to do
Try the pass switched off (`--xla_disable_hlo_passes=`), a neighbouring release, and send the report
upstream, with the files that it lists. Of an exception of Python, look at the lines named.

## Limits
It does not know the cause of what is no exception of Python. The instructions named are
candidates, never more than possible where the message does not name them. What was renamed counts
as new.

## Sources
xla/service/hlo_pass_pipeline.cc (which passes leave a text), xla/service/dump.cc (file names).
"""

from collections.abc import Iterable, Iterator

from app import knowledge
from app.analysis.failing_module import is_raised_by_python
from app.analysis.flag_refusals import PARSER
from app.analysis.python_frames import died_outside_jax, is_installed, own_frame, place_of
from app.model.dump import CheckFailure, PythonFrame
from app.model.facts import Facts
from app.model.report import Confidence, Failure, Finding, Workaround
from app.rules.candidates import (
    change_evidence,
    changes_in_words,
    files_to_send,
    pass_in_words,
    ranked_candidates,
)
from app.rules.cited import Named
from app.rules.citing import (
    cut_at_word,
    frame_evidence,
    line_culprit,
    log_evidence,
    other_thread_in_words,
    own_line,
    places,
    stack_evidence,
)
from app.rules.frame import Rule
from app.rules.naming import named_instructions
from app.rules.releases import releases_in_words
from app.rules.wanted import module_wanted

_KILLED = "signal::SIGKILL"
_TITLE = 120
_MOST_CALLERS = 2
_OF_PYTHON = (
    "Python raised the exception, not the compiler; its message is what the log says of the cause."
)


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for the log's first cause, if there is one."""
    if not facts.log.failures or facts.failure is None:
        return
    cause, failure = facts.log.failures[0], facts.failure
    named = named_instructions(facts, [cause.text])
    candidates = named or _candidates(facts, failure)
    own = own_line(cause)
    callers = _callers(cause) if is_raised_by_python(cause) else ()
    yield Finding(
        rule=RULE.code,
        class_="unknown",
        severity="error",
        confidence=_confidence(cause, failure, named),
        title=_title(failure),
        message=" ".join(
            (
                *_of_the_stack(cause, callers),
                _OF_PYTHON
                if is_raised_by_python(cause)
                else _message(facts, failure, named, candidates),
            ),
        ),
        culprits=(
            *(c.culprit for c in candidates),
            *((own,) if own is not None else ()),
            *(line_culprit(frame, role="line that called it") for frame in callers),
        ),
        evidence=(
            log_evidence(cause),
            *stack_evidence(cause),
            *(frame_evidence(cause.log, frame) for frame in callers),
            *(c.evidence for c in candidates if c.evidence is not None),
            *(change_evidence(facts.failing) if facts.failing else ()),
        ),
        workarounds=tuple(_workarounds(facts, cause, failure)),
        unknown=tuple(_unknown(facts, cause, named)),
    )


def _callers(cause: CheckFailure) -> tuple[PythonFrame, ...]:
    """The program's own lines that led to the innermost one, nearest first."""
    own = {(frame.file, frame.line): frame for frame in cause.frames if not is_installed(frame)}
    return tuple(own.values())[1 : 1 + _MOST_CALLERS]


def _of_the_stack(cause: CheckFailure, callers: tuple[PythonFrame, ...]) -> Iterator[str]:
    """What the Python stack in the log says of where to look."""
    own = own_frame(cause)
    if told := other_thread_in_words(cause):
        yield told
    if died_outside_jax(cause):
        innermost = cause.frames[0]
        called = (
            f", called from {place_of(own)}" if own is not None and own is not innermost else ""
        )
        yield (
            f"The innermost Python frame is {place_of(innermost)}{called}, not inside JAX: look "
            "there first. A compiled function that is called there leaves no frame of its own."
        )
    elif own is not None and cause.kind == "python":
        led = f", called from {' and '.join(map(place_of, callers))}" if callers else ""
        yield f"The traceback's innermost line of the program's own is {place_of(own)}{led}."
    elif own is not None:
        yield (
            f"The program's own line in the Python stack is {place_of(own)}; devices and compilers "
            "may have met the fault earlier than Python tells of it."
        )


def _candidates(facts: Facts, failure: Failure) -> tuple[Named, ...]:
    """Where to look in a module that did not come to its end; in one that did, nothing tells."""
    history = facts.failing
    if history is None or history.complete:
        return ()
    return ranked_candidates(facts, history, failure.pass_)


def _confidence(cause: CheckFailure, failure: Failure, named: tuple[Named, ...]) -> Confidence:
    if is_raised_by_python(cause) and cause.frames:
        # No more is claimed than what the traceback states.
        return "likely"
    return "likely" if named and failure.confidence in ("certain", "likely") else "possible"


def _title(failure: Failure) -> str:
    sure = failure.pass_ and failure.confidence in ("certain", "likely")
    where = f" in {failure.pass_}" if sure else ""
    what = failure.condition or cut_at_word(failure.text.strip().partition("\n")[0], _TITLE)
    position = f" ({failure.file}:{failure.line})" if failure.file and failure.line else ""
    return f"The run died{where}: {what}{position}"


def _message(
    facts: Facts, failure: Failure, named: tuple[Named, ...], candidates: tuple[Named, ...]
) -> str:
    parts = ["No rule explains this failure; what follows is what the files say of it."]
    if failure.pass_:
        parts.append(f"It happened in {failure.pass_} ({failure.confidence}: {failure.how}).")
        parts.append(pass_in_words(failure.pass_))
    elif failure.how:
        parts.append(f"The pass is not known ({failure.how}).")
    releases = facts.environment.jaxlib.releases
    if releases:
        parts.append(f"The releases that fit are jaxlib {releases_in_words(releases)}.")
    history = facts.failing
    if history is not None:
        parts.append(f"The newest text of {history.id} is {history.last.file}.")
        if not history.complete:
            parts.append(changes_in_words(history))
    told = places(candidate.culprit for candidate in candidates)
    if named:
        parts.append(f"The message names {told}.")
    elif candidates:
        parts.append(f"The message names no instruction; the first to look at are {told}.")
    return " ".join(filter(None, parts))


def _workarounds(facts: Facts, cause: CheckFailure, failure: Failure) -> Iterator[Workaround]:
    if failure.signature == _KILLED:
        yield Workaround(
            text="See what killed it: the kernel's log (dmesg) where memory was short, and the log "
            "of the scheduler."
        )
        return
    if is_raised_by_python(cause):
        yield Workaround(text=_look_at(cause))
        return
    if died_outside_jax(cause):
        yield Workaround(
            text="See what that line calls outside of Python: a library, a signal, an abort."
        )
        return
    name = failure.pass_
    if name is not None:
        span = knowledge.pass_releases(name)
        yield Workaround(
            text=f"See whether the failure goes away without the pass {name}. Some passes cannot "
            "be left out: then another failure follows.",
            flags=(f"--xla_disable_hlo_passes={name}",),
            releases=f"{span.first} to {span.last} know the pass" if span else "",
        )
    yield Workaround(text="Try a neighbouring release of jaxlib.")
    files = "; ".join(files_to_send(facts, facts.failing))
    yield Workaround(text=f"Report it to openxla/xla with this report (--markdown) and: {files}.")


def _look_at(cause: CheckFailure) -> str:
    own = own_frame(cause)
    if own is None:
        return "Read the traceback in the log from its end upwards: the message stands there."
    callers = " and ".join(map(place_of, _callers(cause)))
    hands = f", and at what is handed on at {callers}" if callers else ""
    return f"Look at {place_of(own)}{hands}: the message says what went wrong there."


def _unknown(facts: Facts, cause: CheckFailure, named: tuple[Named, ...]) -> Iterator[str]:
    if is_raised_by_python(cause):
        return
    yield "the cause"
    if cause.kind == "python" or died_outside_jax(cause) or cause.file == PARSER:
        # Not of a compile: no dump would say more.
        return
    if facts.dump is None:
        yield module_wanted(facts)
    elif not named:
        yield "the instruction: the message names none that the dump holds"


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
