"""Compiling again in a real Chromium: the form, and the report of what it showed."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from replay.fake_toolchain import make_toolchain
from web.accessible import barriers
from web.test_replaying import ANSWERS, FLAGS, RELEASE, SAMPLE
from web.visiting import REPORT_MS, Server, visitors

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def compiling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("replay") / "toolchains" / RELEASE
    (folder / "bin").mkdir(parents=True)
    make_toolchain(folder / "bin", ANSWERS)
    (folder / "ready").touch()
    running = Server(tmp_path_factory.mktemp("server"), folder.parents[1])
    yield running
    running.stop()


@pytest.fixture
def visit(browser: Browser, compiling: Server) -> Iterator[Callable[..., Page]]:
    with visitors(browser, compiling.base) as visit:
        yield visit


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_from_the_form_to_what_it_showed(
    visit: Callable[..., Page], width: int, scheme: str
) -> None:
    page = visit(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page.goto("/")
    page.locator("#dump").set_input_files(SAMPLE / "dump.tar.gz")
    page.locator("[data-log-input]").set_input_files(SAMPLE / "run.log")
    page.get_by_label("XLA_FLAGS of the run").fill(FLAGS)
    page.get_by_label("jaxlib release").fill(RELEASE)
    page.get_by_role("button", name="Explain").click()
    page.wait_for_selector(".report-nav", timeout=REPORT_MS)
    first = page.url
    page.get_by_role("link", name="Compile again").click()
    expect(page.get_by_label("XLA_FLAGS of the run")).to_have_value(FLAGS)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(page) == []
    page.get_by_role("button", name="Compile").click()
    page.wait_for_url(re.compile(r"/r/[\w-]{32}$"))
    page.wait_for_selector("#replay", timeout=REPORT_MS)
    assert page.url != first
    expect(page.locator("#replay .outcome").first).to_be_visible()
    expect(page.locator("#verdict .tried")).to_have_text("tried: works")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(page) == []
