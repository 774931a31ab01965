"""Flags that work against each other, that the release does not have, or that nobody knows.

## What it finds
Settings that are known to work against each other or to leave out what later passes need; flags
that none of the releases that fit has; and names that no release has.

## Why it matters
A flag without the one it needs does nothing, and some pairs have killed compiles.

## How we know
From the flags of debug_options, the log and the user, laid against tables of flags by release and
of pairs that were seen to work against each other. A flag that a release renamed or gave other
values counts under all its names.

## What to do
Set the flag that is missing, or leave one of the two out, for a test.

## Limits
A note is no accusation: programs with these settings may be well. Only flags that some file or the
user names are known; defaults differ between releases.

## Sources
xla/debug_options_flags.cc, and for each pair the source that its evidence names.
"""

from collections.abc import Iterable, Iterator

from app import knowledge
from app.analysis.flag_refusals import unknown_flags
from app.model.facts import Facts
from app.model.report import Evidence, Finding
from app.rules.frame import Rule
from app.rules.releases import flag_in_words


def check(facts: Facts) -> Iterable[Finding]:
    """One note for all of them; flags that the log says were refused have their own finding."""
    flags = facts.environment.flags
    pairs = list(knowledge.pairs_at_odds(flags))
    strangers = [] if unknown_flags(facts.log) else list(_strangers(facts))
    if not pairs and not strangers:
        return
    place = ", ".join(facts.environment.flags_from)
    told = [f"{' with '.join(pair.flags)}: {pair.tells}." for pair in pairs]
    told += [f"{flag_in_words(flag)}." for flag in strangers]
    named = dict.fromkeys(flag for pair in pairs for flag in pair.flags)
    named.update(dict.fromkeys(f"--{flag}={flags[flag]}" for flag in strangers))
    yield Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="note",
        confidence="possible",
        title=_title(facts, len(pairs), len(strangers)),
        message=" ".join(told),
        evidence=(
            *(Evidence(file=place, text=f"{' '.join(p.flags)} ({p.source})") for p in pairs),
            *(Evidence(file=place, text=f"--{flag}={flags[flag]}") for flag in strangers),
        ),
        flags=tuple(named),
    )


def _title(facts: Facts, pairs: int, strangers: int) -> str:
    if not strangers:
        return "Settings that may work against each other or against the program"
    one = "A flag" if strangers == 1 else f"{strangers} flags"
    more = ", and settings that may work against each other" if pairs else ""
    which = "release" if facts.environment.jaxlib.releases else "newest known release"
    return f"{one} that the {which} does not have{more}"


def _strangers(facts: Facts) -> Iterator[str]:
    """Flags that no listed release among those that fit has; debug_options knows what it writes."""
    written = set(facts.dump.flags) if facts.dump is not None else set[str]()
    releases = facts.environment.jaxlib.releases or knowledge.ALL_RELEASES[-1:]
    for flag in facts.environment.flags:
        known = [knowledge.flag_known_in(flag, release) for release in releases]
        if flag not in written and set(known) == {False}:
            yield flag


RULE = Rule(
    code="FLG002",
    slug="flags-at-odds",
    title="Flags that work against each other, or that the release does not have",
    class_="flags",
    since="0.1.0",
    sources=("xla/debug_options_flags.cc",),
    check=check,
)
