"""A server in a process of its own and a Chromium, for tests that use pages as a person does."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from scale.set import ScaledSet
from scale.turns import Turns

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
from dataclasses import replace
from pathlib import Path
from app.settings import Settings
from app.web.serve import serve
settings = Settings(data_dir=Path(sys.argv[1]), allowed_hosts="127.0.0.1,far.example")
if sys.argv[3]:
    settings = replace(settings, replay_jobs=True, replay_dir=Path(sys.argv[3]))
serve(settings, port=int(sys.argv[2]))
"""
REPORT_MS = 90_000
# One set serves all files of tests, which a sender's rates would not let it.
SCALED = {
    "HLOSCOPE_JOB_WORKERS": "1",
    "HLOSCOPE_MAX_UPLOADS_PER_HOUR": "1000000",
    "HLOSCOPE_MAX_REQUESTS_PER_MINUTE": "1000000",
}


class Server:
    """A server in a process of its own that can be stopped and started on the same port.

    It compiles again where it is told the folder of toolchains for that.
    """

    def __init__(self, data: Path, replay_dir: Path | None = None) -> None:
        self._data = data
        self._replay_dir = "" if replay_dir is None else str(replay_dir)
        self._port = 0
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", RUN, str(self._data), str(self._port), self._replay_dir],
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


class ScaledServers(Server):
    """A scaled-out set that is visited like one server: connections go to its servers in turn."""

    def __init__(self, folder: Path) -> None:
        names = f"127.0.0.1,{FAR}"
        self._set = ScaledSet(folder, SCALED | {"HLOSCOPE_ALLOWED_HOSTS": names})
        self._set.__enter__()
        self._turns = Turns(self._set.urls)
        self.base = self._turns.url

    def start(self) -> None:
        for program in self._set.servers:
            program.start()

    def stop(self) -> None:
        for program in self._set.servers:
            program.stop()

    def close(self) -> None:
        """End the set with all its engines."""
        self._turns.close()
        self._set.close()


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
