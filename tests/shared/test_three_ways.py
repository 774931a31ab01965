"""Every failing dump asked in three ways: with its log, without it, and the log alone.

The table says of each what class, pass and first culprit the gravest finding names. What a dump
alone says is no claim about a failure unless its newest text proves one.
"""

from pathlib import Path

from app.model.report import Finding, Report
from app.rules.citing import place
from app.service import Log, Question, analyze
from app.settings import Settings
from conftest import SHARED, Golden

DUMPS = SHARED / "dumps"
FAILING = sorted(
    path
    for path in DUMPS.glob("*.tar.gz")
    if path.name.startswith(("crash_", "fail_", "seed1_crash")) and "s000" not in path.name
)


def test_the_table_of_failing_dumps(golden: Golden) -> None:
    rows: list[str] = []
    for path in FAILING:
        name = path.name.removesuffix(".tar.gz")
        rows.append(name)
        log = Log("run.log", file=DUMPS / f"{name}.log")
        ways = (("dump and log", path, (log,)), ("dump", path, ()), ("log", None, (log,)))
        rows += (f"  {way:12} {_row(source, logs)}" for way, source, logs in ways)
    golden("three_ways.txt", "\n".join(rows))


def _row(source: Path | None, logs: tuple[Log, ...]) -> str:
    report = analyze(source, Settings(), question=Question(logs=logs))
    told = [f for f in report.findings if f.rule == "DMP001" or f.severity == "error"]
    where = report.failure.pass_ if report.failure else None
    return f"pass {where or '-'}; {'; '.join(map(_told, told)) or _left(report)}"


def _told(finding: Finding) -> str:
    named = [place(culprit) for culprit in finding.culprits if culprit.instruction]
    first = f"{named[0]} and {len(named) - 1} more" if len(named) > 1 else "".join(named) or "-"
    return f"{finding.rule} {finding.class_} {finding.severity} {finding.confidence}; {first}"


def _left(report: Report) -> str:
    """What the other findings are: the passes were over, and nothing else is told."""
    return f"no error ({', '.join(sorted({f.rule for f in report.findings})) or 'silent'})"
