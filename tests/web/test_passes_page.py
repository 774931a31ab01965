"""The page of passes in a real Chromium: curves, scrubber, keys, folded rows, hostile names."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from samples import load_sample
from web.accessible import barriers
from web.view_dumps import view_dump
from web.visiting import Server, report_on

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def report(server: Server, browser: Browser) -> str:
    return report_on(load_sample("pipeliner_crash").archive.read_bytes(), browser, server)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_and_keeps_nobody_out(
    visit: Callable[..., Page],
    server: Server,
    browser: Browser,
    report: str,
    width: int,
    scheme: str,
) -> None:
    page = visit(viewport={"width": width, "height": 844}, color_scheme=scheme)
    for address in (report, report_on(view_dump(), browser, server)):
        page.goto(f"{address}/passes")
        page.wait_for_selector(".plot .main-svg")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert barriers(page) == []
        assert "\u202e" not in page.content()


def test_keys_and_the_scrubber_step_and_the_address_follows(
    visit: Callable[..., Page], report: str
) -> None:
    page = visit()
    page.goto(f"{report}/passes?at=0")
    name = page.locator("#pass-name")
    expect(page.locator("#scrub")).to_be_visible()
    start = name.inner_text()
    page.keyboard.press("n")
    assert name.inner_text() != start
    assert re.search(r"[?&]at=[1-9]\d*", page.url)
    page.keyboard.press("p")
    page.keyboard.press("End")
    expect(page.locator("#later-change")).to_be_hidden()
    last = page.url
    page.locator("#scrub").focus()
    page.keyboard.press("ArrowLeft")
    assert page.url != last
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("previous pass that changed")
    page.keyboard.press("Escape")
    page.locator("body").press("o")
    page.wait_for_url(re.compile(r"/diff\?"))


def test_the_way_back_takes_steps_from_change_to_change_again(
    visit: Callable[..., Page], report: str
) -> None:
    page = visit()
    page.goto(f"{report}/passes?at=0")
    name = page.locator("#pass-name")
    expect(page.locator("#scrub")).to_be_visible()
    names = [name.inner_text()]
    for step in ("click", "key"):
        page.locator("#later-change").click() if step == "click" else page.keyboard.press("n")
        expect(name).not_to_have_text(names[-1])
        names.append(name.inner_text())
    page.locator("#scrub").focus()
    page.keyboard.press("ArrowRight")
    expect(name).not_to_have_text(names[-1])
    for told in reversed(names[:-1]):
        page.go_back()
        expect(name).to_have_text(told)
    assert "at=0&" in page.url
    page.go_forward()
    expect(name).to_have_text(names[1])


def test_a_click_on_a_curve_opens_the_pass(visit: Callable[..., Page], report: str) -> None:
    page = visit(viewport={"width": 1280, "height": 1000})
    page.goto(f"{report}/passes")
    page.wait_for_selector(".plot .main-svg")
    page.locator(".plot .scatterlayer .point").last.click(force=True)
    page.wait_for_url(re.compile(r"/diff\?"))


def test_passes_that_changed_nothing_are_folded_and_can_be_seen(
    visit: Callable[..., Page], report: str
) -> None:
    page = visit(java_script_enabled=False)
    page.goto(f"{report}/passes")
    rows = page.locator("tbody tr").count()
    expect(page.locator(".quiet-passes").first).to_contain_text("nothing changed")
    page.locator(".quiet-passes a").first.click()
    page.wait_for_url(re.compile("all=1"))
    assert page.locator("tbody tr").count() > rows
    expect(page.locator(".quiet-passes")).to_have_count(0)
    assert page.locator("svg.curve").count() > 2
    page.goto(f"{report}/passes?at=5")
    assert page.locator("tr.here").count() == 1


def test_changes_are_asked_for_before_the_click(
    visit: Callable[..., Page], server: Server, browser: Browser
) -> None:
    page = visit()
    address = report_on(load_sample("fsdp_pipelined").archive.read_bytes(), browser, server)
    page.goto(f"{address}/passes")
    # The pointer rests on nothing that moves: figures are drawn above the list.
    page.wait_for_load_state("networkidle")
    expect(page.locator(".scrubber")).to_be_visible()
    link = page.locator("th a[href*='/diff?']").first
    with page.expect_response(re.compile(r"/diff/rows\?")) as answer:
        link.hover()
    assert answer.value.ok
    href = link.get_attribute("href") or ""
    assert answer.value.url.replace("/diff/rows", "/diff").endswith(f"{href}&rows=0")
