"""SARIF: valid by the schema, within GitHub's limits, at the lines of the repository."""

import json
from typing import Any

import msgspec
import pytest
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as SarifLog

from app.model.report import Culprit, Report, Source
from app.report.sarif import report_sarif
from app.rules.frame import load_rules
from report import builders


def run_of(report: Report, root: str = "") -> dict[str, Any]:
    """The one run, after the whole log has passed the schema's own types."""
    text = report_sarif(report, root=root)
    SarifLog.model_validate_json(text)
    log: dict[str, Any] = json.loads(text)
    return log["runs"][0]


@pytest.mark.parametrize(
    "report",
    [
        builders.crash_report(),
        builders.healthy_report(),
        builders.log_only_report(),
        builders.hostile_report(),
        builders.huge_report(),
    ],
    ids=["crash", "healthy", "log", "hostile", "huge"],
)
def test_any_report_is_valid_and_within_githubs_limits(report: Report) -> None:
    run = run_of(report)
    assert len(run["results"]) <= 5_000
    assert len(run["tool"]["driver"]["rules"]) <= 25_000
    for rule in run["tool"]["driver"]["rules"]:
        assert len(rule["properties"]["tags"]) <= 20
        assert len(rule["shortDescription"]["text"]) <= 1_024
    for result in run["results"]:
        assert 1 <= len(result["locations"]) <= 1_000
        assert len(result.get("relatedLocations", [])) <= 1_000
        assert result["partialFingerprints"]
        for location in result["locations"]:
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert uri
            assert not set(uri) & set(' <>"{}|\\^`')


def test_the_culprit_stands_relative_to_the_root() -> None:
    result = run_of(builders.crash_report(), "/home/me/job")["results"][0]
    assert result["ruleId"] == "PIP001"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "prog1.py", "uriBaseId": "SRCROOT"}
    assert place["region"]["startLine"] == 55
    lines = [r["physicalLocation"]["region"]["startLine"] for r in result["relatedLocations"]]
    assert 55 in lines


def test_a_file_outside_the_root_keeps_its_address() -> None:
    result = run_of(builders.crash_report(), "/elsewhere")["results"][0]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": "file:///home/me/job/prog1.py"}


def test_a_finding_without_a_line_stands_at_the_dump() -> None:
    report = builders.crash_report()
    finding = msgspec.structs.replace(report.findings[0], culprits=())
    run = run_of(msgspec.structs.replace(report, findings=(finding,)))
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == report.input.name


def test_more_than_github_shows_is_cut_and_counted() -> None:
    report = builders.crash_report()
    culprits = tuple(Culprit(source=Source(file="a.py", line=n + 1)) for n in range(300))
    finding = msgspec.structs.replace(report.findings[0], culprits=culprits)
    run = run_of(msgspec.structs.replace(report, findings=(finding,) * 5_003))
    assert len(run["results"]) == 5_000
    assert run["properties"]["leftOut"] == 3
    assert len(run["results"][0]["relatedLocations"]) == 100


def test_every_rule_named_is_described() -> None:
    run = run_of(builders.crash_report())
    described = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    known = {rule.code for rule in load_rules()}
    for result in run["results"]:
        if result["ruleId"] in known:
            assert described[result["ruleIndex"]] == result["ruleId"]


def test_a_rule_of_which_all_results_are_cut_is_not_listed() -> None:
    report = builders.crash_report()
    first, *_ = report.findings
    other = next(rule.code for rule in load_rules() if rule.code != first.rule)
    lesser = msgspec.structs.replace(
        first, rule=other, severity="note", confidence="possible", culprits=()
    )
    many = (msgspec.structs.replace(first, severity="error", culprits=()),) * 5_000
    run = run_of(msgspec.structs.replace(report, findings=(*many, lesser)))
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [first.rule]
    assert run["properties"]["leftOut"] == 1
