"""Requests that no polite client makes: odd numbers, bodies, ids and methods at every address."""

import ast
import asyncio
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote, urlsplit

import httpx2
import pytest
from fastapi import sse
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from app.report.forms import ReportForm
from live_server import live_server
from web.asking import app_of, ask, kept_files, pieces, small_dump

REPORTS = "/api/v1/reports"
ROOT = Path(__file__).resolve().parents[2]
Start = Callable[..., TestClient]
HTML = {"accept": "text/html"}
ODD_NUMBERS = ("NaN", "Infinity", "-Infinity", "1e999", "9" * 25, "-" + "9" * 25, "9" * 5000, "0x1")
ODD_BODIES = {
    "no UTF-8": b'{"a": "\xff\xfe"}',
    "deep": b"[" * 10_000 + b"]" * 10_000,
    "no number": b'{"expire_days": NaN, "x": Infinity, "y": 1e999}',
    "many fields": b"&".join(b"a%d=1" % n for n in range(300)),
    "nothing": b"",
}


def routes_of(client: TestClient) -> list[APIRoute]:
    """Every address the application answers at, the description of the API aside."""
    return [route for route in app_of(client).state.routes if isinstance(route, APIRoute)]


def methods_of(route: APIRoute, *, safe: bool = True) -> list[str]:
    """The methods of a route, OPTIONS aside; `safe` ones only where wanted."""
    left_out = {"OPTIONS"} if safe else {"GET", "HEAD", "OPTIONS"}
    return sorted((route.methods or set()) - left_out)


def address_of(route: APIRoute, **words: str) -> str:
    """An address of the route; what is not said is 0, which is a position as well as a name."""
    path = route.path
    for parameter in route.dependant.path_params:
        word = words.get(parameter.name, "0")
        path = path.replace(f"{{{parameter.name}:path}}", word)
        path = path.replace(f"{{{parameter.name}}}", word)
    return path


def numbers_of(route: APIRoute) -> Iterator[str]:
    """Parameters in the query that are numbers, those of what the route depends on as well."""
    waiting = [route.dependant]
    while waiting:
        here = waiting.pop()
        waiting += here.dependencies
        for parameter in here.query_params:
            if {int, float} & {parameter.field_info.annotation}:
                yield parameter.alias


@pytest.fixture
def report_id(working: TestClient) -> str:
    """A finished report."""
    created = working.put(f"{REPORTS}/a.tar.gz", params={"wait": 60}, content=small_dump()).json()
    assert created["state"] == "done", created
    return created["id"]


def test_no_number_is_too_odd_for_any_address(working: TestClient, report_id: str) -> None:
    asked = 0
    for route in routes_of(working):
        path = address_of(route, report_id=report_id)
        for name in numbers_of(route):
            for number in ODD_NUMBERS:
                (method, *_) = methods_of(route)
                answer = working.request(method, path, params={name: number})
                assert answer.status_code in (400, 401, 404, 422), (method, path, name, number)
                asked += 1
    assert asked > 50


def test_no_body_is_too_odd_for_any_address(working: TestClient, report_id: str) -> None:
    asked = 0
    for route in routes_of(working):
        for method in methods_of(route, safe=False):
            for kind in ("application/json", "application/x-www-form-urlencoded", "text/plain"):
                for name, body in ODD_BODIES.items():
                    path = address_of(route, report_id=report_id)
                    answer = working.request(
                        method, path, content=body, headers={"content-type": kind}
                    )
                    assert answer.status_code < 500, (method, path, name, answer.text)
                    asked += 1
    assert asked > 100


def test_only_addresses_of_dumps_take_large_bodies(client: TestClient) -> None:
    large = {"content-length": str(100 << 20)}
    refused = 0
    for route in routes_of(client):
        for method in methods_of(route, safe=False):
            asked = ask(
                client, method, address_of(route), headers=large, receive=pieces(b"x", then="end")
            )
            if route.name in ("create_report", "upload", "create", "send_part"):
                continue
            assert (asked.status, asked.read) == (413, 0), (method, route.path)
            refused += 1
    assert refused >= 6


@pytest.mark.parametrize(
    "odd",
    [
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "a%00b",
        "x" * 10_240,
        "é" * 32,
        "a/b",
        "A" * 32 + "=",
    ],
)
def test_odd_ids_are_not_found_at_any_address(client: TestClient, odd: str) -> None:
    asked = 0
    for route in routes_of(client):
        if "{report_id}" not in route.path or route.name == "create_report":
            continue
        for method in methods_of(route):
            path = address_of(route, report_id=odd if "%" in odd else quote(odd, safe="/"))
            answer = client.request(method, path)
            assert answer.status_code in (404, 405, 422), (method, path)
            asked += 1
    assert asked > 20


def test_nul_in_a_file_name_is_dropped(client: TestClient) -> None:
    answer = client.put(f"{REPORTS}?name=a%00.tar%0d%0a.gz", content=small_dump())
    assert (answer.status_code, answer.json()["name"]) == (201, "a.tar.gz")


