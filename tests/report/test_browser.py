"""The report page in a real Chromium, under the policy that the server sends."""

import functools
import http.server
import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from app.report.html import PageLinks, report_page
from app.settings import static_dir
from report import builders

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
LINKS = PageLinks(report="/r/abc", json="/r/abc/report.json", markdown="/r/abc/summary.md")
NAMES = ("crash", "hostile", "healthy", "log_only")
DIFF = {
    "totals": {"instructions_changed": 1, "computations_changed": 1, "computations_unchanged": 4},
    "computations": [
        {
            "kind": "changed",
            "before": "body",
            "after": "body",
            "how": "same name",
            "changed": 1,
            "unchanged": 3,
            "rows": [
                {
                    "kind": "changed",
                    "opcode": "add",
                    "before": {
                        "line": 3,
                        "text": "a = f32[] add(b, c)",
                        "mark": [14, 15],
                    },
                    "after": {
                        "line": 3,
                        "text": "a = f32[] add(<b>, c)",
                        "mark": [14, 17],
                    },
                    "what": ["operands"],
                }
            ],
        }
    ],
}

pytestmark = pytest.mark.browser


class Handler(http.server.SimpleHTTPRequestHandler):
    """Pages, static files and one diff, all under the policy."""

    def __init__(self, pages: dict[str, str], *args: object) -> None:
        self.pages = pages
        super().__init__(*args, directory=str(static_dir().parent))  # type: ignore[arg-type]

    def do_GET(self) -> None:
        if self.path in self.pages:
            self.answer("text/html; charset=utf-8", self.pages[self.path])
        elif "/diff/" in self.path:
            self.answer("application/json", json.dumps(DIFF))
        elif "/search?" in self.path:
            hit = {"line": 900, "text": "while.17 = () while(x)"}
            self.answer("application/json", json.dumps({"hits": [hit], "cut": None}))
        elif "/texts/" in self.path:
            first = int(self.path.split("first=")[1].split("&")[0])
            lines = [
                {"number": number, "text": f"line <i>{number}</i>\u202e"}
                for number in range(first, first + 60)
            ]
            answer = {"first": first, "total_lines": 1000, "lines": lines}
            self.answer("application/json", json.dumps(answer))
        else:
            super().do_GET()

    def answer(self, kind: str, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    pages = {
        f"/{name}": report_page(getattr(builders, f"{name}_report")(), links=LINKS)
        for name in NAMES
    }
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, pages))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"],
        )
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.set_default_timeout(10_000)
    yield page
    page.close()


def complaints_of(page: Page) -> list[str]:
    """What the page writes to the console from now on, dialogs included."""
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message) or dialog.dismiss())
    return said


@pytest.mark.parametrize("name", NAMES)
def test_page_runs_under_the_strict_policy_and_fits_a_phone(
    page: Page, address: str, name: str
) -> None:
    said = complaints_of(page)
    page.goto(f"{address}/{name}")
    if name != "log_only":
        page.wait_for_selector(".plot .main-svg")
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("img[onerror], b, script:not([type])").count() <= 1  # plotly's own script


def test_figure_shows_a_dumps_text_as_text(page: Page, address: str) -> None:
    said = complaints_of(page)
    page.goto(f"{address}/hostile")
    page.wait_for_selector(".plot .main-svg")
    page.set_viewport_size({"width": 1280, "height": 900})
    mark = page.locator(".plot .scatterlayer .point").first
    mark.scroll_into_view_if_needed()
    mark.hover(force=True)
    page.wait_for_selector(".plot .hoverlayer text")
    assert "<script>alert(1)</script>" in (page.locator(".plot .hoverlayer").text_content() or "")
    assert page.locator(".plot a").count() == 0
    assert said == []


