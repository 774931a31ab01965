"""The way of a person through a real Chromium: drop, watch, read, share, come back, delete."""

import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from samples import unpack
from web.accessible import barriers
from web.visiting import FAR, REPORT_MS, ROOT, Server

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

SAMPLE = ROOT / "sample_dumps" / "pipeliner_crash"


def drop(page: Page, *paths: Path, on: str = "[data-drop]") -> None:
    """Drop files or folders from outside, as the desktop does."""
    page.locator(on).scroll_into_view_if_needed()
    box = page.locator(on).bounding_box()
    assert box is not None
    session = page.context.new_cdp_session(page)
    where = {"x": box["x"] + box["width"] / 2, "y": box["y"] + 20}
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, **where, "data": data})


def headline(page: Page) -> str:
    page.wait_for_selector(".report-nav", timeout=REPORT_MS)
    return page.locator("h1").first.inner_text()


def sideways(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def test_from_a_dropped_dump_to_a_link_that_lasts(
    visit: Callable[..., Page], server: Server
) -> None:
    page = visit()
    page.goto("/")
    drop(page, SAMPLE / "dump.tar.gz", SAMPLE / "run.log")
    expect(page.locator("[data-chosen-dump]")).to_contain_text("dump.tar.gz")
    expect(page.locator("[data-chosen-logs]")).to_contain_text("run.log")
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 500_000}
    session.send("Network.emulateNetworkConditions", slow)
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("[data-sending]")).to_be_visible()
    expect(page.locator("[data-figures]")).to_have_text(re.compile(r"^[\d.]+ .iB of 1\.\d MiB"))
    assert 0 < page.locator("[data-bar]").evaluate("bar => bar.value") <= 1
    page.wait_for_url(re.compile(r"/r/[\w-]{32}$"))
    said = headline(page)
    assert "while.17" in said
    assert "prog1.py:55" in page.locator("main").inner_text()

    other = visit()
    other.goto(page.url)
    assert headline(other) == said
    expect(other.get_by_role("complementary", name="Your report")).to_have_count(0)

    server.stop()
    server.start()
    other.reload()
    assert headline(other) == said
    page.reload()
    expect(page.get_by_role("complementary", name="Your report")).to_be_visible()


def test_a_dropped_folder_is_packed_on_the_way(visit: Callable[..., Page], tmp_path: Path) -> None:
    with tarfile.open(SAMPLE / "dump.tar.gz") as archive:
        members = [member for member in archive if member.isfile()][:12]
        for member in members:
            target = tmp_path / "my dump" / Path(member.name).name
            target.parent.mkdir(exist_ok=True)
            file = archive.extractfile(member)
            assert file is not None
            target.write_bytes(file.read())
    page = visit()
    page.goto("/")
    drop(page, tmp_path / "my dump")
    expect(page.locator("[data-chosen-dump]")).to_contain_text("my dump")
    expect(page.locator("[data-chosen-dump]")).to_contain_text("12 files")
    page.get_by_role("button", name="Explain").click()
    headline(page)
    report = page.request.get(f"{page.url}/report.json").json()
    assert report["coverage"]["files"] == 12
    assert report["input"]["name"] == "my dump.tar"


def test_the_program_is_dropped_beside_the_archive(
    visit: Callable[..., Page], tmp_path: Path
) -> None:
    page = visit()
    page.goto("/")
    drop(page, *(SAMPLE / name for name in ("dump.tar.gz", "run.log", "prog1.py")))
    expect(page.locator("[data-chosen-dump]")).to_contain_text("prog1.py")
    page.get_by_role("button", name="Explain").click()
    headline(page)
    line = (SAMPLE / "prog1.py").read_text().splitlines()[54].strip()
    page.goto(f"{page.url}/source")
    expect(page.locator("#L55")).to_contain_text(line)


