"""A server in a process of its own and a Chromium, for tests that use pages as a person does."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
FAR = "far.example"
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A name that is not this machine's, for what is done only on a longer way.
    f"--host-resolver-rules=MAP {FAR} 127.0.0.1",
)
RUN = """
import sys
from pathlib import Path
from app.settings import Settings
from app.web.serve import serve
settings = Settings(data_dir=Path(sys.argv[1]), allowed_hosts="127.0.0.1,far.example")
serve(settings, port=int(sys.argv[2]))
"""
REPORT_MS = 90_000


class Server:
    """A server in a process of its own that can be stopped and started on the same port."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._port = 0
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", RUN, str(self._data), str(self._port)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.base = self._process.stdout.readline().split()[-1].rstrip("/")
        self._port = int(self.base.rpartition(":")[2])

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(20)
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser that is closed in the end."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@contextmanager
def visitors(browser: Browser, base: str) -> Iterator[Callable[..., Page]]:
    """`visit(**options)`: a page of a new visitor, who must see no error of script or policy."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def open_page(**options: object) -> Page:
        context = browser.new_context(base_url=base, **options)  # pyright: ignore
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(REPORT_MS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda message: complaints.append(message.text) if message.type == "error" else None,
        )
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def report_on(dump: bytes, browser: Browser, server: Server) -> str:
    """The path of the finished report on an archive that is sent to the server."""
    context = browser.new_context(base_url=server.base)
    answer = context.request.put("/api/v1/reports/d.tar.gz?wait=90", data=dump, timeout=120_000)
    url = answer.json()["url"]
    context.close()
    return url
