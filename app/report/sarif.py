"""A report as SARIF 2.1.0, for code scanning and editors.

Takes a report, the rules and the root of the repository, and gives one log with one run. Findings
stand at the user's source lines, relative to `SRCROOT`; what the dump does not tie to a line stands
at the dump itself. Findings that are ruled out are no results: the run's properties count them.

Limits are those GitHub states for an upload ("SARIF support for code scanning"): results and
locations are cut to them, and the run says how many were left out.
"""

import json
from collections.abc import Sequence
from urllib.parse import quote

from app.model.report import Finding, Report
from app.report.annotations import Annotation, RepositoryPlace, annotations_of, repository_places
from app.report.markdown import escaped
from app.report.verdict import culprit_text
from app.report.wording import CONFIDENCE_WORDS, counted, legible
from app.rules.frame import Rule, load_rules

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_MAX_RESULTS = 5_000
_MAX_RELATED = 100
_MAX_NOTES = 50
# GitHub shows this much of a rule's name and title.
_MAX_TITLE = 255
_PRECISION = {"certain": "very-high", "likely": "high", "possible": "low", "ruled_out": "low"}
_BASE = "SRCROOT"

Json = dict[str, object]


def report_sarif(report: Report, *, root: str = "") -> str:
    """The SARIF log as JSON text; `root` is where the repository's files were when traced."""
    shown = legible(report)
    annotations = annotations_of(shown, root=root)
    kept = annotations[:_MAX_RESULTS]
    fired = {annotation.finding.rule for annotation in kept}
    rules = [rule for rule in load_rules() if rule.code in fired]
    positions = {rule.code: position for position, rule in enumerate(rules)}
    driver: Json = {
        "name": shown.tool.name,
        "semanticVersion": shown.tool.version,
        "rules": [_rule(rule, kept) for rule in rules],
    }
    ruled_out = sum(f.confidence == "ruled_out" for f in shown.findings)
    run: Json = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {_BASE: {"description": {"text": "The root of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(shown, item, positions, root) for item in kept],
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": _notes(shown)}],
        "automationDetails": {"id": f"{shown.tool.name}/"},
        "properties": {"ruledOut": ruled_out, "leftOut": len(annotations) - len(kept)},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(rule: Rule, annotations: Sequence[Annotation]) -> Json:
    own = [a.finding for a in annotations if a.finding.rule == rule.code]
    surest = min(own, key=lambda f: list(_PRECISION).index(f.confidence))
    page = rule.page.strip()
    return {
        "id": rule.code,
        "name": "".join(part.capitalize() for part in rule.slug.replace("_", "-").split("-")),
        "shortDescription": {"text": rule.title[:_MAX_TITLE]},
        "fullDescription": {"text": page.partition("\n")[0] or rule.title},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": own[0].severity},
        "properties": {
            "tags": ["xla", rule.class_],
            "precision": _PRECISION[surest.confidence],
            "problem.severity": _problem_severity(own[0]),
        },
    }


def _problem_severity(finding: Finding) -> str:
    return "recommendation" if finding.severity == "note" else finding.severity


def _result(report: Report, annotation: Annotation, positions: dict[str, int], root: str) -> Json:
    finding = annotation.finding
    result: Json = {
        "ruleId": finding.rule,
        "level": finding.severity,
        "message": {"text": annotation.text, "markdown": _markdown(annotation)},
        "locations": [_location(report, annotation.place)],
        "partialFingerprints": {"hloscopeFinding/v1": finding.fingerprint},
        "properties": {
            "confidence": CONFIDENCE_WORDS[finding.confidence],
            "class": finding.class_,
            "flags": list(finding.flags),
        },
    }
    if finding.rule in positions:
        result["ruleIndex"] = positions[finding.rule]
    related = _related(finding, root)
    if related:
        result["relatedLocations"] = related
    return result


def _markdown(annotation: Annotation) -> str:
    head, *rest = annotation.text.splitlines()
    return "\n".join([escaped(head), "", *(f"- {escaped(line)}" for line in rest)]).rstrip()


def _location(report: Report, place: RepositoryPlace | None) -> Json:
    if place is None:
        uri = _uri(report.input.name or "dump")
        return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}}
    return _physical(place)


def _uri(path: str) -> str:
    quoted = quote(path, safe="/:@!$&'()*+,;=~" if path[1:3] == ":/" else "/@!$&'()*+,;=~")
    if path.startswith("/"):
        return f"file://{quoted}"
    return f"file:///{quoted}" if path[1:3] == ":/" else quoted


def _related(finding: Finding, root: str) -> list[Json]:
    related: list[Json] = []
    for culprit in finding.culprits:
        for place in repository_places(culprit, root):
            location: Json = {"id": len(related) + 1, **_physical(place)}
            role = f"{culprit.role}: " if culprit.role else ""
            location["message"] = {"text": f"{role}{culprit_text(culprit)}"}
            related.append(location)
            if len(related) == _MAX_RELATED:
                return related
    return related


def _physical(place: RepositoryPlace) -> Json:
    artifact: Json = {"uri": _uri(place.path)}
    if place.is_inside:
        artifact["uriBaseId"] = _BASE
    region: Json = {"startLine": place.line}
    if place.column is not None:
        region["startColumn"] = place.column
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _notes(report: Report) -> list[Json]:
    coverage = report.coverage
    texts = list(coverage.remarks)
    if coverage.unparsed_lines:
        texts.append(f"{counted(coverage.unparsed_lines, 'line')} of HLO not understood")
    texts += [f"left out: {item.name}: {item.reason}" for item in coverage.skipped]
    return [{"level": "note", "message": {"text": text}} for text in texts[:_MAX_NOTES] if text]