def test_a_program_beside_a_zip_is_refused_in_words(
    visit: Callable[..., Page], tmp_path: Path
) -> None:
    (tmp_path / "dump.zip").write_bytes(b"PK")
    page = visit()
    page.goto("/")
    drop(page, tmp_path / "dump.zip", SAMPLE / "prog1.py")
    expect(page.locator("[data-chosen-dump]")).to_contain_text("prog1.py")
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("[data-problem]")).to_contain_text("prog1.py cannot go along with dump.zip")
    page.get_by_role("button", name="Remove prog1.py").click()
    expect(page.locator("[data-chosen-dump]")).not_to_contain_text("prog1.py")


def test_on_a_longer_way_a_folder_is_compressed(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    folder = unpack(SAMPLE / "dump.tar.gz", tmp_path / "dump")
    page = browser.new_context().new_page()
    page.goto(server.base.replace("127.0.0.1", FAR))
    drop(page, folder)
    expect(page.locator("[data-chosen-dump]")).to_contain_text("files")
    page.get_by_role("button", name="Explain").click()
    headline(page)
    report = page.request.get(f"{page.url}/report.json".replace(FAR, "127.0.0.1")).json()
    sent = report["input"]
    assert sent["name"] == "dump.tar.gz"
    assert sent["bytes"] < report["coverage"]["bytes"] / 5
    page.context.close()


def test_a_pasted_log_alone_is_explained_and_deleted(visit: Callable[..., Page]) -> None:
    page = visit()
    page.goto("/")
    page.get_by_label("Log of the run").fill(
        "F0412 10:11:12.345678 4242 some_pass.cc:12] Check failed: a != b (1 vs. 1)\n"
    )
    page.get_by_label("jaxlib release").fill("0.4.30")
    page.get_by_role("button", name="Explain").press("Enter")
    page.wait_for_url(re.compile(r"/r/[\w-]{32}$"))
    headline(page)
    assert "some_pass.cc" in page.locator("main").inner_text()
    owner = page.get_by_role("complementary", name="Your report")
    owner.locator("summary").click()
    owner.get_by_role("button", name="Delete for good").click()
    expect(page.locator("h1")).to_have_text("The report is deleted")


def test_the_second_of_two_clicks_starts_nothing_else(visit: Callable[..., Page]) -> None:
    page = visit()
    page.goto("/")
    page.get_by_label("Log of the run").fill(
        "F0412 10:11:12.345678 4242 some_pass.cc:13] Check failed: a != b (1 vs. 1)\n"
    )
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "GET":
            route.continue_()
        else:
            held.append(route)

    page.route("**/*", hold)
    page.get_by_role("button", name="Explain").dblclick(no_wait_after=True)
    expect(page.get_by_role("heading", name="Sending")).to_be_visible()
    assert page.locator("section:has(.samples)").evaluate("each => each.inert") is True
    page.wait_for_timeout(100)
    (only,) = held
    only.continue_()
    page.wait_for_url(re.compile(r"/r/[\w-]{32}$"))
    headline(page)
    assert "some_pass.cc" in page.locator("main").inner_text()


def test_without_a_script_the_form_does_the_same(visit: Callable[..., Page]) -> None:
    page = visit(java_script_enabled=False)
    page.goto("/")
    page.locator("#dump").set_input_files(SAMPLE / "dump.tar.gz")
    page.locator("input[name=log]").set_input_files(SAMPLE / "run.log")
    page.get_by_role("button", name="Explain").click()
    assert "while.17" in headline(page)


def test_what_is_wrong_is_told_beside_the_form(visit: Callable[..., Page], tmp_path: Path) -> None:
    page = visit()
    page.goto("/")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("alert")).to_have_text("Choose a dump, or give the log of the run.")
    (tmp_path / "empty").mkdir()
    drop(page, tmp_path / "empty")
    expect(page.get_by_role("alert")).to_have_text("There is no file in it.")
    drop(page, SAMPLE / "dump.tar.gz")
    expect(page.get_by_role("alert")).to_be_hidden()
    page.get_by_role("button", name="Remove dump.tar.gz").click()
    expect(page.locator("[data-chosen-dump] li")).to_have_count(0)


