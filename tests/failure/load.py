"""A running load on a set of servers: senders, readers and bad clients, who note what was accepted.

A sender takes an answer with a status below 300 as a promise. Whatever else happens to a request
(no answer, 503, 507) promises nothing, and the sender tries again.
"""

import hashlib
import http.client
import io
import json
import random
import socket
import tarfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2

REPORTS = "/api/v1/reports"
_TIMEOUT = httpx2.Timeout(20.0)
_MOST_OPEN = 8
_HTTP_FAULTS = (httpx2.TransportError, http.client.HTTPException, OSError)


@dataclass(slots=True)
class Promise:
    """An upload that a server accepted; what its report must say."""

    id: str
    sha256: str
    module: str
    texts: int
    token: str
    deleted: bool = False
    over: bool = False


@dataclass(slots=True)
class Counts:
    """What the clients saw."""

    tried: int = 0
    refused: dict[str, int] = field(default_factory=dict[str, int])
    reads: int = 0
    bad: int = 0
    wrong: list[str] = field(default_factory=list[str])


class Load:
    """Clients of the servers at `urls`, who do by `seed` what they do; `start` and `stop`."""

    def __init__(self, urls: list[str], seed: int, *, senders: int = 2, readers: int = 2) -> None:
        self._urls = urls
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._numbers = iter(range(1, 1 << 30))
        self.promises: list[Promise] = []
        self.counts = Counts()
        jobs = [self._send] * senders + [self._read] * readers + [self._misbehave]
        self._threads = [
            threading.Thread(target=job, args=(random.Random(f"{seed}/{number}"),), daemon=True)
            for number, job in enumerate(jobs)
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End, and wait for requests under way."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(90)
            assert not thread.is_alive(), "a client hangs"

    def settle(self, within_s: float) -> list[tuple[Promise, dict[str, Any]]]:
        """Wait until all that was promised is over; what is not is returned with its state."""
        deadline = time.monotonic() + within_s
        left = [each for each in self.promises if not each.deleted]
        last: dict[str, dict[str, Any]] = {}
        while left and time.monotonic() < deadline:
            for each in tuple(left):
                state = self._state(self._urls[0], each)
                last[each.id] = state
                if state.get("state") in ("done", "failed"):
                    left.remove(each)
            time.sleep(0.5)
        return [(each, last.get(each.id, {})) for each in left]

    def _send(self, rng: random.Random) -> None:
        while not self._pause(rng.uniform(0.05, 0.4)):
            with self._lock:
                number = next(self._numbers)
                waiting = sum(not (each.over or each.deleted) for each in self.promises)
            if waiting > _MOST_OPEN:
                continue
            texts = rng.choice((1, 1, 2, 12))
            module = f"jit_m{number}"
            data = dump_of(module, texts, lines=rng.choice((4, 40, 4000)))
            while not self._pause(0):
                self.counts.tried += 1
                if self._sent(rng.choice(self._urls), data, module, texts):
                    break
                if self._pause(0.3):
                    break

    def _sent(self, url: str, data: bytes, module: str, texts: int) -> bool:
        try:
            answer = httpx2.put(f"{url}{REPORTS}/dump.tar", content=data, timeout=_TIMEOUT)
            body = answer.json() if answer.status_code < 300 else {}
        except (*_HTTP_FAULTS, ValueError) as error:
            self._note(type(error).__name__)
            return False
        if answer.status_code >= 300:
            self._note(str(answer.status_code))
            if answer.status_code not in (429, 503, 507):
                self.counts.wrong.append(f"PUT: {answer.status_code} {answer.text[:200]}")
            return False
        digest = hashlib.sha256(data).hexdigest()
        promise = Promise(body["id"], digest, module, texts, body["delete_token"])
        with self._lock:
            self.promises.append(promise)
        return True

    def _read(self, rng: random.Random) -> None:
        while not self._pause(rng.uniform(0.02, 0.2)):
            with self._lock:
                known = [each for each in self.promises if not each.deleted]
            if not known:
                continue
            recent = rng.choice(known[-12:])
            url = rng.choice(self._urls)
            state = self._state(url, recent)
            self.counts.reads += 1
            if state.get("state") == "done":
                recent.over = True
                self._look(url, recent)
            elif state.get("state") == "failed":
                recent.over = True
            if rng.random() < 0.02:
                self._delete(url, recent)

    def _look(self, url: str, promise: Promise) -> None:
        """A report that is said to be done can be read, and is that of what was sent."""
        try:
            answer = httpx2.get(f"{url}{REPORTS}/{promise.id}/report", timeout=_TIMEOUT)
        except _HTTP_FAULTS:
            return
        if answer.status_code in (429, 503) or promise.deleted:
            return
        if answer.status_code != 200:
            self.counts.wrong.append(f"{promise.module}: {answer.status_code} {answer.text[:200]}")
        elif (wrong := why_wrong(promise, answer.json())) is not None:
            self.counts.wrong.append(wrong)

    def _delete(self, url: str, promise: Promise) -> None:
        # From here on nothing is known of it until the answer, nor after one that is lost.
        promise.deleted = True
        headers = {"authorization": f"Bearer {promise.token}"}
        try:
            httpx2.delete(f"{url}{REPORTS}/{promise.id}", headers=headers, timeout=_TIMEOUT)
        except _HTTP_FAULTS as error:
            self._note(f"delete {type(error).__name__}")

    def _state(self, url: str, promise: Promise) -> dict[str, Any]:
        try:
            answer = httpx2.get(f"{url}{REPORTS}/{promise.id}", timeout=_TIMEOUT)
        except _HTTP_FAULTS:
            return {}
        if answer.status_code == 404 and not promise.deleted:
            self.counts.wrong.append(f"{promise.module} is lost: 404")
        return answer.json() if answer.status_code == 200 else {}

    def _misbehave(self, rng: random.Random) -> None:
        """Clients that send half of a body, one byte at a time, or leave at once."""
        while not self._pause(rng.uniform(0.3, 1.5)):
            where = urlsplit(rng.choice(self._urls))
            self.counts.bad += 1
            try:
                with socket.create_connection((where.hostname, where.port), timeout=5) as client:
                    head = f"PUT {REPORTS}/x.tar HTTP/1.1\r\nHost: {where.netloc}\r\n"
                    client.sendall(f"{head}Content-Length: 100000\r\n\r\n".encode())
                    for _ in range(rng.choice((0, 3, 20))):
                        client.sendall(b"x" * rng.choice((1, 1000)))
                        if self._pause(0.05):
                            break
            except OSError:
                continue

    def _note(self, what: str) -> None:
        with self._lock:
            self.counts.refused[what] = self.counts.refused.get(what, 0) + 1

    def _pause(self, seconds: float) -> bool:
        return self._stopping.wait(seconds)


def why_wrong(promise: Promise, report: dict[str, Any]) -> str | None:
    """What in a report is not as it was promised; None where all is."""
    modules = [(each["name"], len(each["dumps"])) for each in report["modules"]]
    if report["input"]["sha256"] != promise.sha256:
        return f"{promise.module}: the report of another upload"
    if modules != [(promise.module, promise.texts)]:
        return f"{promise.module}: {promise.texts} texts were sent, there are {modules}"
    return None


def dump_of(module: str, texts: int, *, lines: int) -> bytes:
    """A dump of one module with so many texts of so many instructions each."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for index in range(texts):
            name = f"module_0000.{module}.{index:04}.passes.after_p{index}.before_p{index + 1}.txt"
            data = "\n".join(_text(module, index, lines)).encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def _text(module: str, index: int, lines: int) -> Iterator[str]:
    yield f"HloModule {module}, entry_computation_layout={{(f32[8]{{0}})->f32[8]{{0}}}}"
    yield ""
    yield "ENTRY %main (p: f32[8]) -> f32[8] {"
    yield "  %v0 = f32[8]{0} parameter(0)"
    for line in range(1, lines):
        opcode = ("add", "multiply", "subtract")[(line + index) % 3]
        yield f"  %v{line} = f32[8]{{0}} {opcode}(%v{line - 1}, %v0)"
    yield f"  ROOT %r = f32[8]{{0}} negate(%v{lines - 1})"
    yield "}"
    yield ""


def dumped(counts: Counts) -> str:
    """The counts in one line."""
    return json.dumps(
        {"tried": counts.tried, "reads": counts.reads, "bad": counts.bad}
        | {"refused": dict(sorted(counts.refused.items()))}
    )