def test_a_link_of_the_table_compares_two_passes(page: Page, address: str) -> None:
    page.goto(f"{address}/crash")
    page.locator(".passes a", has_text="changes").first.click()
    page.wait_for_selector(".change-lines")
    assert page.url.endswith("#compare/0/15/16")
    assert page.locator("#compare-status").inner_text() == (
        "Instructions: 1 changed. Computations: 1 changed. 4 equal computations are not shown."
    )
    panes = page.get_by_role("link", name="The two texts side by side")
    assert "/diff?module=" in (panes.get_attribute("href") or "")
    assert (panes.get_attribute("href") or "").endswith("&a=15&b=16")
    lines = page.locator(".change-lines li").all_inner_texts()
    assert ["a = f32[] add(b, c)" in lines[0], "a = f32[] add(<b>, c)" in lines[1]] == [True, True]
    page.locator("button[name=later]").click()
    page.wait_for_url("**#compare/0/16/17")


def test_evidence_leads_to_its_line_and_the_text_can_be_searched(page: Page, address: str) -> None:
    page.goto(f"{address}/crash")
    assert page.locator("#text").is_hidden()
    page.locator(".evidence-number a", has_text="841").click()
    here = page.locator("#text-lines .here")
    assert here.inner_text().strip() == "841line <i>841</i>\\u202e"
    assert page.locator("#text-status").inner_text() == "Lines 821 to 880 of 1,000."
    page.locator("#text-later").click()
    page.wait_for_selector("#text-status:has-text('Lines 881 to 940')")
    page.locator("#text-search input").fill("while.17")
    page.locator("#text-search button[type=submit]").click()
    page.locator("#text-found a").click()
    page.wait_for_selector("#text-lines .here:has-text('900')")


def test_an_open_text_goes_on_when_another_part_is_gone_to(page: Page, address: str) -> None:
    page.goto(f"{address}/crash")
    page.locator(".evidence-number a", has_text="841").click()
    page.wait_for_selector("#text-status:has-text('Lines 821 to 880')")
    page.evaluate("location.hash = '#loops'")
    page.locator("#text-later").click()
    page.wait_for_selector("#text-status:has-text('Lines 881 to 940')", timeout=5_000)


def test_an_address_that_is_cut_short_breaks_nothing(page: Page, address: str) -> None:
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{address}/crash#50%")
    page.wait_for_selector("#copy-markdown:visible")
    page.evaluate("location.hash = '#50%2'")
    page.wait_for_timeout(100)
    assert faults == []


def test_each_flag_to_try_is_copied_alone(page: Page, address: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{address}/crash")
    flag = page.locator("#findings .flag").first
    flag.get_by_role("button").click()
    page.wait_for_selector("#findings .copies:has-text('Copied')")
    assert page.evaluate("navigator.clipboard.readText()") == flag.locator("code").inner_text()
    # Heard as well as seen, and ready for the next copy.
    said = page.locator("#copy-status[role='status']").inner_text()
    assert said == f"Copied {flag.locator('code').inner_text()}"
    page.wait_for_selector("#findings .copies >> text=/^Copy$/")


def test_markdown_is_copied(page: Page, address: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{address}/crash")
    page.locator("#copy-markdown").click()
    page.wait_for_selector("#copy-status:has-text('Copied.')")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("### Error, likely: The backward pipeliner")
    page.locator("#copy-thread").click()
    page.wait_for_function("navigator.clipboard.readText().then((t) => t.includes('hlo-opt'))")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("### \\[GPU\\] Check failed: last")
    assert address not in copied, "the address of a private report is a secret"


def test_offline_page_asks_for_nothing_and_still_folds(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    html = report_page(builders.huge_report(600), offline=True)
    path.write_text(html, encoding="utf-8")
    said = complaints_of(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    button = page.locator("button[aria-controls=more-collectives]")
    assert page.locator("#more-collectives").is_hidden()
    button.click()
    assert page.locator("#more-collectives").is_visible()
    assert page.locator("svg.curve").first.is_visible()
    assert asked == [path.as_uri()]
    assert said == []


def test_page_is_whole_without_scripts(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/crash")
    assert page.locator("svg.curve").is_visible()
    assert page.locator("#compare").inner_text().count("needs JavaScript") == 1
    assert page.locator("button:visible").count() == 0
    context.close()
