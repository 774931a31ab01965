"""A dump of gigabytes sent as users send it, with the server's memory beside: flat, or it is told.

    python tests/load/giant.py FOLDER [--size 2GiB] [--dump FILE] [--by api,browser]

The history of a dump is copied, each copy under module numbers of its own, until an archive (.tar,
so all of its bytes are sent) of that size stands in FOLDER. It goes to a server of its own: over
the API in parts, with a break in the middle, and through Chromium from the page. While it is sent,
analysed and read, the server's resident memory is looked at five times a second, and every step of
progress is kept. The exit code is 1 where memory rose by more than `--most-mib` above what a server
that was just started has, where progress was not seen, or where a page of the report did not come.
"""

import argparse
import io
import itertools
import json
import re
import shutil
import sys
import tarfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import httpx2

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    # In place of this folder, in which `load` is another thing.
    sys.path[:1] = [str(ROOT), str(ROOT / "tests")]

from load.load import REPORTS, SETTINGS  # noqa: E402 -- the path is set above
from parser.dump_texts import dump_files  # noqa: E402
from scale.set import EmbeddedSet, Program  # noqa: E402
from web.visiting import chromium  # noqa: E402

DUMP = ROOT / "sample_dumps" / "pipeliner_crash" / "dump.tar.gz"
UPLOADS = "/api/v1/uploads"
_TUS = {"Tus-Resumable": "1.0.0"}
_PIECE_BYTES = 1 << 20
_LOOK_S = 0.2
_WAIT_S = 3600.0
_MODULE = re.compile(r"module_(\d+)")
_SIZE = re.compile(r"(\d+)(MiB|GiB)")


