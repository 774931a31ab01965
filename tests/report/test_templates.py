"""What the templates are given is what they use; they compute nothing and escape everything."""

import dataclasses
import re
from pathlib import Path

import jinja2
import pytest
from jinja2 import nodes

from app.report import brief_views, drawing, page
from app.report.html import page_environment
from app.report.verdict import Verdict
from app.settings import static_dir, template_dir

REPORT_TEMPLATES = {
    "report.html",
    "report_offline.html",
    "_report.html",
    "_verdict.html",
    "_finding.html",
    "_timeline.html",
    "_curve.html",
    "_lanes.html",
    "_loops.html",
    "_collectives.html",
    "_compare.html",
    "_text.html",
    "_modules.html",
    "_files.html",
    "_environment.html",
    "_experiments.html",
    "_marks.html",
    "_shape.html",
    "_rows.html",
    "_views.html",
    "_keys.html",
    "_memory_brief.html",
    "_memory_curve.html",
    "_source_brief.html",
    "_source_line.html",
}
VIEWS = [
    item
    for item in {**vars(page), **vars(drawing), **vars(brief_views)}.values()
    if isinstance(item, type) and dataclasses.is_dataclass(item) and item is not page.Page
]
# Told on the page through `tone` and the words made of it.
NOT_IN_TEMPLATES = {"Verdict.confidence"}


def parsed(name: str) -> nodes.Template:
    environment = page_environment()
    assert environment.loader is not None
    source, _, _ = environment.loader.get_source(environment, name)
    return environment.parse(source)


def attributes_of(name: str) -> set[str]:
    """Every attribute that a template reads."""
    return {node.attr for node in parsed(name).find_all(nodes.Getattr)}


def test_fields_of_the_page_are_those_that_templates_use() -> None:
    used: set[str] = set()
    for name in REPORT_TEMPLATES:
        for node in parsed(name).find_all(nodes.Getattr):
            if isinstance(node.node, nodes.Name) and node.node.name == "page":
                used.add(node.attr)
    assert used == {field.name for field in dataclasses.fields(page.Page)}


@pytest.mark.parametrize("view", [*VIEWS, Verdict], ids=lambda view: view.__name__)
def test_no_field_of_a_view_is_made_in_vain(view: type) -> None:
    used = set[str]().union(*map(attributes_of, REPORT_TEMPLATES))
    fields = {field.name for field in dataclasses.fields(view)}
    unused = {name for name in fields - used if f"{view.__name__}.{name}" not in NOT_IN_TEMPLATES}
    assert unused - ({"total"} if view is page.Rows else set()) == set()


# The first writes a sentence's capital, the other looks for a column's heading by its number.
LOOK_INTO_VALUES = {"_problem.html", "compare.html"}


@pytest.mark.parametrize("path", sorted(template_dir().glob("*.html")), ids=lambda path: path.name)
def test_templates_compute_nothing(path: Path) -> None:
    arithmetic = (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow)
    banned = (*arithmetic, nodes.Getitem, nodes.Slice, nodes.CondExpr, nodes.Call)
    # Macros of the templates themselves are called; nothing else is.
    found = [
        node
        for node in parsed(path.name).find_all(banned)
        if not (isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name))
    ]
    assert bool(found) == (path.name in LOOK_INTO_VALUES), found


def test_filters_are_for_data_of_scripts_and_for_marks_in_sentences() -> None:
    for name in REPORT_TEMPLATES:
        filters = {node.name for node in parsed(name).find_all(nodes.Filter)}
        assert filters <= {"tojson", "marked", "whole"}, name


@pytest.mark.parametrize("path", sorted(template_dir().glob("*.html")), ids=lambda path: path.name)
def test_no_template_switches_escaping_off(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\|\s*safe\b|autoescape|Markup", text)


def test_a_misspelt_field_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        page_environment().from_string("{{ page.no_such_field }}").render(page=object())


def test_what_the_diff_page_loads_ahead_is_what_its_scripts_import() -> None:
    def imports(name: str) -> set[str]:
        text = (static_dir() / "js" / f"{name}.js").read_text(encoding="utf-8")
        found = set(re.findall(r'from "\./(\w+)\.js"', text))
        return {name}.union(*map(imports, found))

    text = (template_dir() / "diff.html").read_text(encoding="utf-8")
    listed = re.search(r"for name in \[(.*)\] %}\n<link rel=\"modulepreload\"", text)
    scripts = re.findall(r'<script type="module" src="/static/js/(\w+)\.js"', text)
    assert listed is not None
    assert sorted(re.findall(r"\w+", listed[1])) == sorted(set().union(*map(imports, scripts)))
