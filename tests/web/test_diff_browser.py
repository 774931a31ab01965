"""Two texts side by side in a real Chromium: keys, links, back, search, a very long text."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from web.accessible import barriers
from web.asking import tar_of
from web.view_dumps import HOSTILE
from web.visiting import Server, report_on

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

HEAD = "HloModule jit_step, is_scheduled=true\n\n"
FUSED = """fused {
  q = f32[64] parameter(0)
  e = f32[64] exponential(q)
  ROOT t = f32[64] tanh(e)
}

"""
BEFORE = """ENTRY main {
  p = f32[64] parameter(0)
  e = f32[64] exponential(p)
  t = f32[64] tanh(e)
  n = f32[64] negate(p), metadata={op_name="HOSTILE"}
%(lines)s
  ROOT r = f32[64] add(t, n)
}
"""
AFTER = """ENTRY main {
  p = f32[64] parameter(0)
  f = f32[64] fusion(p), kind=kLoop, calls=fused
  n = f32[64] negate(p), metadata={op_name="HOSTILE changed"}
%(lines)s
  ROOT r = f32[64] add(f, n)
}
"""
LONG = 20_000


def dump(lines: int) -> bytes:
    """Two texts of a module: two instructions are fused, one has other metadata."""
    filling = "\n".join(f"  k.{n} = f32[64] abs(p)" for n in range(lines))
    texts = [
        (text % {"lines": filling}).replace("HOSTILE", HOSTILE.replace('"', '\\"'))
        for text in (HEAD + BEFORE, HEAD + FUSED + AFTER)
    ]
    name = "module_0001.jit_step.00{}.pipeline.after_{}.before_next.txt"
    return tar_of(
        {
            name.format("01", "dce"): texts[0].encode(),
            name.format("02", "fusion"): texts[1].encode(),
        }
    )


def sent(server: Server, browser: Browser, lines: int) -> str:
    return report_on(dump(lines), browser, server)


@pytest.fixture(scope="module")
def report(server: Server, browser: Browser) -> str:
    return sent(server, browser, 40)


def opened(page: Page, report: str, query: str = "") -> Page:
    page.set_default_timeout(15_000)
    page.goto(f"{report}/diff{query}")
    expect(page.locator("#panes .row:not(.waiting)").first).to_be_visible()
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_and_keeps_nobody_out(
    visit: Callable[..., Page], report: str, width: int, scheme: str
) -> None:
    page = opened(visit(viewport={"width": width, "height": 844}, color_scheme=scheme), report)
    page.keyboard.press("n")
    expect(page.locator("#detail")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("script:not([src]):not([type='application/json'])").count() == 0
    assert barriers(page) == []
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next change")
    assert barriers(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_keys_go_from_change_to_change_and_the_address_follows(
    visit: Callable[..., Page], report: str
) -> None:
    page = opened(visit(), report)
    page.keyboard.press("n")
    page.wait_for_url(re.compile(r"[?&]at=\d+"))
    first = page.url
    page.keyboard.press("j")
    assert page.url != first
    page.keyboard.press("p")
    assert page.url == first
    page.keyboard.press("k")
    expect(page.locator("#diff-status")).to_have_text("No change further up.")
    page.reload()
    expect(page.locator("#panes .row.here")).to_be_visible()
    assert page.url == first


def test_hostile_text_is_text_and_the_changed_part_is_marked(
    visit: Callable[..., Page], report: str
) -> None:
    page = opened(visit(), report)
    mark = page.locator("#panes .pane.b mark.differs")
    expect(mark).to_have_text(" changed")
    line = page.locator("#panes .row:has(mark.differs)").inner_text()
    assert "</script><script>alert" in line
    assert "\\u202e" in line


def test_a_name_leads_to_its_definition_and_back(visit: Callable[..., Page], report: str) -> None:
    page = opened(visit(), report)
    page.locator("#panes .pane.b a[data-row]", has_text="fused").first.click()
    expect(page.locator("#panes .row.here .pane.b")).to_contain_text("fused {")
    there = page.url
    page.go_back()
    page.wait_for_url(lambda url: url != there)
    page.go_forward()
    page.wait_for_url(there)
    expect(page.locator("#panes .row.here .pane.b")).to_contain_text("fused {")


def test_what_moved_shows_its_other_place(visit: Callable[..., Page], report: str) -> None:
    page = opened(visit(), report)
    moved = page.locator("#panes .pane.a.kind-m", has_text="exponential")
    moved.hover()
    expect(page.locator("#panes .row.partner .pane.b")).to_contain_text("exponential(q)")
    moved.get_by_role("link", name="other place").click()
    expect(page.locator("#panes .row.here .pane.b")).to_contain_text("exponential(q)")


def test_folds_open_and_a_search_finds_what_is_folded(
    visit: Callable[..., Page], report: str
) -> None:
    page = opened(visit(), report)
    expect(page.locator("#panes .fold")).to_have_count(1)
    page.keyboard.press("/")
    page.keyboard.type("k.21 ")
    page.keyboard.press("Enter")
    expect(page.locator("#diff-status")).to_have_text("Hit 1 of 1.")
    expect(page.locator("#panes .row.here .pane.a")).to_contain_text("k.21 = f32[64] abs(p)")
    expect(page.locator("#panes .fold")).to_have_count(0)
    assert "q=k.21" in page.url
    assert "open=0" in page.url
    page.keyboard.press("Escape")
    page.keyboard.press("o")
    expect(page.locator("#panes .fold")).to_have_count(1)


def test_the_outline_leads_to_computations(visit: Callable[..., Page], report: str) -> None:
    page = opened(visit(), report)
    page.get_by_label("Filter computations by name").fill("fus")
    expect(page.locator("#outline-list li:visible")).to_have_count(1)
    page.locator("#outline-list li:visible a").click()
    expect(page.locator("#panes .row.here")).to_contain_text("fused {")


def test_it_is_whole_without_scripts(visit: Callable[..., Page], report: str) -> None:
    page = visit(java_script_enabled=False)
    page.goto(f"{report}/diff")
    expect(page.locator("#panes .row").first).to_be_visible()
    page.locator("#panes .fold a").click()
    expect(page.locator("#panes")).to_contain_text("k.21 = f32[64] abs(p)")
    assert page.locator("button:visible").all_inner_texts() == ["Compare", "Find"]


def test_a_very_long_text_is_scrolled_with_few_elements(
    visit: Callable[..., Page], server: Server, browser: Browser
) -> None:
    page = opened(visit(), sent(server, browser, LONG))
    page.keyboard.press("x")
    panes = page.locator("#panes")
    for share in (0.2, 0.5, 0.9, 0.1, 1):
        panes.evaluate("(frame, share) => { frame.scrollTop = share * frame.scrollHeight; }", share)
        page.wait_for_timeout(50)
        assert page.locator("#panes .row").count() < 200
    expect(page.locator("#panes .row", has_text="ROOT r = f32[64] add(f, n)")).to_be_visible()
    panes.focus()
    page.keyboard.press("Home")
    expect(page.locator("#panes .row.here")).to_contain_text("fused {")
