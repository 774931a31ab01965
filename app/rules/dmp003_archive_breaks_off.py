"""The archive breaks off or is damaged, so that a part of the dump was never read.

## What it finds
An archive whose data ends before the archive does (tar, compressed or not), or of which a part is
not what it was: a checksum, a header or packed bytes that do not fit.

## Why it matters
All that the report says is of the part that was read. What is not found there may stand in the
rest, and a check in CI that sees no findings says nothing about it.

## How we know
The stream ends inside a member, before the end mark of the archive or before that of the
compression, or something in it contradicts its checksum or its stated size. Members that were whole
by then are kept; how many were to follow is written nowhere. Behind a damaged place of a gzip
stream its bytes may be wrong for a while before the checksum tells: lines that are not understood
are counted in the report.

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

_BREAKS_OFF = "truncated"
# Codes of what was found wrong with the archive (app/ingest: streams, tar, zip_archive).
_DAMAGES = frozenset(
    (_BREAKS_OFF, "bad_header", "bad_crc", "bad_data", "unreadable", "size_mismatch")
)


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for an input that breaks off, or is damaged, as a whole."""
    remarks = facts.dump.coverage.remarks if facts.dump is not None else ()
    told = (each.partition(": ") for each in remarks)
    code, _, reason = next((each for each in told if each[0] in _DAMAGES), ("", "", ""))
    if not code:
        return
    what = "breaks off" if code == _BREAKS_OFF else "is damaged"
    texts = sum(len(history.dumps) for history in facts.modules)
    read = f"{texts:,} text{'' if texts == 1 else 's'}"
    yield Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="warning",
        confidence="certain",
        title=f"The archive {what}: {read} read, more may be missing",
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
    title="The archive breaks off or is damaged",
    class_="truncated",
    since="0.1.0",
    sources=("POSIX.1-2017, pax: ustar Interchange Format",),
    check=check,
)
