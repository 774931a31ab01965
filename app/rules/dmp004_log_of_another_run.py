"""The log and the dump are of different releases, so they cannot be of one run.

## What it finds
A log whose failed check stands in releases that cannot have written the dump.

## Why it matters
All that is said of where the compile stood is read from both. Of a log of another run, pass, lines
and culprits are those of another program.

## How we know
The log names a file, a line and a condition, which together stand in few releases of XLA; the dump
has flags, files or a form of text that none of those releases writes.

## What to do
Give the log of the run that wrote the dump, or the dump that was written beside this log.

## Limits
Releases that lie between two of the table, or that a vendor changed, may have a check at a line
where the table has that of another release. Two runs of one release are not told apart.

## Sources
xla/service/dump.cc; the tables of check sites and of release signs.
"""

from collections.abc import Iterable

from app.analysis.release_evidence import joined, releases_of_checks, releases_of_dump
from app.model.facts import Facts
from app.model.report import Finding, Workaround
from app.rules.citing import log_evidence
from app.rules.frame import Rule
from app.rules.releases import releases_in_words

_MOST_CITED = 3


def check(facts: Facts) -> Iterable[Finding]:
    """One finding where no release can have printed any check of the log and written the dump."""
    checks = releases_of_checks(facts.log)
    if facts.dump is None or not checks:
        return
    of_dump = releases_of_dump(facts.dump)
    fits = set(of_dump.releases)
    # A log may hold several runs, of which one wrote the dump.
    if not fits or any(found.releases & fits for _, found in checks):
        return
    first = checks[0][1]
    printed = releases_in_words(joined([first]).releases)
    wrote = releases_in_words(of_dump.releases)
    yield Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="warning",
        confidence="likely",
        title=f"The log seems to be of another run than the dump: jaxlib {printed} against {wrote}",
        message=f"Of the log: {first.tells}. Of the dump: {of_dump.how}.",
        evidence=tuple(log_evidence(failure) for failure, _ in checks[:_MOST_CITED]),
        workarounds=(
            Workaround(text="Give the log of the run that wrote the dump, or the dump beside it."),
        ),
        unknown=("which of the two is the one meant",),
    )


RULE = Rule(
    code="DMP004",
    slug="log-of-another-run",
    title="Log and dump are of different releases",
    class_="another-run",
    since="0.1.0",
    sources=("xla/service/dump.cc",),
    check=check,
    leads=True,
)
