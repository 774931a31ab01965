"""How fast the views of a large report are in Chromium, from the server's answer to the screen.

    python tests/bench/browser_bench.py [DUMP.tar.gz ...]

Each dump is sent to a server of its own. Then, in a browser without a cache: the time until a view
is ready, counted from the first byte of the server's answer; then two neighbouring texts side by
side, for the passes that changed most: counted from the click in the list of passes, on which the
pointer rests for a moment before, and by their address alone, of which the server has seen nothing
before; and the longest task of the page's thread while it is scrolled and panned, once
it is loaded. Aims stand beside the figures; the fewest of several runs count. By default the large
shared dump, where it is at hand, else a sample.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import urljoin

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from parse_bench import table  # noqa: E402 -- the path is set above

from web.visiting import ARGUMENTS, CHROMIUM, Server  # noqa: E402 -- the path is set above

SHARED = ROOT.parent / "shared" / "dumps" / "big_gpt_noscan__jax0.10.2.tar.gz"
SAMPLE = ROOT / "sample_dumps" / "fsdp_pipelined"
REPEATS = 3
READY_MS, OPEN_MS, TASK_MS = 1_000, 1_000, 100
OPENED = 7
# A pointer comes to rest on a link before the click; half a second is usual.
REST_MS = 250
SETTLE_MS = 800
STEPS = 60

# A view, and what is there when its first screen can be used.
VIEWS = (
    ("report", "", ".plot .main-svg, main h1"),
    ("passes", "/passes", ".scrubber:not([hidden])"),
    ("diff", "/diff", "#panes .row:not(.waiting)"),
    ("loops", "/loops", ".lane"),
    ("collectives", "/collectives", "a.bar"),
    ("source", "/source", ".source-line"),
    ("memory", "/memory", ".curve-box svg"),
    ("graph", "/graph", "a.box"),
)
# Long tasks are told from 50 ms on; a shorter one holds nobody up.
WATCH = """() => {
    window.longest = 0;
    new PerformanceObserver((list) => {
        for (const {duration} of list.getEntries())
            window.longest = Math.max(window.longest, duration);
    }).observe({type: "longtask"});
}"""
SCROLL = """async ([selector, steps]) => {
    const frame = document.querySelector(selector) ?? document.scrollingElement;
    for (let step = 0; step <= steps; step += 1) {
        frame.scrollTop = (frame.scrollHeight - frame.clientHeight) * (step % 2 ? 1 - step / steps : step / steps);
        frame.scrollLeft = 40 * (step % 20);
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    }
}"""  # noqa: E501 -- one line of another language
# From the first byte of the answer to the frame after `selector` appeared.
READY = """async (selector) => {
    while (!document.querySelector(selector)) await new Promise(requestAnimationFrame);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    const [navigation] = performance.getEntriesByType("navigation");
    return performance.now() - navigation.responseStart;
}"""


@contextmanager
def served(dump: Path, browser: Browser) -> Iterator[str]:
    """The address of the report of `dump` on a server that is stopped in the end."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            context = browser.new_context(base_url=server.base)
            answer = context.request.put(
                f"/api/v1/reports/{dump.name}?wait=300", data=dump.read_bytes(), timeout=600_000
            )
            yield server.base + answer.json()["url"]
            context.close()
        finally:
            server.stop()


def shows(browser: Browser, url: str, selector: str) -> bool:
    """Whether the report has anything for that view: a program may have no loops."""
    page = browser.new_page()
    page.goto(url)
    page.wait_for_timeout(SETTLE_MS)
    found = page.locator(selector).count() > 0
    page.close()
    return found


def ready(browser: Browser, url: str, selector: str) -> float:
    """Milliseconds from the first byte of the answer to the first screen, the least of several."""
    best = float("inf")
    for _ in range(REPEATS):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(url, wait_until="commit")
        best = min(best, page.evaluate(READY, selector))
        page.close()
    return best


