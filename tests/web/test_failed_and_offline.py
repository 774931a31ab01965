"""The page of a report that failed, and the report as one file: for all to read, in any form."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from samples import load_sample
from web.accessible import barriers
from web.view_dumps import HOSTILE, view_dump
from web.visiting import Server, report_on

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

FORMS = [(width, scheme) for width in (390, 1280) for scheme in ("light", "dark")]
NAME = f"{HOSTILE.replace('/', '')}.tar.gz"
NO_DUMPS = {
    "no dump": f"only {HOSTILE} here".encode(),
    "damaged": view_dump()[:30],
}


def sent(browser: Browser, server: Server, data: bytes) -> str:
    """The path of the page on an upload that no report comes of."""
    context = browser.new_context(base_url=server.base)
    path = f"/api/v1/reports/{quote(NAME, safe='')}?wait=60"
    answer = context.request.put(path, data=data, timeout=90_000).json()
    assert answer["state"] == "failed"
    context.close()
    return answer["url"]


@pytest.fixture(scope="module")
def failed(server: Server, browser: Browser) -> dict[str, str]:
    return {why: sent(browser, server, data) for why, data in NO_DUMPS.items()}


@pytest.fixture(scope="module")
def files(
    server: Server, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Reports as they are downloaded: of a crash, and of names made to harm."""
    folder = tmp_path_factory.mktemp("offline")
    dumps = {"crash": load_sample("pipeliner_crash").archive.read_bytes(), "hostile": view_dump()}
    context = browser.new_context(base_url=server.base)
    for name, dump in dumps.items():
        page = report_on(dump, browser, server).removeprefix("/r/")
        answer = context.request.get(f"/api/v1/reports/{page}/report.html")
        assert answer.ok
        (folder / f"{name}.html").write_bytes(answer.body())
    context.close()
    return {name: folder / f"{name}.html" for name in dumps}


@pytest.mark.parametrize("why", NO_DUMPS)
@pytest.mark.parametrize(("width", "scheme"), FORMS)
def test_a_failed_report_is_read_by_all(
    visit: Callable[..., Page], failed: dict[str, str], why: str, width: int, scheme: str
) -> None:
    page = visit(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page.goto(failed[why])
    expect(page.locator("h1")).to_contain_text("There is no report on <script>")
    expect(page.locator(".message.error strong")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("script:not([src]):not([type='application/json'])").count() == 0
    assert "\u202e" not in page.content()
    assert barriers(page) == []


def test_a_failed_report_is_whole_without_scripts(
    visit: Callable[..., Page], failed: dict[str, str]
) -> None:
    page = visit(java_script_enabled=False)
    page.goto(failed["no dump"])
    expect(page.locator(".message.error strong")).to_be_visible()
    expect(page.get_by_role("link", name="Send another dump")).to_be_visible()


def test_of_a_failed_report_no_copy_is_promised(visit: Callable[..., Page], tmp_path: Path) -> None:
    words = tmp_path / "notes.tar.gz"
    words.write_bytes(NO_DUMPS["no dump"])
    page = visit()
    page.goto("/")
    page.locator("#dump").set_input_files(words)
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("link", name="Send another dump")).to_be_visible(timeout=60_000)
    expect(page.get_by_label("Your report")).to_contain_text("only whoever has this address")
    expect(page.get_by_label("Your report")).not_to_contain_text("share a copy")


@pytest.mark.parametrize("name", ["crash", "hostile"])
@pytest.mark.parametrize(("width", "scheme"), FORMS)
def test_the_file_is_read_by_all_and_asks_nobody(
    visit: Callable[..., Page], files: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    page = visit(viewport={"width": width, "height": 844}, color_scheme=scheme)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(files[name].as_uri())
    expect(page.locator("h1")).to_be_visible()
    page.locator("details").evaluate_all("all => all.forEach((each) => { each.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(page) == []
    assert asked == [files[name].as_uri()]
    assert "\u202e" not in page.content()
    assert page.evaluate("document.querySelectorAll('main b, main img[onerror]').length") == 0
