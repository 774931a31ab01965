"""Modules of which the same is true are named in every form of a report."""

import io
from collections.abc import Callable

import msgspec
import pytest
from rich.console import Console

from app.model.report import Report
from app.report.annotations import annotations_of
from app.report.html import report_page
from app.report.junit import report_junit
from app.report.markdown import report_markdown
from app.report.sarif import report_sarif
from app.report.terminal import print_report
from app.report.thread import report_thread
from app.report.wording import message_text
from report import builders

NAMES = ("jit_a", "jit_b", "jit_c", "jit_d", "jit_e")


def folded(report: Report) -> Report:
    first, *others = report.findings
    first = msgspec.structs.replace(first, also_in=NAMES)
    return msgspec.structs.replace(report, findings=(first, *others))


def terminal(report: Report) -> str:
    console = Console(file=io.StringIO(), width=400)
    print_report(report, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def annotated(report: Report) -> str:
    return annotations_of(report)[0].text


FORMS: tuple[Callable[[Report], str], ...] = (
    terminal,
    report_markdown,
    report_thread,
    report_page,
    annotated,
    report_junit,
    report_sarif,
)


@pytest.mark.parametrize("form", FORMS)
def test_each_form_names_the_other_modules(form: Callable[[Report], str]) -> None:
    text = form(folded(builders.crash_report())).replace("\\_", "_")
    assert "The same stands in 5 other modules: jit_a, jit_b, jit_c and 2 more." in text
    assert "The same stands in" not in form(builders.crash_report())


def test_one_other_module() -> None:
    (first, *_) = builders.crash_report().findings
    told = message_text(msgspec.structs.replace(first, also_in=("jit_a",)))
    assert told == f"{first.message}\nThe same stands in another module: jit_a."
