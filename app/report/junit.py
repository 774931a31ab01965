"""A report as JUnit XML: one test case a rule, so that CI shows which held and which did not.

A rule with a finding at or above the asked severity is a failure; a lesser finding stands in the
output of a case that passes. What is ruled out changes nothing.
"""

import re
from xml.etree import ElementTree

from app.model.report import Report, Severity
from app.report.annotations import Annotation, annotations_of
from app.report.wording import AT_OR_ABOVE, CONFIDENCE_WORDS, legible
from app.rules.frame import load_rules

# XML 1.0 has no way to write these, not even as a reference.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def report_junit(report: Report, *, fail_on: str = "error", root: str = "") -> str:
    """The XML text; `fail_on` is a severity or `never`."""
    shown = legible(report)
    graves = AT_OR_ABOVE[fail_on]
    by_rule: dict[str, list[Annotation]] = {rule.code: [] for rule in load_rules()}
    for annotation in annotations_of(shown, root=root):
        by_rule.setdefault(annotation.finding.rule, []).append(annotation)
    titles = {rule.code: rule.title for rule in load_rules()}
    failures = sum(
        any(a.finding.severity in graves for a in annotations) for annotations in by_rule.values()
    )
    counts = {"tests": str(len(by_rule)), "failures": str(failures), "errors": "0"}
    suites = ElementTree.Element("testsuites", {"name": shown.tool.name, **counts})
    suite = ElementTree.SubElement(
        suites, "testsuite", {"name": _xml(shown.input.name or "hloscope"), **counts}
    )
    for code, annotations in by_rule.items():
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {"classname": "hloscope", "name": _xml(f"{code} {titles.get(code, '')}".strip())},
        )
        _fill(case, annotations, graves)
    ElementTree.indent(suites, " ")
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _fill(
    case: ElementTree.Element, annotations: list[Annotation], graves: tuple[Severity, ...]
) -> None:
    failing = [a for a in annotations if a.finding.severity in graves]
    lesser = [a for a in annotations if a.finding.severity not in graves]
    place = next((a.place for a in (*failing, *lesser) if a.place is not None), None)
    if place is not None:
        case.set("file", _xml(place.path))
        case.set("line", str(place.line))
    if failing:
        # One a case: most readers of the format show no more.
        first = failing[0].finding
        attributes = {"message": _xml(first.title), "type": first.severity}
        failure = ElementTree.SubElement(case, "failure", attributes)
        failure.text = _xml("\n\n".join(_told(a) for a in failing))
    if lesser:
        ElementTree.SubElement(case, "system-out").text = _xml(
            "\n\n".join(_told(a) for a in lesser)
        )


def _told(annotation: Annotation) -> str:
    finding, place = annotation.finding, annotation.place
    where = f"{place.path}:{place.line}: " if place is not None else ""
    sure = CONFIDENCE_WORDS[finding.confidence]
    return f"{where}{finding.severity}, {sure}: {finding.title}\n{annotation.text}"


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
