"""The few words kept beside a report: of a compile that ended well none sounds like a failure."""

import msgspec
import pytest

from app.jobs.analysis import summary_of
from app.model.report import Finding, Report, Severity
from report import builders


def told(severity: Severity, report: Report) -> Report:
    """The report with one finding, of the rule of peaks."""
    finding: Finding = msgspec.structs.replace(
        builders.crash_report().findings[0],
        rule="OOM002",
        class_="oom-buffers",
        severity=severity,
        confidence="likely",
    )
    return msgspec.structs.replace(report, findings=(finding,))


@pytest.mark.parametrize("severity", ["note", "warning"])
def test_of_a_healthy_compile_it_says_what_was_found(severity: Severity) -> None:
    summary = summary_of(told(severity, builders.healthy_report()))
    assert summary["verdict"] == "peak-of-one-kind"
    assert (summary["rule"], summary["class"]) == ("OOM002", "oom-buffers")


def test_of_a_failure_it_is_the_class() -> None:
    summary = summary_of(told("error", builders.crash_report()))
    assert (summary["verdict"], summary["rule"]) == ("oom-buffers", "OOM002")


def test_a_note_does_not_speak_for_a_failure_that_no_rule_explains() -> None:
    report = told("note", builders.crash_report())
    assert report.failure is not None
    assert summary_of(report)["verdict"] == report.failure.kind


def test_without_findings_there_is_none() -> None:
    summary = summary_of(builders.healthy_report())
    assert (summary["verdict"], summary["rule"], summary["class"]) == ("", "", "")
