"""XLA refused a flag.

## What it finds
The messages with which XLA refuses what it was given in XLA_FLAGS or as an option of one compile: a
flag that its release does not have, a value that is none of the flag's, a file of flags that is not
there.

## Why it matters
Nothing was compiled. Flags come and go with releases, and a flag of a guide may be of another year.

## How we know
The log names the flags. The table of flags by release tells which releases have them, and which
flag a misspelt one is nearest to.

## What to do
Leave the flag out, spell it right, or take its successor.

## Limits
Flags of libtpu are closed and stand in no table. XLA names only the first flags of a long list, and
where it dies of a value, the line before says of which.

## Sources
xla/parse_flags_from_env.cc, xla/debug_options_flags.cc, xla/tsl/util/command_line_flags.cc,
xla/pjrt/pjrt_executable.cc (options of one compile).
"""

from collections.abc import Iterable, Iterator

from app import knowledge
from app.analysis.flag_refusals import PARSER, Refusal, flag_refusals
from app.model.facts import Facts
from app.model.report import Evidence, Finding, Workaround
from app.rules.citing import log_evidence, quote
from app.rules.frame import Rule
from app.rules.releases import flag_in_words

_MOST = 8


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for all flags that the log names."""
    refusals = flag_refusals(facts.log)
    if refusals:
        yield Finding(
            rule=RULE.code,
            class_=RULE.class_,
            severity="error",
            confidence="certain",
            title=_title(refusals),
            message=" ".join([_WHAT[refusals[0].kind], *map(_of_flag, refusals[:_MOST])]),
            evidence=tuple(_evidence(refusals)),
            flags=tuple(f"--{refusal.flag}" for refusal in refusals if refusal.kind != "file"),
            workarounds=tuple(_workarounds(refusals)),
        )
        return
    death = next((f for f in facts.log.failures if f.file == PARSER), None)
    if death is not None:
        yield Finding(
            rule=RULE.code,
            class_=RULE.class_,
            severity="error",
            confidence="likely",
            title="XLA could not read XLA_FLAGS",
            message="The process ended while it read its flags, before anything was compiled. The "
            f"log says: {quote(death.text.partition(chr(10))[0])}",
            evidence=(log_evidence(death),),
            unknown=("which flag it was: the line before would name it",),
        )


_WHAT = {
    "unknown": "A flag that the release does not have ends the process before anything is "
    "compiled.",
    "option": "An option that the release does not have is refused with the compile that it was "
    "given for.",
    "value": "A value that is none of the flag's is refused before anything is compiled.",
    "file": "XLA takes XLA_FLAGS for the name of a file of flags where it does not begin with `-`.",
}


def _title(refusals: tuple[Refusal, ...]) -> str:
    first = refusals[0]
    if first.kind == "file":
        return f"XLA_FLAGS names a file that is not there: {quote(first.flag)[:80]}"
    if first.kind == "value":
        return f"XLA refused the value of --{first.flag}: {quote(first.value)[:80]}"
    listed = " and ".join(f"--{refusal.flag}" for refusal in refusals[:3])
    more = f" and {len(refusals) - 3} more" if len(refusals) > 3 else ""
    return f"XLA does not know {quote(listed)}{more}"


def _of_flag(refusal: Refusal) -> str:
    if refusal.kind == "file":
        return "Flags begin with two dashes."
    if refusal.kind == "value":
        return f"--{refusal.flag} was set to {quote(refusal.value)[:80]!r}."
    return f"{flag_in_words(refusal.flag)}."


def _evidence(refusals: tuple[Refusal, ...]) -> Iterator[Evidence]:
    places = dict.fromkeys((r.log, r.line, r.text) for r in refusals[:_MOST])
    return (Evidence(file=log, line=line, text=quote(text)) for log, line, text in places)


def _workarounds(refusals: tuple[Refusal, ...]) -> Iterator[Workaround]:
    for refusal in refusals[:_MOST]:
        flag = refusal.flag
        near = None if knowledge.flag_releases(flag) else knowledge.nearest_flag(flag)
        if refusal.kind == "file":
            yield Workaround(text="Write each flag as --name=value, or name a file that is there.")
        elif refusal.kind == "value":
            words = ", ".join(knowledge.words_of(flag))
            kind = f"one of its words ({words})" if words else "a value of its type"
            yield Workaround(text=f"Give --{flag} {kind}, or leave it out.")
        elif others := knowledge.other_names(flag):
            yield Workaround(text=f"Write {_named(others)} instead: the same under another name.")
        elif near is not None:
            yield Workaround(text=f"Write --{near} if that was meant, else leave --{flag} out.")
        else:
            where = "XLA_FLAGS" if refusal.kind == "unknown" else "the options of the compile"
            yield Workaround(text=f"Leave --{flag} out of {where}.")


def _named(flags: tuple[str, ...]) -> str:
    return " or ".join(_with_words(flag) for flag in flags)


def _with_words(flag: str) -> str:
    words = knowledge.words_of(flag)
    return f"--{flag}={'|'.join(words)}" if words else f"--{flag}"


RULE = Rule(
    code="FLG001",
    slug="flag-refused",
    title="XLA refused a flag",
    class_="flags",
    since="0.1.0",
    sources=(
        "xla/parse_flags_from_env.cc",
        "xla/debug_options_flags.cc",
        "xla/tsl/util/command_line_flags.cc",
        "xla/pjrt/pjrt_executable.cc",
    ),
    check=check,
)