def build(place: Path, dump: Path, size: int) -> int:
    """Write an archive of `size` bytes or a little more; gives how many copies it holds."""
    files = list(dump_files(dump))
    step = 1 + max((int(n) for name, _ in files for n in _MODULE.findall(name)), default=0)
    written = 0
    with tarfile.open(place, "w") as archive:
        for copy in itertools.count():
            if written >= size:
                return copy
            for name, data in files:
                named = _MODULE.sub(lambda found, n=copy: _renumbered(found, n * step), name)
                info = tarfile.TarInfo(named)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
                written += 512 + -(-len(data) // 512) * 512
    raise AssertionError("a count that ends")


def _renumbered(found: re.Match[str], more: int) -> str:
    return f"module_{int(found[1]) + more:04d}"


class Memory:
    """Resident memory of the server's own process, in MiB, looked at five times a second."""

    def __init__(self, program: Program) -> None:
        self._status = Path(f"/proc/{program.pid}/status")
        self._stopping = threading.Event()
        self.idle = self.peak = self._now()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def risen(self) -> float:
        """How far it rose above idle since it was asked for last."""
        peak, self.peak = self.peak, self._now()
        return peak - self.idle

    def stop(self) -> None:
        """Look no more."""
        self._stopping.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopping.wait(_LOOK_S):
            self.peak = max(self.peak, self._now())

    def _now(self) -> float:
        found = re.search(r"^VmRSS:\s+(\d+) kB$", self._status.read_text(), re.MULTILINE)
        assert found is not None
        return int(found[1]) / 1024


@dataclass(slots=True)
class Seen:
    """The steps of progress that somebody saw, the longest time without one, when the last came."""

    steps: list[str] = field(default_factory=list[str])
    longest_s: float = 0.0
    ended: float = field(default_factory=time.monotonic)

    def note(self, step: str) -> None:
        """What is shown now; the same as before is no step."""
        if self.steps and step == self.steps[-1]:
            return
        now = time.monotonic()
        if self.steps:
            self.longest_s = max(self.longest_s, now - self.ended)
        self.ended = now
        self.steps.append(step)


def send_in_parts(url: str, archive: Path, part_bytes: int, sending: Seen) -> str:
    """The id of the report; one part breaks off in its middle, and is taken up again."""
    size = archive.stat().st_size
    begun = httpx2.post(f"{url}{UPLOADS}", headers={**_TUS, "Upload-Length": str(size)})
    begun.raise_for_status()
    place = f"{url}{begun.json()['upload']}"
    is_broken = False
    while (at := _offset(place)) is not None and at < size:
        sending.note(f"{at} of {size}")
        stated = min(part_bytes, size - at)
        with archive.open("rb") as file:
            file.seek(at)
            try:
                httpx2.patch(
                    place,
                    content=_pieces(file, stated, breaks=not is_broken and at >= size // 2),
                    headers={
                        **_TUS,
                        "Upload-Offset": str(at),
                        "Content-Type": "application/offset+octet-stream",
                        "Content-Length": str(stated),
                    },
                    timeout=_WAIT_S,
                ).raise_for_status()
            except _BrokenOffError:
                is_broken = True
    return str(begun.json()["id"])


def _offset(place: str) -> int | None:
    """How much the server has; None once all of it is there."""
    deadline = time.monotonic() + 60
    while True:
        answer = httpx2.head(place, headers=_TUS, timeout=60)
        if answer.status_code == 404:
            return None
        # The part that broke off may be being put away.
        if answer.status_code == 200:
            return int(answer.headers["upload-offset"])
        assert time.monotonic() < deadline, answer.status_code
        time.sleep(0.2)


class _BrokenOffError(Exception):
    """Of our own doing, in the middle of a part."""


def _pieces(file: BinaryIO, size: int, *, breaks: bool) -> Iterator[bytes]:
    left = size
    while left:
        if breaks and left <= size // 2:
            raise _BrokenOffError
        data = file.read(min(left, _PIECE_BYTES))
        left -= len(data)
        yield data


def follow(url: str, report_id: str, working: Seen) -> dict[str, object]:
    """The state of a report at its end, with its progress noted as its events tell it."""
    state: dict[str, object] = {}
    address = f"{url}{REPORTS}/{report_id}/events"
    with httpx2.stream("GET", address, timeout=_WAIT_S) as stream:
        for line in stream.iter_lines():
            if line.startswith("data:"):
                state = json.loads(line.removeprefix("data:"))
                progress = state.get("progress")
                working.note(str(progress["words"] if isinstance(progress, dict) else progress))
    return state


def read_report(url: str, report_id: str) -> list[str]:
    """Lines on what was read of the report, each page and slice once."""
    report = httpx2.get(f"{url}{REPORTS}/{report_id}/report", timeout=_WAIT_S).json()
    module = report["modules"][-1]
    last = f"modules/{module['id']}/texts/{len(module['dumps']) - 1}"
    lines = [f"  {len(report['modules'])} modules, {report['coverage']['files']} files"]
    for path in (
        f"{REPORTS}/{report_id}/report",
        f"{REPORTS}/{report_id}/modules",
        f"{REPORTS}/{report_id}/findings",
        f"/r/{report_id}",
        f"/r/{report_id}/passes",
        f"/r/{report_id}/loops",
        f"/r/{report_id}/{last}",
    ):
        began = time.monotonic()
        answer = httpx2.get(f"{url}{path}", headers={"accept": "text/html, */*"}, timeout=_WAIT_S)
        took = time.monotonic() - began
        shown = path.replace(report_id, "ID")
        assert answer.status_code == 200, (shown, answer.status_code, answer.text[:300])
        lines.append(f"  {shown[:60]:60} {len(answer.content) / 1e6:7.2f} MB {took:6.2f} s")
    return lines


def send_by_browser(url: str, archive: Path, sending: Seen, working: Seen) -> str:
    """The id of the report that the page leads to, with what it showed on the way."""
    with chromium() as browser:
        page = browser.new_page(base_url=url)
        page.set_default_timeout(60_000)
        page.goto("/")
        page.locator("#dump").set_input_files(archive)
        page.get_by_role("button", name="Explain").click()
        deadline = time.monotonic() + _WAIT_S
        while not page.locator("#verdict").count():
            assert time.monotonic() < deadline, page.url
            is_sending = "/r/" not in page.url
            shown = page.locator("[data-figures]" if is_sending else "[data-words]")
            if shown.count():
                words = shown.first.text_content(timeout=5_000) or ""
                (sending if is_sending else working).note(words.strip())
            page.wait_for_timeout(200)
        return page.url.partition("/r/")[2].partition("#")[0]


def told(name: str, seen: Seen) -> str:
    """A line on what was seen."""
    few = [*seen.steps[:2], "...", *seen.steps[-2:]] if len(seen.steps) > 4 else seen.steps
    return f"  {name}: {len(seen.steps)} steps, {seen.longest_s:.1f} s without one: {few}"


def measure(by: str, archive: Path, folder: Path, *, part_bytes: int, most_mib: float) -> bool:
    """Print what one way of sending showed; whether all was as it should be."""
    with EmbeddedSet(folder, SETTINGS | {"HLOSCOPE_JOB_WORKERS": "1"}) as running:
        (url,) = running.urls
        memory, sending, working = Memory(running.servers[0]), Seen(), Seen()
        began = time.monotonic()
        if by == "api":
            report_id = send_in_parts(url, archive, part_bytes, sending)
            sent_s = time.monotonic() - began
            state = follow(url, report_id, working)
        else:
            report_id = send_by_browser(url, archive, sending, working)
            sent_s = sending.ended - began
            state = httpx2.get(f"{url}{REPORTS}/{report_id}", timeout=60).json()
        took = time.monotonic() - began
        risen = {"sent and analysed": memory.risen()}
        lines = read_report(url, report_id)
        risen["read"] = memory.risen()
        memory.stop()
        bundle = _stored_bundle(running.data)
    print(f"by {by}: {state['state']} in {took:.0f} s, of which sending {sent_s:.0f}")
    print(f"  idle {memory.idle:.0f} MiB; above it: {_figures(risen)}")
    print(told("sending", sending), told("analysing", working), *lines, sep="\n")
    share = 100 * bundle / archive.stat().st_size
    print(f"  bundle {bundle / 1e6:.1f} MB, {share:.2f} % of the archive", flush=True)
    return (
        state["state"] == "done"
        and max(risen.values()) <= most_mib
        and min(len(sending.steps), len(working.steps)) > 1
    )


def _figures(risen: dict[str, float]) -> str:
    return ", ".join(f"{name} {mib:.0f} MiB" for name, mib in risen.items())


def _stored_bundle(data: Path) -> int:
    """Bytes of the smallest blob: the other is the archive."""
    return min(p.stat().st_size for p in (data / "blobs" / "sha256").rglob("*") if p.is_file())


def main(argv: Sequence[str] | None = None) -> int:
    """Build, send, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("folder", type=Path, help="for the archive and the server; it is made")
    parser.add_argument("--size", default="2GiB", help="of the archive, as 100MiB or 2GiB")
    parser.add_argument("--dump", type=Path, default=DUMP, help="whose history is copied")
    parser.add_argument("--by", default="api,browser")
    parser.add_argument("--part-mib", type=int, default=64, help="what is sent at once by api")
    parser.add_argument("--most-mib", type=float, default=200.0)
    asked = parser.parse_args(argv)
    size = _SIZE.fullmatch(asked.size)
    if size is None:
        parser.error(f"no such size: {asked.size}")
    asked.folder.mkdir(parents=True, exist_ok=True)
    archive = asked.folder / "giant.tar"
    copies = build(archive, asked.dump, int(size[1]) << (20 if size[2] == "MiB" else 30))
    print(
        f"{archive.stat().st_size / 1e6:.0f} MB, {copies} copies of {asked.dump.name}", flush=True
    )
    is_well = True
    for by in asked.by.split(","):
        folder = asked.folder / by
        folder.mkdir()
        try:
            is_well &= measure(
                by,
                archive,
                folder,
                part_bytes=asked.part_mib << 20,
                most_mib=asked.most_mib,
            )
        finally:
            shutil.rmtree(folder)
    archive.unlink()
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
