"""How a class of failures that the log names becomes a finding.

Each rule of such a class brings its stories: what a sign of the class means, what to try, what is
known upstream. Here the class is looked up, the instructions that the messages name are found in
the dump, and the finding says no more than the files do: `likely` where the message states the
class and names an instruction, else `possible`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app import knowledge
from app.analysis.class_suspects import left_over
from app.analysis.printed import without_print
from app.analysis.python_frames import own_of
from app.analysis.topics import TOPIC
from app.model.facts import Diagnosis, Facts
from app.model.report import Confidence, Culprit, Evidence, Finding, Severity, Workaround
from app.rules.candidates import ranked_candidates
from app.rules.cited import Named, suspects
from app.rules.citing import (
    dump_evidence,
    log_evidence,
    other_thread_in_words,
    own_line,
    place,
    places,
    quote,
    stack_evidence,
)
from app.rules.frame import Rule
from app.rules.naming import named_instructions
from app.rules.releases import flag_workarounds, releases_in_words
from app.rules.suspected_lines import on_suspected_line
from app.rules.wanted import module_wanted

_DISABLED = "xla_disable_hlo_passes"
_MOST_LINES = 4
_MOST_WORDS = 240


@dataclass(frozen=True, slots=True)
class Try:
    """Something to try.

    `flag` (`--xla_x=value`) is offered only where it is known and not set so already; with
    `takes_back`, only where the run may have set it to something else. `where` says whether it can
    be of any use, as far as log and dump tell.
    """

    text: str
    flag: str = ""
    takes_back: bool = False
    where: Callable[[Facts], bool] | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """What one sign of a class means.

    `what` completes "the log says"; `flags` are names of flags that take part; `refs` public
    threads; `unknown` what would confirm or refute it, and `opens` as much of it as depends on what
    log and dump state. `names` finds what the messages name where it is no instruction's name;
    `suspects` finds instructions where they name none, which are never more than possible. `adds`
    says more of those found, in sentences. `severity` is that of a complaint: a failure is an
    error. `is_stated`: the title says what the message of a failure states, and no more; it is
    certain then, and suspects stand in it by their roles. `trusts_the_line`: its suspects are
    weaker than a line of the program that XLA suspects.
    """

    title: str
    what: str
    tries: tuple[Try, ...] = ()
    refs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    opens: Callable[[Facts, Diagnosis], tuple[str, ...]] | None = None
    names: Callable[[Facts, Sequence[str]], tuple[Named, ...]] | None = None
    suspects: Callable[[Facts, Diagnosis], tuple[Named, ...]] | None = None
    adds: Callable[[Facts, tuple[Named, ...]], tuple[str, ...]] | None = None
    severity: Severity = "warning"
    is_stated: bool = False
    trusts_the_line: bool = False


def diagnosis_of(facts: Facts, class_: str) -> Diagnosis | None:
    """What the log says of a class, None where it says nothing of it."""
    return next((d for d in facts.diagnoses if d.class_ == class_), None)


def class_rule(
    *,
    code: str,
    slug: str,
    title: str,
    class_: str,
    sources: tuple[str, ...],
    stories: Mapping[str, Story],
) -> Rule:
    """The rule that tells one of the `stories` where the log speaks of the class."""
    return Rule(
        code=code,
        slug=slug,
        title=title,
        class_=class_,
        since="0.1.0",
        sources=sources,
        check=lambda facts: tell(facts, code, class_, stories),
    )


def tell(facts: Facts, code: str, class_: str, stories: Mapping[str, Story]) -> Iterable[Finding]:
    """The finding of a class rule, if the log speaks of its class.

    `stories` maps signs of the class to what they mean; the one under "" serves all others.
    """
    diagnosis = diagnosis_of(facts, class_)
    if diagnosis is None:
        return
    is_guess = diagnosis.sign == TOPIC and diagnosis.failure is not None
    story = _about(diagnosis) if is_guess else stories.get(diagnosis.sign) or stories[""]
    texts = [diagnosis.text, *(line.text for line in diagnosis.lines)]
    named = (story.names or named_instructions)(facts, texts)
    culprits = named or _suspects(facts, diagnosis, story, texts)
    yield Finding(
        rule=code,
        class_=class_,
        severity=_severity(diagnosis, story),
        confidence=_confidence(diagnosis, story, named),
        title=_title(story, culprits, is_named=bool(named)),
        message=_message(facts, diagnosis, story, culprits, is_named=bool(named)),
        culprits=(*(found.culprit for found in culprits), *_own_lines(diagnosis)),
        evidence=(*_lines(diagnosis), *_places(culprits), *_newest(facts, diagnosis)),
        flags=_flags(facts, story),
        workarounds=tuple(_workarounds(facts, diagnosis, story)),
        unknown=tuple(_unknown(facts, diagnosis, story, is_named=bool(named))),
        upstream=knowledge.upstream(*story.refs),
    )


def _suspects(
    facts: Facts, diagnosis: Diagnosis, story: Story, texts: Sequence[str]
) -> tuple[Named, ...]:
    """What to look at where the message names nothing: those on the line that XLA suspects first.

    XLA's line is often that of a caller, so that it comes behind what the story looks for, unless
    the story `trusts_the_line` more.
    """
    listed = story.suspects(facts, diagnosis) if story.suspects else ()
    there = on_suspected_line(facts, texts)
    if not listed or not there:
        return listed or there
    place = there[0].culprit.source
    on_it = [one for one in listed if one.culprit.source == place]
    if not on_it and story.trusts_the_line:
        return there
    return (*on_it, *(one for one in listed if one not in on_it))


def _about(diagnosis: Diagnosis) -> Story:
    """What is told of a message that no row knows, but for what it is about."""
    return Story(
        title=f"The run died of an error about {diagnosis.tells}",
        what="No rule knows this message; its class is a guess from what it is about.",
        tries=(
            Try("Read the message for what it wants; try a neighbouring release of jaxlib."),
            Try("Report it to openxla/xla with this report (--markdown)."),
        ),
        unknown=("the cause",),
        suspects=_unfinished_work,
    )


def _unfinished_work(facts: Facts, _: Diagnosis) -> tuple[Named, ...]:
    """Where to look in a module that did not come to its end, or whose code could not be made."""
    history, failure = facts.failing, facts.failure
    if history is None or failure is None:
        return ()
    if history.complete:
        is_of_gpu = "_gpu_" in history.last.file
        role = "an operation that passes for GPUs replace, and did not"
        return suspects(facts, left_over, role=role) if is_of_gpu else ()
    return ranked_candidates(facts, history, failure.pass_ or history.last.name.before)


def _severity(diagnosis: Diagnosis, story: Story) -> Severity:
    if diagnosis.failure is not None:
        return "error"
    return story.severity if diagnosis.strength == "stated" else "note"


def _confidence(diagnosis: Diagnosis, story: Story, named: tuple[Named, ...]) -> Confidence:
    if story.is_stated and diagnosis.failure is not None and diagnosis.strength == "stated":
        return "certain"
    return "likely" if named and diagnosis.strength != "guessed" else "possible"


def _title(story: Story, culprits: tuple[Named, ...], *, is_named: bool) -> str:
    if not culprits:
        return story.title
    # A reader can go to a line of the program, and not to an instruction without one.
    with_lines = [found.culprit for found in culprits if found.culprit.source is not None]
    first = culprits[0].culprit if is_named or not with_lines else with_lines[0]
    role = f"; {first.role}" if story.is_stated and not is_named else ""
    return f"{story.title}{role}: {place(first)}"


def _message(
    facts: Facts,
    diagnosis: Diagnosis,
    story: Story,
    culprits: tuple[Named, ...],
    *,
    is_named: bool,
) -> str:
    parts = [story.what, f"The log says: {_words_of(diagnosis)}"]
    if diagnosis.strength != "stated" and diagnosis.sign != TOPIC:
        parts.append(f"What speaks for it: {diagnosis.tells}.")
    failure = facts.failure
    if diagnosis.failure is not None and failure is not None:
        if failure.pass_:
            parts.append(f"It happened in {failure.pass_} ({failure.confidence}: {failure.how}).")
        elif failure.how:
            parts.append(f"No pass is named: {failure.how}.")
        if facts.environment.jaxlib.releases:
            fitting = releases_in_words(facts.environment.jaxlib.releases)
            parts.append(f"The releases that fit are jaxlib {fitting}.")
    if diagnosis.failure is not None and (told := other_thread_in_words(diagnosis.failure)):
        parts.append(told)
    parts += _culprits_in_words(culprits, is_named=is_named)
    if story.adds is not None:
        parts += story.adds(facts, culprits)
    if disabled := _disabled_passes(facts, diagnosis):
        parts.append(
            f"The run switched passes off ({disabled}); later ones may rely on what they do."
        )
    return " ".join(parts)


def _culprits_in_words(culprits: tuple[Named, ...], *, is_named: bool) -> Iterator[str]:
    if not culprits:
        return
    how = "The message names" if is_named else "The message names no instruction; suspects are"
    yield f"{how} {places(found.culprit for found in culprits if not found.is_origin)}."
    if origins := [found.culprit for found in culprits if found.is_origin]:
        yield f"No text of the dump holds it; it may have been made of {places(origins)}."


def _words_of(diagnosis: Diagnosis) -> str:
    """The first line of the message, without the instruction printed in it."""
    words = quote(without_print(diagnosis.text.strip().partition("\n")[0]))
    if words.count("(") == words.count(")") + 1:
        # The print that was left out ended within brackets.
        words += " …)"
    cut = words if len(words) <= _MOST_WORDS else words[: _MOST_WORDS - 1] + "…"
    return cut if cut.endswith((".", "…", "!", "?")) else f"{cut}."


def _own_lines(diagnosis: Diagnosis) -> Iterator[Culprit]:
    failure = diagnosis.failure
    if failure is None:
        return
    frame = own_of(failure.frames or failure.meanwhile)
    if frame is None or (diagnosis.sign != TOPIC and frame.log_line <= failure.line_number):
        # Only a traceback within the message, such as a callback's, tells where the fault is.
        return
    if own := own_line(failure):
        yield own


def _lines(diagnosis: Diagnosis) -> Iterator[Evidence]:
    if diagnosis.failure is not None:
        yield log_evidence(diagnosis.failure)
        yield from stack_evidence(diagnosis.failure)
    for line in diagnosis.lines[:_MOST_LINES]:
        yield Evidence(file=line.log, line=line.line_number, text=quote(line.text))


def _places(culprits: tuple[Named, ...]) -> Iterator[Evidence]:
    return (found.evidence for found in culprits if found.evidence is not None)


def _newest(facts: Facts, diagnosis: Diagnosis) -> Iterator[Evidence]:
    if facts.failing is not None and diagnosis.failure is not None:
        after = facts.failing.last.name.after
        words = f"the newest text: after {after}" if after else "the newest text"
        yield dump_evidence(facts.failing.last, words)


def _flags(facts: Facts, story: Story) -> tuple[str, ...]:
    known = facts.environment.flags
    names = (*story.flags, _DISABLED)
    written = (
        knowledge.flag_as_set(known, name) for name in names if knowledge.setting(known, name)
    )
    return tuple(filter(None, written))


def _disabled_passes(facts: Facts, diagnosis: Diagnosis) -> str:
    is_compile = diagnosis.failure is not None and diagnosis.failure.kind != "rendezvous"
    return facts.environment.flags.get(_DISABLED, "") if is_compile else ""


def _workarounds(facts: Facts, diagnosis: Diagnosis, story: Story) -> Iterator[Workaround]:
    if disabled := _disabled_passes(facts, diagnosis):
        yield Workaround(
            text=f"Run without --{_DISABLED}={disabled}: see whether the failure goes away."
        )
    releases = facts.environment.jaxlib.releases
    for item in story.tries:
        if item.where is not None and not item.where(facts):
            continue
        if not item.flag:
            yield Workaround(text=item.text)
            continue
        if not _is_of_use(facts, item):
            continue
        yield from flag_workarounds(item.text, item.flag, releases)


def _is_of_use(facts: Facts, item: Try) -> bool:
    name, _, value = item.flag.lstrip("-").partition("=")
    known = facts.environment.flags
    setting = knowledge.setting(known, name)
    if setting is None:
        return not (item.takes_back and facts.environment.flags_from)
    return setting != value


def _unknown(facts: Facts, diagnosis: Diagnosis, story: Story, *, is_named: bool) -> Iterator[str]:
    yield from story.unknown
    if story.opens is not None:
        yield from story.opens(facts, diagnosis)
    if facts.dump is None:
        yield module_wanted(facts)
    elif not is_named:
        yield "the instruction: the message names none that the dump holds"
    if diagnosis.strength != "stated":
        about = f"the message is about {diagnosis.tells}"
        tells = about if diagnosis.sign == TOPIC else diagnosis.tells
        yield f"the class of the failure: nothing states it ({tells})"