def test_a_refusal_brings_the_form_back_as_it_was(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "photo.tar.gz").write_bytes(b"\xff\xd8\xff\xe0" + bytes(600))
    page = browser.new_context(base_url=server.base).new_page()
    page.goto("/")
    page.get_by_label("XLA_FLAGS of the run").fill("--xla_x=1")
    drop(page, tmp_path / "photo.tar.gz")
    expect(page.locator("[data-chosen-dump]")).to_contain_text("photo.tar.gz")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("alert")).to_contain_text("This is an image.")
    assert barriers(page) == []
    expect(page.get_by_label("XLA_FLAGS of the run")).to_have_value("--xla_x=1")
    expect(page.locator("[data-chosen-dump]")).to_contain_text("photo.tar.gz")
    page.context.close()


def test_an_upload_can_be_cancelled(visit: Callable[..., Page]) -> None:
    page = visit()
    page.goto("/")
    drop(page, SAMPLE / "dump.tar.gz")
    expect(page.locator("[data-chosen-dump]")).to_contain_text("dump.tar.gz")
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 100_000}
    session.send("Network.emulateNetworkConditions", slow)
    page.get_by_role("button", name="Explain").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#upload")).to_be_visible()
    expect(page.get_by_role("alert")).to_be_hidden()


@pytest.mark.parametrize("path", ["/", "/api", "/rules", "/rules/PIP001", "/compare", "/r/nothing"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_scrolls_sideways_on_a_phone_nor_keeps_anybody_out(
    browser: Browser, server: Server, path: str, scheme: Literal["light", "dark"]
) -> None:
    context = browser.new_context(
        base_url=server.base, viewport={"width": 360, "height": 740}, color_scheme=scheme
    )
    page = context.new_page()
    page.goto(path)
    assert sideways(page) <= 0
    assert barriers(page) == []
    context.close()


def test_the_form_is_reached_by_keys_alone(visit: Callable[..., Page]) -> None:
    page = visit()
    page.goto("/")
    reached: list[str] = []
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "(document.activeElement.textContent || document.activeElement.id).trim()"
            )
        )
    expected = [
        "Skip to the content",
        "hloscope",
        "New report",
        "API",
        "Choose an archive",
        "Choose a folder",
        "log",
        "Choose log files",
        "flags",
        "release",
        "hung",
        "Explain",
    ]
    assert [each for each in reached if each in expected] == expected


def test_a_graph_is_walked_by_keys_zoomed_and_saved(
    visit: Callable[..., Page], tmp_path: Path
) -> None:
    page = visit(viewport={"width": 390, "height": 844})
    page.goto("/")
    hlo = tmp_path / "small.txt"
    hlo.write_text(
        'HloModule m\n\nENTRY e {\n  p = f32[8] parameter(0), metadata={op_name="<b>\u202e"}\n'
        "  a = f32[8] negate(p)\n  ROOT r = f32[8] add(a, p)\n}\n",
        encoding="utf-8",
    )
    page.locator("#dump").set_input_files(hlo)
    page.get_by_role("button", name="Explain").click()
    page.wait_for_url(re.compile("/r/[^/]+$"))
    expect(page.locator("#verdict")).to_be_visible(timeout=REPORT_MS)
    page.goto(page.url.partition("#")[0] + "/graph?instruction=r&radius=1")
    expect(page.locator(".node")).to_have_count(3)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator(".node.here a.box").focus()
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.querySelector('.node-name').textContent") == "a"
    before = page.locator("#graph").get_attribute("width")
    page.keyboard.press("+")
    assert page.locator("#graph").get_attribute("width") != before
    for kind in ("svg", "png"):
        with page.expect_download() as saving:
            page.locator(f"[data-save={kind}]").click()
        saving.value.save_as(tmp_path / saving.value.suggested_filename)
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")
    assert "<a" not in (tmp_path / "graph.svg").read_text(encoding="utf-8")
    page.locator(".node.here a.box").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url("**instruction=a**")
    page.go_back()
    page.wait_for_url("**instruction=r**")
