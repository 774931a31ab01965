"""The archive breaks off, so that a part of the dump was never read.

## What it finds
An archive (tar, compressed or not) whose data ends before the archive does.

## Why it matters
All that the report says is of the part that was read. What is not found there may stand in the
rest, and a check in CI that sees no findings says nothing about it.

## How we know
The stream ends inside a member, before the end mark of the archive or before that of the
compression. Members that were whole by then are kept; how many were to follow is written nowhere.

## What to do
Pack the dump after the run has ended, and compare the sizes after an upload. In CI
`--fail-on warning` makes this finding fail the step.

## Limits
A zip archive that breaks off has lost its directory and is refused. A single compressed file that
breaks off inside a whole archive is listed among the files read in part, and is no finding.

## Sources
POSIX.1-2017, pax: ustar Interchange Format (the end mark of two zero blocks).
"""

from collections.abc import Iterable

from app.model.facts import Facts
from app.model.report import Finding, Workaround
from app.rules.frame import Rule

_TRUNCATED = "truncated: "


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for an input that breaks off as a whole."""
    remarks = facts.dump.coverage.remarks if facts.dump is not None else ()
    found = next((each for each in remarks if each.startswith(_TRUNCATED)), None)
    if found is None:
        return
    reason = found.removeprefix(_TRUNCATED)
    texts = sum(len(history.dumps) for history in facts.modules)
    read = f"{texts:,} text{'' if texts == 1 else 's'}"
    yield Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="warning",
        confidence="certain",
        title=f"The archive breaks off: {read} read, more may be missing",
        message=f"{reason[:1].upper()}{reason[1:]}. All that is said here is of the {read} read "
        "before that.",
        workarounds=(
            Workaround(text="Pack the dump when the run has ended, and send it again as a whole."),
        ),
        unknown=("how many texts were to follow",),
    )


RULE = Rule(
    code="DMP003",
    slug="archive-breaks-off",
    title="The archive breaks off",
    # The code of the remark on the input.
    class_="truncated",
    since="0.1.0",
    sources=("POSIX.1-2017, pax: ustar Interchange Format",),
    check=check,
)
