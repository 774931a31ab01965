"""Holds the advice of a report against the compiler: what is a matter of flags is tried.

Given a report and a laboratory; gives the report with `verified` set, and the table of what was
tried. Advice without flags, with a flag that the release does not know, or whose compile ended in
another way stays undecided.
"""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from app.ingest.flags import parse_flags
from app.knowledge.flag_spellings import overlaid
from app.model.report import Finding, Report, RuledOut, Workaround
from app.replay.bisecting import DISABLED, reproduce
from app.replay.experiments import Flags, Laboratory, Result, Variant, compared
from app.replay.outcome import Attempt, Kind
from app.replay.recording import BASELINE
from app.replay.subject import Subject

_Advice = TypeVar("_Advice", Workaround, RuledOut)
# A workaround is right where it cures, a hypothesis is ruled out where its cure does not.
_CURES = {Kind.COMPILES: True, Kind.SAME: False}
_REFUTES = {Kind.COMPILES: False, Kind.SAME: True}


def advised_flags(flags: Flags, advice: Workaround | RuledOut) -> dict[str, str]:
    """The flags of the run with those of the advice; passes to switch off are added."""
    own = parse_flags(" ".join(advice.flags))
    if DISABLED in own and flags.get(DISABLED):
        own[DISABLED] = f"{flags[DISABLED]},{own[DISABLED]}"
    return overlaid(flags, own)


def prove(
    laboratory: Laboratory,
    subject: Subject,
    flags: Flags,
    report: Report,
    *,
    signature: str = "",
    first: int = 0,
) -> tuple[Report, tuple[Result, ...]]:
    """The report with its workarounds and suspicions tried, and the results, the run's own first.

    `first` is the position that the first workaround gets among the experiments of the report.
    Where the failure does not come back nothing else is tried and the report stays as it is.
    """
    baseline, wanted = reproduce(laboratory, subject, flags, signature)
    own = Result(Variant(BASELINE, flags, subject), baseline)
    if baseline.kind != Kind.SAME:
        return report, (own,)
    variants = [
        Variant(" ".join(each.flags), advised_flags(flags, each), subject)
        for finding in report.findings
        if finding.severity == "error"
        for each in (*finding.workarounds, *finding.ruled_out)
        if parse_flags(" ".join(each.flags))
    ]
    unique = {variant.name: variant for variant in variants}
    results = tuple(
        Result(r.variant, r.attempt and compared(r.attempt, wanted))
        for r in laboratory.try_all(tuple(unique.values()))
    )
    tried = {
        result.variant.name: (number, result.attempt)
        for number, result in enumerate(results, first)
        if result.attempt is not None
    }
    findings = tuple(_with_verdicts(finding, tried) for finding in report.findings)
    return msgspec.structs.replace(report, findings=findings), (own, *results)


def _with_verdicts(finding: Finding, tried: Mapping[str, tuple[int, Attempt]]) -> Finding:
    if finding.severity != "error":
        return finding
    return msgspec.structs.replace(
        finding,
        workarounds=tuple(_with_verdict(each, tried, _CURES) for each in finding.workarounds),
        ruled_out=tuple(_with_verdict(each, tried, _REFUTES) for each in finding.ruled_out),
    )


def _with_verdict(
    advice: _Advice, tried: Mapping[str, tuple[int, Attempt]], verdicts: Mapping[Kind, bool]
) -> _Advice:
    number, attempt = tried.get(" ".join(advice.flags), (None, None))
    if attempt is None:
        return advice
    is_whole = parse_flags(" ".join(advice.flags)).keys().isdisjoint(attempt.dropped)
    verdict = verdicts.get(attempt.kind, advice.verified) if is_whole else advice.verified
    return msgspec.structs.replace(advice, verified=verdict, experiment=number)
