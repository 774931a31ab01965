"""Figures of a server under load, on loopback and bounded: reading, event streams, analysing.

    python tests/load/load.py [--seconds 30] [--readers 50] [--workers 1,2,4] [--dump FILE]

Reading is an open loop: each reader asks once a second whether or not the answer before has come,
and a latency counts from the moment at which the request was due. Half of the requests are for
JSON slices, half for the page; between the two kinds the reports and slices take turns. While they
read, others follow the events of a report that is being analysed. Then, for each number of workers,
a server of its own analyses a queue of dumps, each a little different, and memory is watched: the
proportional share of each process (PSS), so what forks share counts once.

The figures are printed as a table; `docs/load.md` keeps those of a quiet machine.
"""

import argparse
import asyncio
import gzip
import io
import os
import shutil
import sys
import tarfile
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from scale.set import EmbeddedSet, Program  # noqa: E402 -- the path is set above

REPORTS = "/api/v1/reports"
SLICES = ("", "/findings", "/loops", "/collectives", "/modules")
DUMP = ROOT / "sample_dumps" / "pipeliner_crash" / "dump.tar.gz"
SETTINGS = {
    "HLOSCOPE_MAX_UPLOADS_PER_HOUR": "1000000",
    "HLOSCOPE_MAX_REQUESTS_PER_MINUTE": "1000000",
}
FOLLOWERS = 10
_QUEUED = 12
_WAIT_S = 600.0


@dataclass(slots=True)
class Latencies:
    """Seconds from when a request was due to the end of its answer, by kind; what went wrong."""

    by_kind: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    faults: list[str] = field(default_factory=list[str])

    def table(self) -> list[str]:
        """A line for each kind."""
        lines: list[str] = []
        for kind, found in sorted(self.by_kind.items()):
            found.sort()
            p50, p90, p99 = (found[int(len(found) * part)] * 1000 for part in (0.5, 0.9, 0.99))
            lines.append(
                f"{kind:12} {len(found):7} {p50:9.1f} {p90:9.1f} {p99:9.1f} {found[-1] * 1000:9.1f}"
            )
        return lines


