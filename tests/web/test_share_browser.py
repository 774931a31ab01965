"""Sharing in a real Chromium: look, make the copy, take its link, revoke; readable by anyone."""

from collections.abc import Callable

import pytest
from playwright.sync_api import FilePayload, Page, expect

from web.accessible import barriers
from web.planted import ARCHIVE_NAME, leaks, planted_dump
from web.visiting import REPORT_MS, Server

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (390, "dark")], ids=["wide light", "narrow dark"]
)
def test_a_copy_is_looked_at_given_away_and_revoked(
    visit: Callable[..., Page], server: Server, width: int, scheme: str
) -> None:
    page = visit(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    file = FilePayload(name=ARCHIVE_NAME, mimeType="application/gzip", buffer=planted_dump())
    sent = page.request.post(
        "/",
        multipart={"dump": file, "label": "<script>alert(1)</script>\u202e'\""},
        headers={"accept": "application/json", "origin": server.base},
    )
    page.goto(sent.json()["url"])
    page.wait_for_selector(".report-nav", timeout=REPORT_MS)
    expect(page.locator(".about")).to_contain_text("<script>alert(1)</script>'\"")
    page.get_by_role("link", name="Share").click()
    page.get_by_role("button", name="Show what goes").click()
    expect(page.get_by_role("heading", name="What goes")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert barriers(page) == []
    page.get_by_role("button", name="Make the copy").click()
    page.wait_for_selector(".report-nav", timeout=REPORT_MS)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Link copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    other = visit()
    other.goto(link)
    other.wait_for_selector(".report-nav", timeout=REPORT_MS)
    assert leaks(other.content()) == {}
    assert barriers(other) == []
    expect(other.locator(".about")).to_contain_text("A copy made for sharing")
    expect(other.get_by_role("complementary", name="Your report")).to_have_count(0)
    page.locator("summary", has_text="Revoke").click()
    page.get_by_role("button", name="Revoke for good").click()
    expect(page.locator("h1")).to_contain_text("deleted")
    assert barriers(page) == []
    assert other.request.get(link).status == 404
