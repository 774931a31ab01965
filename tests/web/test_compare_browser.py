"""The page that compares two reports in a real Chromium: it fits, keeps nobody out, takes links."""

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