class Connection:
    """One keep-alive connection, as thin as can be: the clients share the server's processors."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        self._host, self._port = str(where.hostname), int(where.port or 80)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str, accept: str = "*/*") -> tuple[int, bytes]:
        """Status and body."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        head = f"GET {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\nAccept: {accept}\r\n\r\n"
        writer.write(head.encode())
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
        if "content-length" in headers:
            body = await reader.readexactly(int(headers["content-length"]))
        else:
            body = await _chunks(reader)
        return int(lines[0].split()[1]), body

    def close(self) -> None:
        """Leave."""
        if self._streams is not None:
            self._streams[1].close()


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return body


async def read(url: str, ids: Sequence[str], readers: int, seconds: float) -> Latencies:
    """`readers` ask once a second each for `seconds`."""
    found = Latencies()
    began = time.monotonic() + 0.5
    await asyncio.gather(
        *(_reader(url, ids, number, readers, began, seconds, found) for number in range(readers))
    )
    return found


async def _reader(
    url: str,
    ids: Sequence[str],
    number: int,
    readers: int,
    began: float,
    seconds: float,
    found: Latencies,
) -> None:
    # A connection each for what is asked while the answer before is still out.
    idle: list[Connection] = []
    asked: list[asyncio.Task[None]] = []
    for turn in range(int(seconds)):
        due = began + turn + number / readers
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        report = ids[(turn + number) % len(ids)]
        if (turn + number) % 2:
            kind, path, accept = "page", f"/r/{report}", "text/html"
        else:
            kind = "JSON slice"
            path = f"{REPORTS}/{report}{SLICES[(turn + number) // 2 % len(SLICES)]}"
            accept = "application/json"
        asked.append(asyncio.create_task(_ask(url, idle, path, accept, due, kind, found)))
    await asyncio.gather(*asked)
    for connection in idle:
        connection.close()


async def _ask(
    url: str,
    idle: list[Connection],
    path: str,
    accept: str,
    due: float,
    kind: str,
    found: Latencies,
) -> None:
    connection = idle.pop() if idle else Connection(url)
    try:
        status, body = await asyncio.wait_for(connection.get(path, accept), 30)
    except (OSError, EOFError, TimeoutError) as error:
        found.faults.append(f"{path}: {error!r}")
        return
    found.by_kind[kind].append(time.monotonic() - due)
    if status != 200 or not body:
        found.faults.append(f"{path}: {status}")
    idle.append(connection)


class Followers:
    """Those who follow the events of reports that are being analysed, in threads."""

    def __init__(self, url: str, dumps: Sequence[bytes]) -> None:
        self._url = url
        self._stopping = threading.Event()
        self.events = 0
        self.streams = 0
        self.faults: list[str] = []
        self._threads = [
            threading.Thread(target=self._follow, args=(dump,), daemon=True) for dump in dumps
        ]

    def start(self) -> None:
        """Begin to send and follow."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End when the streams of now have ended."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(_WAIT_S)

    def _follow(self, dump: bytes) -> None:
        while not self._stopping.is_set():
            sent = upload(self._url, dump)
            last = ""
            with httpx2.stream(
                "GET", f"{self._url}{REPORTS}/{sent}/events", timeout=_WAIT_S
            ) as stream:
                for line in stream.iter_lines():
                    self.events += line.startswith("data:")
                    last = line if line.startswith("data:") else last
            self.streams += 1
            if '"state":"done"' not in last.replace(" ", ""):
                self.faults.append(last[:200])
            self._stopping.wait(5.0)


def upload(url: str, dump: bytes) -> str:
    """The id of the report; waits where the queue is full."""
    while True:
        answer = httpx2.put(f"{url}{REPORTS}/dump.tar.gz", content=dump, timeout=60)
        if answer.status_code == 201:
            return answer.json()["id"]
        assert answer.status_code in (429, 503), answer.text
        time.sleep(0.2)


def until_done(url: str, ids: Sequence[str]) -> None:
    """Wait for all of them."""
    deadline = time.monotonic() + _WAIT_S
    for report_id in ids:
        state = ""
        while state not in ("done", "failed"):
            assert time.monotonic() < deadline, f"{report_id} is still {state}"
            state = httpx2.get(f"{url}{REPORTS}/{report_id}?wait=20", timeout=60).json()["state"]
        assert state == "done"


def variants(dump: bytes, count: int) -> list[bytes]:
    """So many dumps that differ in one small file: none is the copy of another."""
    found: list[bytes] = []
    for number in range(count):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            data = f"number {number}\n".encode()
            info = tarfile.TarInfo("number.txt")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        # Without its two closing blocks the one archive goes on into the other.
        head = packed.getvalue()[:1024]
        found.append(gzip.compress(head + gzip.decompress(dump), 1))
    return found


class Memory:
    """The largest memory of a program and all below it, looked at four times a second."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.idle = _mib(program.pid)
        self.server = self.whole = self.idle
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stopping.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopping.wait(0.25):
            own = _mib(self._program.pid)
            self.server = max(self.server, own)
            below = sum(_mib(pid) for pid in self._program.descendants())
            self.whole = max(self.whole, own + below)


def _mib(pid: int) -> float:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0.0
    found = [line.split()[1] for line in text.splitlines() if line.startswith("Pss:")]
    return int(found[0]) / 1024 if found else 0.0


def measure_reading(dump: bytes, readers: int, seconds: float) -> None:
    """Print latencies while others follow analyses, and without them."""
    print(f"Reading: {readers} readers, one request a second each, {seconds:.0f} s, open loop")
    print(f"{'':12} {'requests':>7} {'p50 ms':>9} {'p90 ms':>9} {'p99 ms':>9} {'max ms':>9}")
    with _server(workers=1) as running:
        (url,) = running.urls
        ids = [upload(url, each) for each in variants(dump, 4)]
        until_done(url, ids)
        print(f"each page for the first time: {first_reading(url, ids)}")
        found = asyncio.run(read(url, ids, readers, seconds))
        print("\n".join(found.table()), flush=True)
        assert not found.faults, found.faults[:5]
        followers = Followers(url, variants(dump, FOLLOWERS))
        followers.start()
        found = asyncio.run(read(url, ids, readers, seconds))
        followers.stop()
        print(f"the same while {FOLLOWERS} send dumps and follow their events:")
        print("\n".join(found.table()))
        print(f"{followers.streams} streams, {followers.events} events\n", flush=True)
        assert not found.faults + followers.faults, (found.faults + followers.faults)[:5]


def first_reading(url: str, ids: Sequence[str]) -> str:
    """Read the page of each report, which nobody did before; how long each took."""
    took: list[str] = []
    for report in ids:
        began = time.monotonic()
        httpx2.get(f"{url}/r/{report}", headers={"Accept": "text/html"}).raise_for_status()
        took.append(f"{(time.monotonic() - began) * 1e3:.0f}")
    return f"{', '.join(took)} ms"


def measure_analysing(dump: bytes, workers: int) -> None:
    """Print how fast a queue of dumps is worked through, and in how much memory."""
    cores = min(workers, len(os.sched_getaffinity(0)))
    dumps = variants(dump, _QUEUED * cores)
    with _server(workers=workers) as running:
        (url,) = running.urls
        until_done(url, [upload(url, dumps[0])])
        memory = Memory(running.servers[0])
        began = time.monotonic()
        until_done(url, [upload(url, each) for each in dumps])
        took = time.monotonic() - began
        memory.stop()
        rate = len(dumps) / took * 60
        print(
            f"{workers:7} {cores:5} {len(dumps):5} {took:7.1f} {rate:9.1f} {rate / cores:11.1f} "
            f"{memory.idle:9.0f} {memory.server:11.0f} {memory.whole:10.0f}",
            flush=True,
        )


@contextmanager
def _server(*, workers: int) -> Generator[EmbeddedSet]:
    """One server in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="hloscope-load-"))
    try:
        with EmbeddedSet(folder, SETTINGS | {"HLOSCOPE_JOB_WORKERS": str(workers)}) as running:
            yield running
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Print all tables."""
    parser = argparse.ArgumentParser(description="Figures of a server under load.")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--dump", type=Path, default=DUMP, help="a .tar.gz")
    asked = parser.parse_args(argv)
    dump = asked.dump.read_bytes()
    load = os.getloadavg()[0]
    print(f"{len(os.sched_getaffinity(0))} cores, load before {load:.1f}, {asked.dump.name}\n")
    measure_reading(dump, asked.readers, asked.seconds)
    print("Analysing: workers are those of any job; one more takes small ones")
    print("workers cores dumps seconds  a minute  a min, core  idle MiB  server MiB  whole MiB")
    for workers in asked.workers.split(","):
        measure_analysing(dump, int(workers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
