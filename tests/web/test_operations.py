"""What those who run a server see of it: health, figures, the log, and a clean end."""

import asyncio
import json
import logging
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from app.logs import JsonLines, PlainLines, masked
from app.store import StoreUnavailable
from app.web.operations import Looked
from live_server import SERVE
from web.asking import app_of, ask, pieces, small_dump
from web.test_admission import from_proxy, make_token

REPORTS = "/api/v1/reports"
ROOT = Path(__file__).resolve().parents[2]
Start = Callable[..., TestClient]


def figures(text: str) -> dict[str, float]:
    """Each sample as `name{label=value,...}`."""
    return {
        sample.name
        + "".join(f"{{{k}={v}}}" for k, v in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


class TestHealth:
    def test_a_server_that_can_work_says_so(self, client: TestClient) -> None:
        assert client.get("/healthz").json() == {"ok": True}
        answer = client.get("/readyz")
        assert answer.status_code == 200
        assert answer.json() == {"ok": True, "database": True, "disk": True, "staying": True}

    def test_a_full_disk_is_told(self, start: Start) -> None:
        client = start(min_free_bytes=1 << 60)
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["disk"]) == (503, False)
        assert client.get("/healthz").status_code == 200

    def test_a_database_that_is_gone_is_told(
        self, client: TestClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def gone(*_: Any) -> None:
            raise StoreUnavailable("the database does not answer")

        monkeypatch.setattr(app_of(client).state.services.store.jobs, "count_open", gone)
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["database"]) == (503, False)
        assert client.get("/healthz").status_code == 200
        headers = make_token(client, "admin")
        assert figures(client.get("/metrics", headers=headers).text)["hloscope_database_up"] == 0

    def test_a_server_near_its_end_takes_no_work(self, client: TestClient) -> None:
        app_of(client).state.stopping.set()
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["staying"]) == (503, False)

    def test_many_probes_are_one_question(
        self, client: TestClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        jobs, asked = app_of(client).state.services.store.jobs, 0
        count_open, now = jobs.count_open, 1000.0

        def counted() -> int:
            nonlocal asked
            asked += 1
            return count_open()

        monkeypatch.setattr(jobs, "count_open", counted)
        app_of(client).state.looked = Looked(clock=lambda: now)
        assert {client.get("/readyz").status_code for _ in range(20)} == {200}
        assert asked == 1
        now += 1.1
        assert client.get("/readyz").status_code == 200
        assert asked == 2

    @pytest.mark.parametrize("was_seen", [False, True])
    def test_a_database_that_hangs_is_told_while_somebody_waits_for_it(
        self, client: TestClient, monkeypatch: pytest.MonkeyPatch, was_seen: bool
    ) -> None:
        services, now = app_of(client).state.services, 1000.0
        looked = Looked(clock=lambda: now, hangs_s=0.2)
        if was_seen:
            looked.at(services)
        asked, answers = threading.Event(), threading.Event()

        def hanging() -> int:
            asked.set()
            assert answers.wait(30)
            return 0

        monkeypatch.setattr(services.store.jobs, "count_open", hanging)
        now += 60
        with ThreadPoolExecutor(1) as pool:
            try:
                whoever_looks = pool.submit(looked.at, services)
                assert asked.wait(30)
                if was_seen:
                    assert looked.at(services) == {"database": True, "disk": True}
                now += 0.3
                assert looked.at(services) == {"database": False, "disk": was_seen}
            finally:
                answers.set()
            assert whoever_looks.result(30) == {"database": True, "disk": True}
        assert looked.at(services) == {"database": True, "disk": True}

    def test_probes_are_answered_whatever_the_rate(self, start: Start) -> None:
        client = start(max_requests_per_minute=1)
        for path in ("/healthz", "/readyz") * 5:
            assert client.get(path).status_code == 200


class TestFigures:
    def test_are_for_admins_only(self, client: TestClient) -> None:
        assert client.get("/metrics").status_code == 404
        assert client.get("/metrics").json()["error"]["code"] == "not_found"
        assert (
            client.get("/metrics", headers=make_token(client, "read", "upload")).status_code == 404
        )
        assert client.get("/metrics", headers=make_token(client, "admin")).status_code == 200

    def test_count_requests_by_route_and_name_no_report(self, client: TestClient) -> None:
        made = client.put(REPORTS, content=small_dump()).json()
        for _ in range(3):
            client.get(f"{REPORTS}/{made['id']}")
        client.get(f"{REPORTS}/{'x' * 32}")
        client.request("BREW", "/nowhere")
        text = client.get("/metrics", headers=make_token(client, "admin")).text
        found = figures(text)
        route = f"{{route={REPORTS}/{{report_id}}}}"
        assert found[f"hloscope_requests_total{{method=GET}}{route}{{status=200}}"] == 3
        assert found[f"hloscope_requests_total{{method=GET}}{route}{{status=404}}"] == 1
        assert found["hloscope_requests_total{method=other}{route=-}{status=404}"] == 1
        assert found[f"hloscope_request_seconds_count{route}"] == 4
        assert found["hloscope_received_bytes_total"] == len(small_dump())
        assert found["hloscope_open_jobs"] == 1
        assert found["hloscope_free_bytes"] > 0
        assert found["process_resident_memory_bytes"] > 0
        assert made["id"] not in text


class TestLog:
    @pytest.fixture
    def lines(self) -> Iterator[list[str]]:
        """What the application logs as JSON."""
        written: list[str] = []

        class Kept(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                written.append(self.format(record))

        handler, logger = Kept(), logging.getLogger("app")
        handler.setFormatter(JsonLines())
        before = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        yield written
        logger.removeHandler(handler)
        logger.setLevel(before)

    def test_a_line_is_json_and_says_in_which_request(
        self, client: TestClient, lines: list[str]
    ) -> None:
        answer = client.put(REPORTS, content=small_dump())
        entries = [json.loads(line) for line in lines]
        (request,) = {entry["request"] for entry in entries}
        assert answer.headers["x-request-id"] == request
        assert re.fullmatch(r"[0-9a-f]{16}", request)
        (access,) = (entry for entry in entries if entry["logger"] == "app.web.access")
        assert access["route"] == REPORTS
        assert (access["method"], access["status"], access["level"]) == ("PUT", 201, "info")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", access["time"])
        (taken,) = (entry for entry in entries if entry["message"] == "a dump was taken")
        assert re.fullmatch(r"[0-9a-f]{12}", taken["report"])

    def test_a_member_is_named_by_the_handle_of_the_token(
        self, client: TestClient, lines: list[str]
    ) -> None:
        client.get(REPORTS, headers=make_token(client, "read"))
        (row,) = app_of(client).state.services.store.tokens.all()
        assert json.loads(lines[-1])["caller"] == f"token {row.handle}"

    def test_a_proxys_name_of_a_request_is_kept_and_a_strangers_is_not(self, start: Start) -> None:
        client = start(trusted_proxies="127.0.0.1")
        named = {"x-request-id": "from-the-proxy.1"}
        assert client.get("/api", headers=named).headers["x-request-id"] != "from-the-proxy.1"
        proxy = from_proxy(client)
        assert proxy.get("/api", headers=named).headers["x-request-id"] == "from-the-proxy.1"
        odd = {"x-request-id": 'a"}: b'}
        assert re.fullmatch(r"[0-9a-f]{16}", proxy.get("/api", headers=odd).headers["x-request-id"])

    def test_holds_no_secret_whatever_is_asked(
        self, client: TestClient, lines: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        token = make_token(client, "read", "upload", "admin")
        owner = "o" * 20 + "secret-of-an-owner"
        made = client.put(REPORTS, content=small_dump(), headers={"hloscope-owner": owner}).json()
        path = f"{REPORTS}/{made['id']}"
        client.get(path, headers=token)
        client.get(f"/r/{made['id']}?token=in-the-address")
        client.delete(path, headers={"authorization": "Bearer not-the-token-at-all"})

        def broken(*_: Any) -> None:
            raise RuntimeError(f"{token['authorization']} at {made['url']} of {path}")

        monkeypatch.setattr(app_of(client).state.services.store.reports, "find", broken)
        assert client.get(path, headers=token).status_code == 500
        monkeypatch.undo()
        client.delete(path, headers={"authorization": f"Bearer {made['delete_token']}"})
        text = "\n".join(lines)
        assert "RuntimeError" in text
        secrets = (
            made["id"],
            made["delete_token"],
            token["authorization"].removeprefix("Bearer "),
            owner,
            "in-the-address",
            "not-the-token-at-all",
        )
        assert [secret for secret in secrets if secret in text] == []

    def test_jobs_are_named_in_lines_of_their_own(self) -> None:
        record = logging.LogRecord("app.jobs", 30, "x.py", 1, "job %d: attempt %d", (7, 2), None)
        assert json.loads(JsonLines().format(record))["job"] == 7

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
            (f"hloscope_{'a' * 44}", "hloscope_***"),
            (f"GET /r/{'x' * 32}/source", "GET /r/***/source"),
            (f"/api/v1/reports/{'x' * 32}", "/api/v1/reports/***"),
            ("postgresql://me:secret@db/x", "postgresql://***@db/x"),
            ("postgresql://me:secr@et@db/x", "postgresql://***@db/x"),
            ("amqp://:secret@broker/", "amqp://***@broker/"),
            ("http://a:80/ and http://b@c/", "http://a:80/ and http://b@c/"),
            ("module_0001.jit_f at 12:00", "module_0001.jit_f at 12:00"),
        ],
    )
    def test_what_opens_a_door_is_masked(self, text: str, shown: str) -> None:
        assert masked(text) == shown
        record = logging.LogRecord("x", 30, "x.py", 1, text, (), None)
        assert PlainLines("%(message)s").format(record) == shown

    def test_hostile_lines_stay_one_line_of_json(self) -> None:
        record = logging.LogRecord("x", 30, "x.py", 1, 'a\n{"level": "x"}\u2028\x1b[31m', (), None)
        line = JsonLines().format(record)
        assert len(line.splitlines()) == 1
        assert json.loads(line)["message"].startswith("a\n{")


class TestEnd:
    def test_an_upload_that_stalls_is_told_of_the_end(self, client: TestClient) -> None:
        receive = pieces(small_dump(), then="stall")

        async def then_the_end() -> dict[str, Any]:
            asyncio.get_running_loop().call_later(0.2, app_of(client).state.stopping.set)
            return await receive()

        started = time.monotonic()
        asked = ask(client, "PUT", REPORTS, receive=then_the_end)
        assert (asked.status, b'"stopping"' in asked.body) == (503, True)
        assert int(asked.headers["retry-after"]) > 0
        assert time.monotonic() - started < 10

    def test_a_server_that_is_ended_answers_what_is_on_its_way(self, tmp_path: Path) -> None:
        with served(tmp_path, HLOSCOPE_LOG_JSON="1") as (process, port):
            with socket.create_connection(("127.0.0.1", port), 20) as wire:
                wire.sendall(
                    b"PUT /api/v1/reports HTTP/1.1\r\nHost: localhost\r\n"
                    b"Content-Length: 1000000\r\n\r\nHloModule m\n"
                )
                time.sleep(1)
                process.send_signal(signal.SIGTERM)
                # Head and body may come apart.
                answer = b"".join(iter(lambda: wire.recv(65536), b""))
            _, log = process.communicate(timeout=30)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b'"stopping"' in answer
        entries = [json.loads(line) for line in log.splitlines()]
        assert any(entry.get("status") == 503 for entry in entries)


@pytest.mark.parametrize(
    ("host", "token", "warns"),
    [("0.0.0.0", "", True), ("0.0.0.0", "x", False), ("127.0.0.1", "", False)],
)
def test_a_door_that_stands_open_is_said(
    tmp_path: Path, host: str, token: str, warns: bool
) -> None:
    with served(tmp_path, host, HLOSCOPE_UPLOAD_TOKEN=token) as (process, _):
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=30)
    assert ("Whoever reaches that address may send dumps" in log) == warns


@contextmanager
def served(
    data: Path, host: str = "127.0.0.1", **variables: str
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server that is ready, and its port."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE.replace("'--port'", f"'--host', '{host}', '--port'")],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HLOSCOPE_DATA_DIR": str(data), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = re.search(r"http://[\w.]+:(\d+)/", process.stdout.readline())
        assert found is not None
        while httpx2.get(f"http://127.0.0.1:{found[1]}/readyz").status_code != 200:
            time.sleep(0.1)
        yield process, int(found[1])
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
