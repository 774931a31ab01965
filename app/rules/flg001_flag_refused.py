"""XLA refused a flag, and the process ended.

## What it finds
`Unknown flags in XLA_FLAGS`: the message with which XLA ends a process that was given a flag that
its release does not have.

## Why it matters
Nothing was compiled. Flags come and go with releases, and a flag of a guide may be of another year.

## How we know
The log names the flags. The table of flags by release tells which releases have them, and which
flag a misspelt one is nearest to.

## What to do
Leave the flag out, spell it right, or take its successor.

## Limits
Flags of libtpu are closed and stand in no table. XLA names only the first flags of a long list.

## Sources
xla/parse_flags_from_env.cc, xla/debug_options_flags.cc.
"""

from collections.abc import Iterable, Iterator

from app import knowledge
from app.analysis.release_evidence import unknown_flags
from app.model.facts import Facts
from app.model.report import Finding, Workaround
from app.rules.citing import log_evidence, quote
from app.rules.frame import Rule
from app.rules.releases import flag_in_words


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for all flags that the log names."""
    flags = unknown_flags(facts.log)
    if not flags:
        return
    cause = next(f for f in facts.log.failures if any(flag in f.text for flag in flags))
    listed = " and ".join(f"--{flag}" for flag in flags[:3])
    more = f" and {len(flags) - 3} more" if len(flags) > 3 else ""
    yield Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="error",
        confidence="certain",
        title=f"XLA does not know {quote(listed)}{more}",
        message=(
            "A flag that the release does not have ends the process before anything is compiled. "
            + " ".join(f"{flag_in_words(flag)}." for flag in flags[:8])
        ),
        evidence=(log_evidence(cause),),
        flags=tuple(f"--{flag}" for flag in flags),
        workarounds=tuple(_workarounds(flags)),
    )


def _workarounds(flags: tuple[str, ...]) -> Iterator[Workaround]:
    for flag in flags[:8]:
        near = None if knowledge.flag_releases(flag) else knowledge.nearest_flag(flag)
        if near is not None:
            yield Workaround(text=f"Write --{near} if that was meant, else leave --{flag} out.")
        else:
            yield Workaround(text=f"Leave --{flag} out of XLA_FLAGS.")


RULE = Rule(
    code="FLG001",
    slug="flag-refused",
    title="XLA refused a flag, and the process ended",
    class_="flags",
    since="0.1.0",
    sources=("xla/parse_flags_from_env.cc", "xla/debug_options_flags.cc"),
    check=check,
)