def test_a_body_of_single_bytes_is_too_slow(start: Start) -> None:
    client = start(upload_idle_s=1)
    receive = pieces(b"HloModule", b" ", then="repeat")

    async def trickle() -> dict[str, Any]:
        await asyncio.sleep(0.1)
        return await receive()

    asked = ask(client, "PUT", REPORTS, receive=trickle)
    assert (asked.status, b"too_slow" in asked.body) == (408, True)
    assert kept_files(client) == []


def test_what_follows_the_stated_length_is_no_part_of_the_body(tmp_path: Path) -> None:
    with live_server(tmp_path / "data") as base:
        host, port = urlsplit(base).hostname, urlsplit(base).port
        assert host is not None
        with socket.create_connection((host, port or 80), timeout=20) as wire:
            wire.sendall(
                b"PUT /api/v1/reports HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"
                b"HloModule \n" + b"x" * 200_000
            )
            answer = wire.recv(65536)
            # Head and body may come in two pieces.
            while not answer.endswith(b"}") and (more := wire.recv(65536)):
                answer += more
        assert answer.startswith(b"HTTP/1.1 201 ")
        assert b'"bytes":10,' in answer
        with socket.create_connection((host, port or 80), timeout=20) as wire:
            wire.sendall(
                b"PUT /api/v1/reports HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Length: 1000000\r\n\r\nHloModule m"
            )
            wire.shutdown(socket.SHUT_WR)
            assert b"short_body" in wire.recv(65536) or not list(
                (tmp_path / "data").rglob("*.part")
            )


def test_the_answer_does_not_depend_on_who_asks_and_head_works(
    working: TestClient, report_id: str
) -> None:
    path = f"/r/{report_id}"
    plain = working.get(path, headers=HTML)
    for agent in ("Slackbot-LinkExpanding 1.0", "Twitterbot/1.0", "facebookexternalhit/1.1", ""):
        assert working.get(path, headers={**HTML, "user-agent": agent}).content == plain.content
    head = working.head(path, headers=HTML)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == plain.headers["content-type"]
    part = working.get(path, headers={**HTML, "range": "bytes=0-99"})
    assert part.status_code in (200, 206)
    assert plain.content.startswith(part.content[:100])


def test_the_card_of_what_is_not_there_is_neutral(client: TestClient) -> None:
    answer = client.get(f"/r/{'x' * 32}", headers=HTML)
    assert answer.status_code == 404
    assert '<meta property="og:title" content="hloscope">' in answer.text
    assert "og:description" not in answer.text


@pytest.mark.parametrize("base_url", ["", "https://hlo.example/tools"])
def test_links_name_the_address_that_is_set_and_never_the_one_that_was_asked(
    start: Start, base_url: str
) -> None:
    client = start(base_url=base_url)
    for host in ("localhost", "127.0.0.1:81", "10.6.6.6"):
        created = client.put(REPORTS, content=small_dump(), headers={"host": host}).json()
        assert created["url"] == f"{base_url}/r/{created['id']}"


def test_no_form_of_a_report_is_a_spreadsheet() -> None:
    assert not {"csv", "tsv", "xls", "xlsx", "ods"} & set(get_args(ReportForm))


def _imports(*folders: str) -> Iterator[tuple[str, str]]:
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                match node:
                    case ast.Import(names=names):
                        yield from ((str(path), name.name) for name in names)
                    case ast.ImportFrom(module=str(module)):
                        yield str(path), module
                    case _:
                        pass


def test_the_server_fetches_nothing() -> None:
    clients = ("urllib.request", "http.client", "httpx", "requests", "aiohttp", "ftplib", "urllib3")
    rooms = [f"app/{name}" for name in ("web", "jobs", "ingest", "analysis", "views", "report")]
    found = [(path, name) for path, name in _imports(*rooms) if name.startswith(clients)]
    assert found == []
    assert any(name.startswith(clients) for _, name in _imports("app/cli"))


def test_nothing_is_pickled() -> None:
    words = ("pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "joblib")
    found = [each for each in _imports("app", "hlo_parser") if each[1].startswith(words)]
    assert found == []


def test_scripts_put_no_text_into_the_page_as_markup() -> None:
    ways = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(")
    scripts = [path for path in (ROOT / "static" / "js").rglob("*.js") if "plotly" not in path.name]
    assert len(scripts) > 10
    found = [(path.name, way) for path in scripts for way in ways if way in path.read_text("utf-8")]
    assert found == []


def test_an_idle_stream_is_kept_alive_every_quarter_of_a_minute() -> None:
    assert sse._PING_INTERVAL == 15.0


@pytest.mark.parametrize(("proxies", "counted"), [("127.0.0.1", 2), ("", 1)])
def test_the_word_of_a_proxy_counts_where_it_is_trusted(
    tmp_path: Path, proxies: str, counted: int
) -> None:
    settings = {"max_requests_per_minute": "3", "trusted_proxies": proxies}
    with live_server(tmp_path / "data", **settings) as base:
        statuses = [
            httpx2.get(f"{base}/api", headers={"x-forwarded-for": client}).status_code
            for client in ("203.0.113.7", "203.0.113.7", "203.0.113.7", "203.0.113.8")
        ]
    assert statuses == [200, 200, 200, 200 if counted == 2 else 429]
