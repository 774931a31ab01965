"""The landing page in a real Chromium: samples, pastes, what was seen, what is told early."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from web.accessible import barriers
from web.visiting import REPORT_MS, ScaledServers, Server

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

HLO = "HloModule pasted\n\nENTRY e {\n  p = f32[8] parameter(0)\n  ROOT r = f32[8] negate(p)\n}\n"
PASTE = """([text, selector]) => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    const options = {clipboardData: data, bubbles: true, cancelable: true};
    const event = new ClipboardEvent("paste", options);
    document.querySelector(selector).dispatchEvent(event);
}"""


def until_report(page: Page) -> str:
    """The path of the report, once it is there."""
    page.wait_for_url(re.compile(r"/r/[\w-]{32}$"))
    page.wait_for_selector(".report-nav", timeout=REPORT_MS)
    return page.url


def until_noted(page: Page, count: int) -> None:
    """Until the page's script, which runs some time after it is there, has noted so many reports.

    Asked from here: what waits inside the page would evaluate text, which its policy forbids.
    """
    for _ in range(200):
        if (
            page.evaluate("JSON.parse(localStorage.getItem('hloscope.seen') ?? '[]').length")
            == count
        ):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"not {count} reports noted")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_and_keeps_nobody_out(visit: Callable[..., Page], scheme: str, width: int) -> None:
    page = visit(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page.goto("/")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(page) == []


def test_a_sample_opens_with_one_click_and_is_one_report_for_all(
    visit: Callable[..., Page], server: Server
) -> None:
    page = visit()
    page.goto("/")
    expect(page.locator(".sample")).to_have_count(3)
    page.get_by_role("button", name="A sum over 4 GPUs").click()
    url = until_report(page)
    assert "uneven_psum.py:14" in page.locator("main").inner_text()
    other = visit(java_script_enabled=False)
    other.goto("/")
    other.get_by_role("button", name="A sum over 4 GPUs").click()
    # Who made an id knows it, and nobody else: of a set each server has a report of its own.
    again = until_report(other)
    assert again == url or isinstance(server, ScaledServers)
    # The program of a sample is at hand, and stands beside its figures; after a restart, too.
    server.stop()
    server.start()
    other.goto(f"{url}/source")
    expect(other.locator("#L14 code")).to_contain_text("psum")
    expect(other.locator(".source-notes")).to_contain_text("that of uneven_psum.py on this server")


def test_a_pasted_text_is_a_dump_and_pasted_words_are_a_log(visit: Callable[..., Page]) -> None:
    page = visit()
    page.goto("/")
    page.evaluate(PASTE, ["Check failed: a != b", "main"])
    expect(page.get_by_label("Log of the run")).to_have_value("Check failed: a != b")
    page.evaluate(PASTE, [HLO, "main"])
    expect(page.locator("[data-chosen-dump]")).to_contain_text("pasted.txt")
    # What is pasted into the log is its own matter.
    page.evaluate(PASTE, [HLO, "#log"])
    expect(page.locator("[data-chosen-dump] li")).to_have_count(1)
    page.get_by_role("button", name="Explain").click()
    until_report(page)
    assert "pasted" in page.locator("main").inner_text()


def test_reports_seen_lately_are_listed_until_they_are_gone(visit: Callable[..., Page]) -> None:
    page = visit()
    page.goto("/")
    expect(page.locator("[data-recent]")).to_be_hidden()
    page.evaluate(PASTE, [HLO, "main"])
    page.get_by_role("button", name="Explain").click()
    url = until_report(page)
    until_noted(page, 1)
    title = page.title().removesuffix(" - hloscope")
    page.goto("/")
    link = page.locator("[data-recent] a")
    expect(link).to_have_text(title)
    assert barriers(page) == []
    link.click()
    assert until_report(page) == url
    owner = page.get_by_role("complementary", name="Your report")
    owner.locator("summary").click()
    owner.get_by_role("button", name="Delete for good").click()
    expect(page.locator("h1")).to_have_text("The report is deleted")
    until_noted(page, 0)
    page.goto("/")
    expect(link).to_have_count(0)
    page.evaluate("localStorage.setItem('hloscope.seen', '[{\"url\": \"javascript:alert(1)\"}]')")
    page.reload()
    expect(link).to_have_count(0)


def test_the_list_is_forgotten_when_asked(visit: Callable[..., Page]) -> None:
    page = visit()
    page.goto("/")
    page.evaluate(PASTE, [HLO, "main"])
    page.get_by_role("button", name="Explain").click()
    until_report(page)
    until_noted(page, 1)
    page.goto("/")
    page.get_by_role("button", name="Forget these").click()
    expect(page.locator("[data-recent]")).to_be_hidden()
    page.reload()
    expect(page.locator("[data-recent]")).to_be_hidden()


def test_stages_and_first_results_are_told_before_the_end(visit: Callable[..., Page]) -> None:
    page = visit()
    page.goto("/")
    page.get_by_role("button", name="Check failure in the collective pipeliner").click()
    page.wait_for_url(re.compile(r"/r/[\w-]{32}$"))
    stages = page.get_by_role("list", name="Stages of the analysis")
    expect(stages.locator("[data-state=now]")).to_have_count(1)
    # A quick analysis may end before the second of them is drawn, or before anybody looks.
    first = page.get_by_role("region", name="Known already")
    known = first.or_(page.locator("main:has(#findings)"))
    expect(known).to_contain_text(re.compile("jit_|The log says: "), timeout=REPORT_MS)
    # The report takes the place of this page at any moment: that one holds still.
    until_report(page)
    assert barriers(page) == []


def test_a_report_that_others_deleted_is_taken_off_the_list(
    browser: Browser, server: Server
) -> None:
    page = browser.new_context(base_url=server.base).new_page()
    page.goto("/")
    stored = '[{"url": "/r/gone", "name": "x", "when": 1}]'
    page.evaluate("text => localStorage.setItem('hloscope.seen', text)", stored)
    page.reload()
    page.locator("[data-recent] a").click()
    page.wait_for_url("**/r/gone")
    until_noted(page, 0)
    page.goto("/")
    expect(page.locator("[data-recent]")).to_be_hidden()
    page.context.close()


def test_a_word_that_is_no_release_is_not_sent(visit: Callable[..., Page]) -> None:
    page = visit()
    page.goto("/")
    field = page.get_by_label("jaxlib release")
    for words, is_release in {"banana": False, "0.4.30": True, "0.4.31.dev20240701": True}.items():
        field.fill(words)
        assert field.evaluate("field => field.checkValidity()") is is_release