def longest_task(browser: Browser, url: str, selector: str, frame: str) -> float:
    """The longest task in milliseconds while a loaded page is scrolled; 0 for none of 50."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(url)
    page.wait_for_selector(selector)
    page.wait_for_timeout(SETTLE_MS)
    if frame == "#panes":
        page.keyboard.press("x")
        page.wait_for_timeout(SETTLE_MS)
    page.evaluate(WATCH)
    page.evaluate(SCROLL, [frame, STEPS])
    page.wait_for_timeout(SETTLE_MS)
    longest = page.evaluate("window.longest")
    page.close()
    return longest


def most_changed(page: Page) -> list[str]:
    """The addresses of the changes of the passes that changed most, from the list of passes."""
    rows = page.locator("tr:has(th a[href*='/diff?'])").evaluate_all(
        """rows => rows.map((row) => ({
            href: row.querySelector("th a[href*='/diff?']").getAttribute("href"),
            change: Math.abs(Number(row.cells[2].textContent.replace(/\\u2212/, "-").replace(/,/g, ""))),
        }))"""  # noqa: E501 -- lines of another language
    )
    rows.sort(key=lambda row: -row["change"])
    return [row["href"] for row in rows[:OPENED]]


def opened(browser: Browser, report: str, *, by_click: bool) -> Iterator[float]:
    """Milliseconds from the click, or the call of the address, to both texts on the screen."""
    page = _list_of_passes(browser, report)
    addresses = most_changed(page)
    page.close()
    for address in addresses:
        if by_click:
            page = _list_of_passes(browser, report)
            link = page.locator(f"th a[href='{address}']")
            link.hover()
            page.wait_for_timeout(REST_MS)
            link.click(no_wait_after=True)
        else:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(urljoin(report, address), wait_until="commit")
        page.wait_for_selector("#panes .row:not(.waiting)")
        yield page.evaluate("performance.now()")
        page.close()


def _list_of_passes(browser: Browser, report: str) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{report}/passes")
    page.wait_for_selector("tr th a")
    return page


def rows_of(dump: Path, browser: Browser) -> Iterator[tuple[str, ...]]:
    """What was measured, what, and whether it is as fast as it should be."""
    with served(dump, browser) as report:
        views = [view for view in VIEWS if shows(browser, report + view[1], view[2])]
        for name, path, selector in views:
            took = ready(browser, report + path, selector)
            yield row(dump, f"{name}: first screen", took, READY_MS)
        yield from rows_of_opening(dump, sorted(opened(browser, report, by_click=True)), "click")
        for name, path, selector in views:
            frame = {"diff": "#panes", "graph": "#graph-box"}.get(name, "html")
            longest = longest_task(browser, report + path, selector, frame)
            yield row(dump, f"{name}: longest task in scrolling", longest, TASK_MS)

    with served(dump, browser) as report:
        yield from rows_of_opening(dump, sorted(opened(browser, report, by_click=False)), "address")


def rows_of_opening(dump: Path, times: list[float], how: str) -> Iterator[tuple[str, ...]]:
    """How long two texts side by side took to open by `how`."""
    yield row(dump, f"diff of two texts, by {how}, half of them", median(times), OPEN_MS)
    yield row(dump, f"diff of two texts, by {how}, slowest", times[-1], OPEN_MS)


def row(dump: Path, what: str, took: float, aim: float) -> tuple[str, ...]:
    """A line of the table."""
    return (
        dump.name.partition(".tar")[0],
        what,
        f"{took:,.0f}",
        f"< {aim:,.0f}",
        "" if took < aim else "SLOW",
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dump", nargs="*", type=Path)
    dumps = parser.parse_args().dump or [SHARED if SHARED.exists() else sample()]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        found: list[tuple[str, ...]] = []
        for dump in dumps:
            for line in rows_of(dump, browser):
                found.append(line)
                print(*line, file=sys.stderr)
        browser.close()
    print(table([("dump", "what", "ms", "aim", ""), *found]))


def sample() -> Path:
    """The largest archive among the samples."""
    return max(SAMPLE.parent.glob("*/*.tar.gz"), key=lambda path: path.stat().st_size)


if __name__ == "__main__":
    main()
