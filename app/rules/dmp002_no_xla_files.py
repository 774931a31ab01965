"""None of the files that were sent is one that XLA writes.

## What it finds
An archive or folder in which neither a name nor a first line is that of a file of XLA. The server
makes a report of it; the command line takes it for a wrong input and exits with 3.

## Why it matters
Nothing of it was analysed. In CI it mostly means that the run wrote no dump, or that another folder
was packed, and a check that sees no findings there would pass for ever.

## How we know
Every file was looked at by its name, and those of no known kind by their first bytes, too.

## What to do
Set `XLA_FLAGS=--xla_dump_to=FOLDER` before JAX is imported, run again, and pack that folder.

## Limits
A dump whose files were renamed is known by texts that start with `HloModule`, and by nothing else.

## Sources
xla/service/dump.cc (FilenameFor, names of the files of a dump).
"""

from collections.abc import Iterable

from app.model.facts import Facts
from app.model.report import Finding, Workaround
from app.rules.frame import Rule


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for the whole input."""
    start = f"{RULE.class_}: "
    found = next((each for each in _remarks(facts) if each.startswith(start)), None)
    if found is not None:
        reason = found.removeprefix(start)
        yield Finding(
            rule=RULE.code,
            class_=RULE.class_,
            # With a log there is something that the run itself says.
            severity="warning" if facts.log.byte_size else "error",
            confidence="certain",
            title="None of the files is one that XLA writes",
            message=f"{reason[:1].upper()}{reason[1:]}",
            workarounds=(
                Workaround(
                    text="Set the flag before JAX is imported, run again, and pack that folder.",
                    flags=("--xla_dump_to=/tmp/xla_dump",),
                ),
            ),
        )


def _remarks(facts: Facts) -> tuple[str, ...]:
    return facts.dump.coverage.remarks if facts.dump is not None else ()


RULE = Rule(
    code="DMP002",
    slug="no-xla-files",
    title="No file is XLA's",
    # The code that the command line prints for the same.
    class_="no_xla_files",
    since="0.1.0",
    sources=("xla/service/dump.cc",),
    check=check,
)
