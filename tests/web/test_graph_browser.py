"""The page of a graph in a real Chromium: it fits, and keeps nobody out."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from web.accessible import barriers
from web.view_dumps import MODULE, view_dump
from web.visiting import Server, report_on

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def report(server: Server, browser: Browser) -> str:
    return report_on(view_dump(), browser, server)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_and_keeps_nobody_out(
    visit: Callable[..., Page], report: str, width: int, scheme: str
) -> None:
    page = visit(viewport={"width": width, "height": 844}, color_scheme=scheme)
    for query in (f"module={MODULE}&against=0", f"module={MODULE}&find=sum", "instruction=g"):
        page.goto(f"{report}/graph?{query}")
        expect(page.locator("a.box").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert barriers(page) == []
