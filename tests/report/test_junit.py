"""JUnit XML: a case a rule, failures by the severity asked for, whatever the text holds."""

from xml.etree import ElementTree

import pytest

from app.report.junit import report_junit
from app.rules.frame import load_rules
from report import builders


def suite_of(text: str) -> ElementTree.Element:
    suite = ElementTree.fromstring(text).find("testsuite")
    assert suite is not None
    return suite


def test_the_crash_is_a_failure_at_its_line() -> None:
    suite = suite_of(report_junit(builders.crash_report(), root="/home/me/job"))
    failing = [case for case in suite if case.find("failure") is not None]
    assert [case.get("name", "")[:6] for case in failing] == ["PIP001"]
    assert (failing[0].get("file"), failing[0].get("line")) == ("prog1.py", "55")
    failure = failing[0].find("failure")
    assert failure is not None
    assert "prog1.py:55: error" in (failure.text or "")
    assert suite.get("failures") == "1"
    assert int(suite.get("tests", "0")) == len(list(suite)) >= len(load_rules())


@pytest.mark.parametrize(("fail_on", "failures"), [("never", 0), ("error", 1)])
def test_the_severity_asked_for_decides(fail_on: str, failures: int) -> None:
    suite = suite_of(report_junit(builders.crash_report(), fail_on=fail_on))
    assert int(suite.get("failures", "")) == failures
    assert len(suite.findall("*/failure")) == failures
    outputs = " ".join(text.text or "" for text in suite.iter("system-out"))
    assert ("PIP001" in outputs) or failures or "prog1.py:55" in outputs


def test_hostile_text_stays_text() -> None:
    text = report_junit(builders.hostile_report(), fail_on="note")
    suite = suite_of(text)
    assert all(case.tag == "testcase" for case in suite)
    assert "<script" not in text


def test_a_healthy_program_passes_every_rule() -> None:
    suite = suite_of(report_junit(builders.log_only_report(), fail_on="never"))
    assert suite.get("failures") == "0"
