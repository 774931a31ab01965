"""Ways to ask an application that a polite client has not; not a test module."""

import asyncio
import gzip
import io
import tarfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from app.settings import Settings
from app.store import Store

Placed = Callable[..., Settings]
"""What the fixture `placed` gives."""

HLO = """HloModule jit_step, entry_computation_layout={(f32[8]{0})->f32[8]{0}}

ENTRY main.4 {
  Arg_0.1 = f32[8]{0} parameter(0)
  constant.2 = f32[] constant(2)
  broadcast.3 = f32[8]{0} broadcast(constant.2), dimensions={}
  ROOT multiply.4 = f32[8]{0} multiply(Arg_0.1, broadcast.3)
}
"""


class IdleRunner:
    """Runs nothing: what is queued stays queued."""

    def __init__(self, store: Store, settings: Settings) -> None:
        del store, settings
        self.woken = 0

    def start(self) -> None:
        pass

    def wake(self) -> None:
        self.woken += 1

    def stop(self) -> None:
        pass


@dataclass
class Asked:
    """What came of one raw request; `read` counts the body messages the application took."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    read: int = 0


def app_of(client: TestClient) -> FastAPI:
    assert isinstance(client.app, FastAPI)
    return client.app


def ask(
    client: TestClient,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    receive: Callable[[], Awaitable[dict[str, Any]]],
) -> Asked:
    """One request with a body that comes as `receive` says, on the application's own loop."""
    asked = Asked()

    async def counted() -> dict[str, Any]:
        asked.read += 1
        return await receive()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            asked.status = message["status"]
            asked.headers = {k.decode(): v.decode() for k, v in message["headers"]}
        else:
            asked.body += message.get("body", b"")

    raw = {"host": "localhost", **(headers or {})}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(k.lower().encode(), v.encode()) for k, v in raw.items()],
        "client": ("203.0.113.7", 5000),
        "server": ("localhost", 80),
        "state": {},
    }
    assert client.portal is not None
    client.portal.call(app_of(client), scope, counted, send)
    return asked


def pieces(*chunks: bytes, then: str = "end") -> Callable[[], Awaitable[dict[str, Any]]]:
    """A body of `chunks`; `then` it ends, breaks off, stalls, or repeats its last for ever."""
    waiting = list(chunks)

    async def receive() -> dict[str, Any]:
        if len(waiting) > 1 or (waiting and then != "repeat"):
            more = len(waiting) > 1 or then != "end"
            return {"type": "http.request", "body": waiting.pop(0), "more_body": more}
        if then == "repeat":
            return {"type": "http.request", "body": waiting[0], "more_body": True}
        if then == "stall":
            await asyncio.sleep(3600)
        if then == "break":
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": b"", "more_body": False}

    return receive


def tar_of(members: Mapping[str, bytes]) -> bytes:
    """A .tar.gz of these members; always the same bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return gzip.compress(buffer.getvalue(), mtime=0)


def small_dump() -> bytes:
    """An archive with one module of one text."""
    return tar_of({"module_0000.jit_step.before_optimizations.txt": HLO.encode()})


def until_over(client: TestClient, report_id: str, within_s: float = 60) -> dict[str, Any]:
    """The state of a report when its analysis is over."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        state = client.get(f"/api/v1/reports/{report_id}?wait=5").json()
        if state["progress"] is None:
            return state
    pytest.fail(f"not over within {within_s} s")


def kept_files(client: TestClient) -> list[str]:
    """Names of all files among the blobs, received or kept."""
    services = app_of(client).state.services
    if services.settings.blobs_url:
        return sorted(services.store.blobs.kept())
    folder: Path = services.store.folder / "blobs"
    return sorted(path.name for path in folder.rglob("*") if path.is_file())
