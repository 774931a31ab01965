"""The page that compares two reports in a real Chromium: it fits, keeps nobody out, takes links."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from web.accessible import barriers
from web.asking import small_dump
from web.view_dumps import view_dump
from web.visiting import Server, report_on

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def reports(server: Server, browser: Browser) -> tuple[str, str]:
    """Addresses of two reports on modules of one name, in one of which names are hostile."""
    whole, small = (report_on(body, browser, server) for body in (view_dump(), small_dump()))
    return whole, small


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_two_links_give_the_answer_to_everybody(
    visit: Callable[..., Page], reports: tuple[str, str], width: int, scheme: str
) -> None:
    page = visit(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page.goto("/")
    page.get_by_role("link", name="Compare").click()
    page.wait_for_url("**/compare")
    assert barriers(page) == []
    page.get_by_label("Report a").fill(reports[0])
    page.get_by_label("Report b").fill(reports[1])
    page.get_by_label("Report b").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("jit_step")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(page) == []
    assert page.locator("script:not([src]):not([type='application/json']), main b").count() == 0
    assert "\u202e" not in page.content()
    page.get_by_role("link", name="Report b").click()
    page.wait_for_url("**/r/**")


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_three_are_ranks(
    visit: Callable[..., Page], reports: tuple[str, str], width: int, scheme: str
) -> None:
    page = visit(viewport={"width": width, "height": 844}, color_scheme=scheme)
    a, b = (address.rpartition("/")[2] for address in reports)
    page.goto(f"/compare?a={a}&b={b}&c={a}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Rank 1 begins no collective")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(page) == []
    assert page.locator("script:not([src]):not([type='application/json']), main b").count() == 0
    assert "\u202e" not in page.content()


def test_reports_seen_in_this_browser_are_offered(
    visit: Callable[..., Page], reports: tuple[str, str]
) -> None:
    page = visit(viewport={"width": 390, "height": 844})
    for report in reports:
        page.goto(report)
        page.wait_for_function("localStorage.getItem('hloscope.seen')")
    page.goto("/compare")
    expect(page.get_by_role("heading", name="What to do")).to_be_visible()
    rows = page.locator("[data-seen-list] li")
    expect(rows).to_have_count(2)
    for row in (rows.first, rows.last):
        expect(row.locator(".seen-dump")).to_have_text(re.compile(r"\.tar"))
        expect(row.locator("time")).to_be_visible()
        name = row.get_by_role("button", name="As a:").get_attribute("aria-label")
        assert row.locator(".seen-dump").inner_text() in (name or "")
    page.get_by_role("button", name="As a:").first.click()
    page.get_by_role("button", name="As b:").last.click()
    assert barriers(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("jit_step")


def test_the_answer_is_read_without_a_script(
    visit: Callable[..., Page], reports: tuple[str, str]
) -> None:
    page = visit(java_script_enabled=False)
    page.goto(f"/compare?a={reports[0]}&b={reports[1]}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("jit_step")
    expect(page.get_by_text("What differs in the texts")).to_be_visible()
