"""A report in the space of a card: what was looked at, what came of it, how much was understood.

For lists of reports, previews of shared links and the first line of a page.
"""

from app.model.report import SEVERITIES, Confidence, Finding, Report, Severity, Source, Struct

MAX_TITLE_CHARACTERS = 300


class TopFinding(Struct, frozen=True, kw_only=True):
    """The finding to read first."""

    rule: str
    severity: Severity
    confidence: Confidence
    title: str
    instruction: str | None = None
    source: Source | None = None


class SummaryCard(Struct, frozen=True, kw_only=True):
    """Counts are of findings that are not ruled out; `severity` is the worst of them.

    `releases` are the jaxlib releases that fit, oldest and newest where there are many; `module`
    is the user's own, `passes` the texts of it. `unread` counts lines not understood and members
    left out; `breaks_off` says that the archive or a file in it does, so that texts may be missing.
    """

    name: str
    bytes: int
    severity: Severity | None
    counts: dict[str, int]
    ruled_out: int
    top: TopFinding | None = None
    failure: str | None = None
    failing_pass: str | None = None
    backend: str | None = None
    releases: tuple[str, ...] = ()
    num_partitions: int | None = None
    module: str | None = None
    modules: int = 0
    passes: int = 0
    loops: int = 0
    collectives: int = 0
    unread: int = 0
    breaks_off: bool = False


def summary_card(report: Report) -> SummaryCard:
    """The card of a report."""
    standing = [item for item in report.findings if item.confidence != "ruled_out"]
    counts = {name: sum(item.severity == name for item in standing) for name in SEVERITIES}
    module = report.modules[0] if report.modules else None
    failure = report.failure
    environment = report.environment
    releases = environment.jaxlib.releases
    return SummaryCard(
        name=report.input.name,
        bytes=report.input.bytes,
        severity=next((name for name in SEVERITIES if counts[name]), None),
        counts=counts,
        ruled_out=len(report.findings) - len(standing),
        top=_top(standing),
        failure=None if failure is None else failure.text[:MAX_TITLE_CHARACTERS],
        failing_pass=None if failure is None else failure.pass_,
        backend=environment.backend,
        releases=releases if len(releases) <= 2 else (releases[0], releases[-1]),
        num_partitions=environment.num_partitions,
        module=None if module is None else module.name,
        modules=len(report.modules),
        passes=0 if module is None else len(module.dumps),
        loops=len(report.loops),
        collectives=len(report.collectives),
        unread=report.coverage.unparsed_lines + report.coverage.skipped_count,
        breaks_off=any(skipped.code == "truncated" for skipped in report.coverage.skipped),
    )


def _top(findings: list[Finding]) -> TopFinding | None:
    if not findings:
        return None
    finding = findings[0]  # a report has the gravest and surest first
    culprit = finding.culprits[0] if finding.culprits else None
    return TopFinding(
        rule=finding.rule,
        severity=finding.severity,
        confidence=finding.confidence,
        title=finding.title[:MAX_TITLE_CHARACTERS],
        instruction=None if culprit is None else culprit.instruction,
        source=None if culprit is None else culprit.source,
    )
