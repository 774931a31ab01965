"""Holds the workarounds of a report against the compiler: each that is a matter of flags is tried.

Given a report and a laboratory; gives the report with `verified` set, and the table of what was
tried. A workaround without flags, or one whose compile ended in another way, stays undecided.
"""

import msgspec

from app.ingest.flags import parse_flags
from app.model.report import Finding, Report, Workaround
from app.replay.bisecting import DISABLED, reproduce
from app.replay.compiling import Kind
from app.replay.experiments import Flags, Laboratory, Result, Variant, compared
from app.replay.subject import Subject

_VERDICTS = {Kind.COMPILES: True, Kind.SAME: False}


def workaround_flags(flags: Flags, workaround: Workaround) -> dict[str, str]:
    """The flags of the run with the workaround's own; passes to switch off are added."""
    own = parse_flags(" ".join(workaround.flags))
    if DISABLED in own and flags.get(DISABLED):
        own[DISABLED] = f"{flags[DISABLED]},{own[DISABLED]}"
    return {**flags, **own}


def prove(
    laboratory: Laboratory, subject: Subject, flags: Flags, report: Report, *, signature: str = ""
) -> tuple[Report, tuple[Result, ...]]:
    """The report with its workarounds tried, and the results, the run's own flags first.

    Where the failure does not come back nothing else is tried and the report stays as it is.
    """
    baseline, wanted = reproduce(laboratory, subject, flags, signature)
    first = Result(Variant("as the run had it", flags, subject), baseline)
    if baseline.kind != Kind.SAME:
        return report, (first,)
    variants = [
        Variant(" ".join(each.flags), workaround_flags(flags, each), subject)
        for finding in report.findings
        if finding.severity == "error"
        for each in finding.workarounds
        if parse_flags(" ".join(each.flags))
    ]
    unique = {variant.name: variant for variant in variants}
    results = tuple(
        Result(r.variant, r.attempt and compared(r.attempt, wanted))
        for r in laboratory.try_all(tuple(unique.values()))
    )
    verdicts = {
        result.variant.name: _VERDICTS.get(result.attempt.kind)
        for result in results
        if result.attempt is not None
    }
    findings = tuple(_with_verdicts(finding, verdicts) for finding in report.findings)
    return msgspec.structs.replace(report, findings=findings), (first, *results)


def _with_verdicts(finding: Finding, verdicts: dict[str, bool | None]) -> Finding:
    if finding.severity != "error":
        return finding
    tried = tuple(
        msgspec.structs.replace(each, verified=verdicts.get(" ".join(each.flags), each.verified))
        for each in finding.workarounds
    )
    return msgspec.structs.replace(finding, workarounds=tried)
