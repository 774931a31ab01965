"""The views of a report in a real Chromium: by keys, on a phone, for those who do not see."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from web.accessible import barriers
from web.view_dumps import PROGRAM, view_dump
from web.visiting import Server, report_on

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

SCHEMES = ("light", "dark")
PAST = "history?text=1&computation=main&instruction=w"
CHOSEN = f"file={PROGRAM}&line=7"
VIEWS = (
    "",
    "memory",
    "source",
    f"source?{CHOSEN}",
    f"source?{CHOSEN}&pass=0",
)


@pytest.fixture(scope="module")
def report(server: Server, browser: Browser) -> str:
    return report_on(view_dump(), browser, server)


def hidden_scripts(page: Page) -> int:
    """Elements that a name of the dump would have made, had it been taken for HTML."""
    return page.locator("script:not([src]):not([type='application/json']), main b").count()


@pytest.mark.parametrize("view", [*VIEWS, PAST])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [390, 1280])
def test_a_view_fits_and_keeps_nobody_out(
    visit: Callable[..., Page], report: str, view: str, scheme: str, width: int
) -> None:
    page = visit(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page.goto(f"{report}/{view}".rstrip("/"))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert hidden_scripts(page) == 0
    assert barriers(page) == []


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_read_without_a_script(
    visit: Callable[..., Page], report: str, view: str
) -> None:
    page = visit(java_script_enabled=False)
    page.goto(f"{report}/{view}".rstrip("/"))
    expect(page.locator("h1")).to_be_visible()
    expect(
        page.get_by_text(re.compile(r"^train\.py")).locator("visible=true").first
    ).to_be_visible()


def test_the_curve_is_walked_by_keys_and_pointed_at(
    visit: Callable[..., Page], report: str
) -> None:
    page = visit()
    page.goto(f"{report}/memory")
    told = page.locator("#curve-told")
    expect(told).to_have_text("144.0 KiB at position 4, where sum runs, in loop.1 train.py:7")
    page.locator("#curve-box").focus()
    page.keyboard.press("ArrowRight")
    expect(told).to_contain_text("at position 5, where u runs")
    page.keyboard.press("Home")
    expect(told).to_contain_text("at position 0, where x0 runs")
    curve = page.locator(".memory-curve.wide")
    box = curve.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + 40)
    expect(told).to_contain_text("at position 9")


def test_buffers_are_sorted_and_filtered(visit: Callable[..., Page], report: str) -> None:
    page = visit()
    page.goto(f"{report}/memory")
    names = page.locator("#buffers tbody th a code")
    assert names.first.inner_text().startswith("p{2}")
    page.locator("#buffers").get_by_role("button", name="Buffer").click()
    assert names.first.inner_text() == "h"
    expect(page.locator("#buffers th[aria-sort]")).to_have_attribute("aria-sort", "ascending")
    page.get_by_label("Filter").fill("collective")
    expect(page.locator("#buffers tbody tr:visible")).to_have_count(1)
    names.locator("visible=true").first.click()
    page.wait_for_url(re.compile("/graph.*instruction=sum"))


def test_lines_are_opened_by_keys_and_found_again(visit: Callable[..., Page], report: str) -> None:
    page = visit(viewport={"width": 390, "height": 844})
    page.goto(f"{report}/source")
    page.keyboard.press("n")
    page.keyboard.press("n")
    page.keyboard.press("p")
    page.keyboard.press("Enter")
    page.wait_for_url("**line=7**")
    detail = page.get_by_role("region", name="What the line became")
    expect(detail).to_contain_text("train.py:7 in after optimizations")
    expect(detail.get_by_role("link", name="h", exact=True)).to_be_visible()
    page.get_by_role("link", name="Previous text").click()
    page.wait_for_url("**pass=0**")
    expect(detail).to_contain_text("train.py:7 in 0001 first")
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    page.wait_for_url("**line=9**")
    expect(detail).to_contain_text("train.py:9 in 0001 first")
    page.go_back()
    expect(detail).to_contain_text("train.py:7 in 0001 first")
    page.go_back()
    expect(detail).to_contain_text("train.py:7 in after optimizations")
    page.go_forward()
    expect(detail).to_contain_text("train.py:7 in 0001 first")


@pytest.mark.parametrize(
    "view", ["", "passes", "diff", "loops", "collectives", "source", "memory", "graph"]
)
def test_a_question_mark_tells_the_keys_of_a_view(
    visit: Callable[..., Page], report: str, view: str
) -> None:
    page = visit()
    page.goto(f"{report}/{view}".rstrip("/"))
    expect(page.locator("#keys-button")).to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("#keys dt").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#keys dt").first).to_be_hidden()
    assert page.locator("#keys dd").last.text_content() == "this help"


def test_keys_lead_to_other_texts_and_into_the_search(
    visit: Callable[..., Page], report: str
) -> None:
    page = visit()
    page.goto(f"{report}/graph")
    page.keyboard.press("[")
    page.wait_for_url(re.compile(r"[?&]text=\d+"))
    expect(page.locator("#keys-button")).to_be_visible()
    page.keyboard.press("/")
    expect(page.locator('[name="find"]')).to_be_focused()
    page.keyboard.type("[")
    assert page.locator('[name="find"]').input_value() == "["


def test_the_past_of_a_collective_is_one_click_away(
    visit: Callable[..., Page], report: str
) -> None:
    page = visit(viewport={"width": 390, "height": 844})
    page.goto(f"{report}/collectives")
    page.get_by_role("link", name="which pass made").first.click()
    expect(page.locator("h1")).to_have_text("sum")
    expect(page.locator("main")).to_contain_text("all-reduce in body")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert barriers(page) == []
    assert hidden_scripts(page) == 0


def test_keys_step_through_the_past(visit: Callable[..., Page], report: str) -> None:
    page = visit()
    page.goto(f"{report}/{PAST}")
    page.keyboard.press("n")
    expect(page.locator("[data-step]").first).to_be_focused()
    page.keyboard.press("?")
    expect(page.locator("#keys dt").first).to_be_visible()


def test_a_report_is_printed_at_the_width_of_the_paper(
    visit: Callable[..., Page], report: str
) -> None:
    page = visit(viewport={"width": 1280, "height": 900})
    page.goto(report)
    is_seen = "document.querySelector('#files .facts').checkVisibility()"
    assert not page.evaluate(is_seen)
    page.emulate_media(media="print")
    width = page.evaluate("document.querySelector('.verdict').getBoundingClientRect().width")
    assert width > 1_100
    expect(page.locator("nav.views")).to_be_hidden()
    # What is folded on the screen stands on paper.
    assert page.evaluate(is_seen)
    expect(page.locator(".actions")).to_be_hidden()


def test_the_last_text_tells_the_bytes_of_temporaries(
    visit: Callable[..., Page], report: str
) -> None:
    page = visit()
    page.goto(f"{report}/passes")
    page.keyboard.press("End")
    expect(page.locator("#pass-facts")).to_contain_text(re.compile(r"Temporaries\s*[\d.]+ \w?i?B"))
    page.keyboard.press("Home")
    expect(page.locator("#pass-facts")).not_to_contain_text("Temporaries")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_ways_to_the_views_stand_at_one_place(
    visit: Callable[..., Page], report: str, width: int
) -> None:
    page = visit(viewport={"width": width, "height": 844})
    views = ("", "passes", "diff", "loops", "collectives", "source", "memory", "graph")
    places: set[str] = set()
    for view in views:
        page.goto(f"{report}/{view}".rstrip("/"))
        links = page.locator(".views a")
        assert links.count() == len(views)
        places.add(str([link.bounding_box() for link in links.all()]))
    assert len(places) == 1
