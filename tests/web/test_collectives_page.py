"""The page of collectives: drawing, table, groups, hostile names; with and without a browser."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from app.report.collectives import CollectivesPlace, collectives_page
from report import builders
from samples import load_sample
from web.accessible import barriers
from web.view_dumps import view_dump
from web.visiting import Server, report_on

HIDES = "box => box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1"
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
    for address in (f"{report}/collectives?group=line", f"{hostile}/collectives"):
        page.goto(address)
        expect(page.locator("a.bar").first).to_be_visible()
        # All of a row is seen: no table scrolls in a box of its own, sideways or down.
        assert [box for box in page.locator(".table-box").all() if box.evaluate(HIDES)] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert barriers(page) == []
        assert page.locator("script:not([src])").count() == 0
        assert "\u202e" not in page.content()


def test_source_lines_are_seen_without_scrolling(visit: Callable[..., Page], report: str) -> None:
    page = visit(viewport={"width": 1280, "height": 844})
    for address in (report, f"{report}/collectives"):
        page.goto(address)
        box = page.locator(".table-box").filter(has=page.locator("td.line-place")).first
        ends = [
            found["x"] + found["width"]
            for found in (each.bounding_box() for each in (box, box.locator("td.line-place").first))
            if found is not None
        ]
        assert len(ends) == 2
        assert ends[1] <= ends[0]


def test_bars_are_walked_by_keys_and_lead_to_their_rows(
    visit: Callable[..., Page], report: str
) -> None:
    page = visit()
    page.goto(f"{report}/collectives")
    page.locator("a.bar").first.focus()
    expect(page.locator("#bar-told")).to_contain_text("behind it")
    first = page.locator("tr.lit code").first.inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator("tr.lit code").first.inner_text() != first
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"#collective-\d+$"))
    page.locator("a.bar.kind-sync").first.focus()
    expect(page.locator("#bar-told")).to_contain_text("why it waits: made asynchronous by 0100")
    expect(page.locator("#bar-told")).to_contain_text("exposed")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


def test_the_table_is_sorted_filtered_and_grouped(visit: Callable[..., Page], report: str) -> None:
    page = visit()
    page.goto(f"{report}/collectives")
    heading = page.get_by_role("button", name="Exposed")
    heading.click()
    values = page.locator("tbody td:nth-child(4)").evaluate_all(
        "cells => cells.map((cell) => Number(cell.dataset.value))"
    )
    assert values == sorted(values, reverse=True)
    synchronous = page.locator("tbody tr").filter(has_text="synchronous again by")
    assert synchronous.count() == 10
    assert synchronous.filter(has_text="all of it").count() == 10
    expect(synchronous.first).to_contain_text(
        "made asynchronous by 0100 async-collective-creator, synchronous again by 0129 "
        "gpu-convert-async-collectives-to-sync; nothing stands between its start and its done"
    )
    expect(page.locator(".reasons li").first).to_contain_text("10 synchronous: made asynchronous")
    page.keyboard.press("f")
    page.keyboard.type("reduce-scatter")
    rows = page.locator("tbody tr:visible")
    assert 0 < rows.count() < page.locator("tbody tr").count()
    page.get_by_label("Group by").select_option("kind")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url(re.compile("group=kind"))
    titles = page.locator(".collective-group h3").all_inner_texts()
    assert {title.split()[0] for title in titles} == {"all-gather", "reduce-scatter"}


def test_it_is_whole_without_scripts(visit: Callable[..., Page], report: str) -> None:
    page = visit(java_script_enabled=False)
    page.goto(f"{report}/collectives?group=loop")
    assert page.locator("tbody tr:visible").count() == page.locator("tbody tr").count()
    assert page.locator("svg.schedule-drawing").first.is_visible()
    page.locator("a.bar").first.click()
    page.wait_for_url(re.compile(r"#collective-\d+$"))


@pytest.mark.parametrize("query", ["group=size", "module=nothing"])
def test_wrong_questions_are_told(
    visit: Callable[..., Page], browser: Browser, server: Server, report: str, query: str
) -> None:
    context = browser.new_context(base_url=server.base)
    assert context.request.get(f"{report}/collectives?{query}").status in (404, 422)
    context.close()


def test_ten_thousand_collectives_make_a_page() -> None:
    report = builders.huge_report(10_000)
    module = next(m for m in report.modules if m.id == report.collectives[0].module)
    html = collectives_page(report, CollectivesPlace("/r/x", module, "kind"), ())
    assert "are not in this page" in html
    assert len(html) < 20_000_000
