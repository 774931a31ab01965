"""What no answer lacks, what errors show and hide, and what the log never holds."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.errors import UsageError
from app.store import StoreUnavailable
from app.web.callers import client_of
from app.web.guard import CONTENT_POLICY
from app.web.rates import Rate, Slots
from web.asking import app_of, small_dump
from web.test_hostile_requests import address_of, methods_of, routes_of

REPORTS = "/api/v1/reports"
HTML = {"accept": "text/html,application/xhtml+xml"}
Start = Callable[..., TestClient]


def test_every_answer_carries_the_security_headers(client: TestClient) -> None:
    created = client.put(REPORTS, content=small_dump()).json()
    for path in (
        "/",
        "/api",
        "/healthz",
        "/nowhere",
        created["url"],
        "/compare",
        f"{REPORTS}/{created['id']}",
        f"{REPORTS}/x",
        "/static/css/base.css",
        "/static/nothing.css",
    ):
        headers = client.get(path).headers
        assert headers["content-security-policy"] == CONTENT_POLICY, path
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        cached = "no-cache" if path.startswith("/static/") else "private, no-store"
        assert headers["cache-control"] == cached
        unlisted = "noindex, nofollow" if path.startswith(("/r/", "/api/", "/compare")) else None
        assert headers.get("x-robots-tag") == unlisted


def test_no_route_answers_without_them(client: TestClient) -> None:
    asked = 0
    for route in routes_of(client):
        for method in methods_of(route):
            answer = client.request(method, address_of(route, report_id="x" * 32))
            headers = answer.headers
            where = (method, route.path)
            policy = headers["content-security-policy"]
            assert policy in (CONTENT_POLICY, "default-src 'none'; sandbox"), where
            assert headers["x-content-type-options"] == "nosniff", where
            assert headers["referrer-policy"] == "no-referrer", where
            assert headers["cross-origin-resource-policy"] == "same-origin", where
            assert headers["cache-control"] == "private, no-store", where
            assert headers["x-request-id"], where
            assert "server" not in headers, where
            listed = not route.path.startswith(("/r/", "/api/", "/compare"))
            assert listed or headers["x-robots-tag"] == "noindex, nofollow", where
            asked += 1
    assert asked > 60


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere() -> None:
    assert CONTENT_POLICY.startswith("default-src 'none'; ")
    assert "unsafe" not in CONTENT_POLICY
    assert "http" not in CONTENT_POLICY


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/api/v1/nowhere", 404, "not_found"),
        ("GET", "/static/nothing", 404, "not_found"),
        ("GET", "/static/../../pyproject.toml", 404, "not_found"),
        ("PATCH", REPORTS, 405, "method_not_allowed"),
        ("PUT", "/", 405, "method_not_allowed"),
        ("POST", "/api", 405, "method_not_allowed"),
        ("GET", f"{REPORTS}/x?wait=x", 422, "invalid"),
    ],
)
def test_errors_have_one_shape(
    client: TestClient, method: str, path: str, status: int, code: str
) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}
    assert set(answer.json()["error"]) == {"code", "message", "hint", "where"}
    assert answer.json()["error"]["code"] == code


def test_a_browser_gets_a_page_and_a_program_json(client: TestClient) -> None:
    page = client.get("/r/nothing", headers=HTML)
    assert page.status_code == 404
    assert page.headers["content-type"].startswith("text/html")
    assert "There is no report at this address" in page.text
    assert client.get(f"{REPORTS}/x", headers=HTML).headers["content-type"] == "application/json"
    answer = client.get("/r/nothing/report.json", headers=HTML)
    assert answer.headers["content-type"] == "application/json"


def test_a_page_of_an_error_shows_hostile_words_as_text(client: TestClient) -> None:
    answer = client.post(
        "/",
        files={"dump": ("<img src=x onerror=alert(1)>.tar", b"\x7fELF")},
        headers=HTML,
    )
    assert answer.status_code == 415
    assert "&lt;img src=x onerror=alert(1)&gt;.tar" in answer.text
    assert "<img src=x" not in answer.text


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_a_fault_shows_an_id_and_nothing_else(
    client: TestClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    accept: str,
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("the secret inside")

    monkeypatch.setattr(app_of(client).state.services.store.jobs, "count_open", broken)
    answer = client.get("/readyz", headers={"accept": accept})
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert answer.headers["content-security-policy"] == CONTENT_POLICY
    (record,) = [each for each in caplog.records if each.levelno >= logging.ERROR]
    fault = record.getMessage().split()[1].rstrip(":")
    assert fault in answer.text
    assert record.exc_info is not None
    assert "the secret inside" in str(record.exc_info[1])


def test_the_log_holds_neither_ids_nor_tokens(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    created = client.put(f"{REPORTS}/a.tar.gz", content=small_dump()).json()
    headers = {"authorization": f"Bearer {created['delete_token']}"}
    client.get(created["url"])
    client.get(f"{REPORTS}/{created['id']}")
    client.delete(f"{REPORTS}/{created['id']}", headers=headers)
    ours = [each for each in caplog.records if each.name.startswith("app.")]
    assert len(ours) >= 4
    written = "\n".join(each.getMessage() for each in ours)
    assert created["id"] not in written
    assert created["delete_token"] not in written
    assert "DELETE /api/v1/reports/{report_id} 204" in written


def test_no_address_lists_the_reports(client: TestClient) -> None:
    client.put(REPORTS, content=small_dump())
    assert client.get(REPORTS).status_code == 401  # for an owner only
    assert client.get("/r").status_code == 404
    assert client.get("/r/").status_code == 404


class TestLimits:
    def test_a_rate_refills_evenly(self) -> None:
        now = [0.0]
        rate = Rate(3, 60.0, clock=lambda: now[0])
        assert [rate.spend("a") for _ in range(4)] == [True, True, True, False]
        assert rate.spend("b")
        now[0] = 21.0
        assert [rate.spend("a") for _ in range(2)] == [True, False]
        now[0] = 1000.0
        assert [rate.spend("a") for _ in range(4)] == [True, True, True, False]

    def test_a_rate_of_none_lets_nothing_pass(self) -> None:
        assert not Rate(0, 60.0, clock=lambda: 0.0).spend("a")

    def test_slots_come_back(self) -> None:
        slots = Slots(2, 3, "doors")
        with slots.hold("a"), slots.hold("a"):
            with pytest.raises(UsageError, match="too many doors"), slots.hold("a"):
                pass
            with slots.hold("b"), pytest.raises(UsageError), slots.hold("c"):
                pass
        with slots.hold("a"):
            pass

    @pytest.mark.parametrize(
        ("address", "counted"),
        [
            ("203.0.113.7", "203.0.113.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
            ("fe80::1%eth0", "fe80::/64"),
            ("testclient", "testclient"),
        ],
    )
    def test_a_network_is_one_client(self, address: str, counted: str) -> None:
        assert client_of({"client": (address, 1)}) == counted

    def test_a_socket_without_address_is_one_client(self) -> None:
        assert client_of({}) == ""


def test_a_database_that_does_not_answer_is_told(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: Any) -> None:
        raise StoreUnavailable("select", None, Exception("database is locked"))

    monkeypatch.setattr(app_of(client).state.services.store.reports, "find", locked)
    answer = client.get(f"{REPORTS}/{'x' * 32}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "store_unavailable")
    assert answer.headers["retry-after"] == "30"
    assert "select" not in answer.text


def test_long_answers_are_compressed_and_streams_are_not(client: TestClient) -> None:
    page = client.get("/", headers={"accept-encoding": "gzip"})
    assert page.headers["content-encoding"] == "gzip"
    assert "hloscope" in page.text
    assert "content-encoding" not in client.get("/readyz").headers


def test_a_wrong_method_is_told_the_right_ones(client: TestClient) -> None:
    answer = client.patch(f"{REPORTS}/x")
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == {"DELETE", "GET", "PUT"}
