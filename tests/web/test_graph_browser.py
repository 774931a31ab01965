"""The page of a graph in a real Chromium: it fits, and keeps nobody out."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from web.accessible import barriers
from web.view_dumps import MODULE, view_dump
from web.visiting import Server, chromium, visitors

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("graph"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Callable[..., Page]]:
    with visitors(browser, server.base) as visit:
        yield visit


@pytest.fixture(scope="module")
def report(server: Server, browser: Browser) -> str:
    context = browser.new_context(base_url=server.base)
    answer = context.request.put("/api/v1/reports/d.tar.gz?wait=90", data=view_dump())
    url = answer.json()["url"]
    context.close()
    return url


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
