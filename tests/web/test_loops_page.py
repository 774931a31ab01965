"""The page of loops in a real Chromium: lanes, one loop in full, its rewrite side by side."""

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
    return report_on(load_sample("fsdp_pipelined").archive.read_bytes(), browser, server)


@pytest.fixture(scope="module")
def hostile(server: Server, browser: Browser) -> str:
    return report_on(view_dump(), browser, server)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_and_keeps_nobody_out(
    visit: Callable[..., Page], report: str, hostile: str, width: int, scheme: str
) -> None:
    page = visit(viewport={"width": width, "height": 844}, color_scheme=scheme)
    for address in (f"{report}/loops", f"{hostile}/loops"):
        page.goto(address)
        expect(page.locator(".lane").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert barriers(page) == []
        assert page.locator("script:not([src])").count() == 0
        assert "\u202e" not in page.content()


def test_lanes_are_not_squeezed_on_a_phone(visit: Callable[..., Page], report: str) -> None:
    page = visit(viewport={"width": 390, "height": 844})
    for address in (f"{report}/loops", report):
        page.goto(address)
        name = page.locator(".lane .lane-name").first
        bar = page.locator(".lane .lane-bar").first.bounding_box()
        size = name.evaluate("element => parseFloat(getComputedStyle(element).fontSize)")
        assert size >= 11
        assert bar is not None
        assert bar["width"] > 250


@pytest.mark.parametrize("width", [390, 1280])
def test_a_long_place_goes_below_the_name_of_its_loop_and_cuts_neither(
    visit: Callable[..., Page], report: str, width: int
) -> None:
    page = visit(viewport={"width": width, "height": 844})
    page.goto(f"{report}/loops")
    label = page.locator(".lane.depth-1 .lane-label").first
    label.locator(".lane-place").evaluate("span => { span.textContent = 'a_long_name.py:12345'; }")
    label.locator(".lane-name").evaluate("name => { name.textContent = 'while.region_12.34'; }")
    for part in ("name", "place"):
        assert label.locator(f".lane-{part}").evaluate("e => e.scrollWidth <= e.clientWidth")


def test_a_loop_shows_its_history_what_it_carries_and_its_rewrite(
    visit: Callable[..., Page], report: str
) -> None:
    page = visit(java_script_enabled=False)
    page.goto(f"{report}/loops")
    expect(page.locator("#rewrite-title")).to_contain_text("collective-pipeliner")
    assert page.locator("#rewrite .pane.a.kind-c, #rewrite .pane.a.kind-m").count() > 0
    assert page.locator("#rewrite .pane.b.kind-a, #rewrite .pane.b.kind-c").count() > 0
    roles = page.locator(".role").all_inner_texts()
    assert "counter" in roles
    assert any(role.startswith("read slice by slice") for role in roles)
    expect(page.locator("#trip-title ~ p").first).to_contain_text("Each iteration: ")
    page.locator("#whole-rewrite").click()
    page.wait_for_url(re.compile(r"/diff\?.*computation="))


def test_keys_step_from_loop_to_loop_and_rewrite_to_rewrite(
    visit: Callable[..., Page], report: str
) -> None:
    page = visit()
    page.goto(f"{report}/loops")
    first = page.locator("#loop-title code").inner_text()
    page.keyboard.press("n")
    page.wait_for_url(re.compile(r"event=\d+"))
    expect(page.locator("#rewrite-title")).to_contain_text("double-buffer")
    page.keyboard.press("j")
    expect(page.locator("#loop-title code")).not_to_have_text(first)
    expect(page.locator("#keys-button")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next or previous loop")


@pytest.mark.parametrize("query", ["loop=nothing", "module=nothing", "event=x"])
def test_wrong_questions_are_told(
    browser: Browser, server: Server, report: str, query: str
) -> None:
    context = browser.new_context(base_url=server.base)
    assert context.request.get(f"{report}/loops?{query}").status in (404, 422)
    context.close()


def test_a_text_without_an_event_is_told_and_the_first_rewrite_offered(
    visit: Callable[..., Page], report: str
) -> None:
    page = visit()
    page.goto(f"{report}/loops")
    expect(page.locator("#rewrite")).to_be_visible()
    expect(page.locator(".message.warning")).to_have_count(0)
    page.goto(f"{report}/loops?event=99999")
    expect(page.locator(".message.warning")).to_contain_text("No pass did anything to this loop in")
    page.get_by_role("link", name="The first that rewrote it").click()
    expect(page.locator("#rewrite")).to_be_visible()
