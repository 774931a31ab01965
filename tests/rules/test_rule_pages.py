"""Pages of rules as data: what `explain` prints is what the pages hold, part by part."""

import pytest

from app.rules.frame import load_rules
from app.rules.pages import RulePage, rule_page, rule_pages

HEADINGS = ("What it finds", "Why it matters", "How we know", "What to do", "Limits", "Sources")


def test_every_rule_has_one_page() -> None:
    assert [page.code for page in rule_pages()] == [rule.code for rule in load_rules()]


@pytest.mark.parametrize("page", rule_pages(), ids=lambda page: page.code)
def test_the_six_parts_say_something(page: RulePage) -> None:
    assert tuple(part.heading for part in page.parts) == HEADINGS
    assert all(len(" ".join(part.paragraphs)) > 15 for part in page.parts)
    assert page.summary.endswith(".")


def test_a_page_is_found_in_any_case_and_an_unknown_one_is_none() -> None:
    page = rule_page("pip001")
    assert page is not None
    assert page.code == "PIP001"
    assert rule_page("NON001") is None


def test_lines_of_a_paragraph_are_joined() -> None:
    page = rule_page("PIP001")
    assert page is not None
    assert not any("\n" in text for part in page.parts for text in part.paragraphs)
