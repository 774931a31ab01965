"""What a hostile, broken or unlucky sender gets: a named refusal, and nothing of it is kept."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.store import NoSpace
from app.web.receiving import WORDS
from web.asking import Asked, app_of, ask, kept_files, pieces, small_dump

REPORTS = "/api/v1/reports"
BOUNDARY = "xxBOUNDARYxx"
FORM = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}
Start = Callable[..., TestClient]


def code_of(answer: Any) -> str:
    """The code of an error, whose shape is checked on the way."""
    body = json.loads(answer.body) if isinstance(answer, Asked) else answer.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "hint", "where"}
    assert all(isinstance(word, str) for word in body["error"].values())
    assert body["error"]["message"]
    return body["error"]["code"]


def part(name: str, data: bytes, filename: str | None = None) -> bytes:
    file = "" if filename is None else f'; filename="{filename}"'
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'
    return head.encode() + data + b"\r\n"


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def send_form(client: TestClient, *parts: bytes) -> Any:
    return client.post(REPORTS, content=form(*parts), headers=FORM)


def test_a_stated_length_above_the_limit_reads_nothing(start: Start) -> None:
    client = start(max_upload_bytes=1000, max_log_bytes=0)
    asked = ask(
        client,
        "POST",
        REPORTS,
        headers={"content-length": str(1 << 40)},
        receive=pieces(b"x", then="repeat"),
    )
    assert (asked.status, code_of(asked), asked.read) == (413, "too_large", 0)
    assert asked.headers["connection"] == "close"


def test_an_endless_body_is_cut_at_the_limit(start: Start) -> None:
    client = start(max_upload_bytes=3 << 20)
    asked = ask(
        client, "PUT", REPORTS, receive=pieces(b"HloModule x\n", b" " * 65536, then="repeat")
    )
    assert (asked.status, code_of(asked)) == (413, "too_large")
    assert asked.read < 60
    assert kept_files(client) == []


@pytest.mark.parametrize("then", ["break", "end"])
def test_a_body_shorter_than_stated_is_refused(client: TestClient, then: str) -> None:
    body = small_dump()
    asked = ask(
        client,
        "POST",
        REPORTS,
        headers={"content-length": str(len(body) + 10)},
        receive=pieces(body, then=then),
    )
    assert (asked.status, code_of(asked)) == (400, "short_body")
    assert kept_files(client) == []


@pytest.mark.parametrize("stated", ["-1", "ten", "1e3", "9" * 40, "٣"])
def test_a_length_that_is_no_number_is_refused(client: TestClient, stated: str) -> None:
    asked = ask(client, "POST", REPORTS, headers={"content-length": stated}, receive=pieces(b"x"))
    assert (asked.status, code_of(asked)) == (400, "bad_length")


@pytest.mark.parametrize("chunks", [[small_dump()], [b"HloModule"]], ids=["archive", "text"])
def test_a_body_that_stalls_is_refused(start: Start, chunks: list[bytes]) -> None:
    client = start(upload_idle_s=1)
    asked = ask(client, "POST", REPORTS, receive=pieces(*chunks, then="stall"))
    assert (asked.status, code_of(asked)) == (408, "too_slow")
    assert kept_files(client) == []


@pytest.mark.parametrize(
    "parts",
    [
        [part("flags", b"x")] * 11,
        [part("flags", b"x")] * 100_000,
        [part("log", b"x", "a.log")] * 11,
        [part("dump", small_dump(), "a.tar.gz")] * 2,
        [part("dump", b"", "")] * 100_000,
    ],
    ids=["words", "100,000 words", "logs", "dumps", "files left empty"],
)
def test_too_many_parts_are_refused(client: TestClient, parts: list[bytes]) -> None:
    answer = send_form(client, *parts)
    assert (answer.status_code, code_of(answer)) == (413, "too_many_parts")
    assert kept_files(client) == []


def test_a_form_with_all_it_may_have_is_taken(client: TestClient) -> None:
    words = [part(word, b"") for word in WORDS]
    logs = [part("log", b"x", f"{number}.log") for number in range(10)]
    answer = send_form(client, part("dump", small_dump(), "a.tar.gz"), *logs, *words)
    assert answer.status_code == 201


def test_a_word_of_a_megabyte_is_refused(client: TestClient) -> None:
    answer = send_form(client, part("flags", b"x" * (1 << 20)))
    assert (answer.status_code, code_of(answer)) == (413, "too_many_parts")
    # What a form can hold, and no such word: its own limit is told.
    answer = send_form(client, part("flags", b"x" * (100 << 10)))
    assert (answer.status_code, code_of(answer)) == (413, "field_too_long")


def test_an_unknown_field_is_named(client: TestClient) -> None:
    answer = send_form(client, part("dmup", small_dump(), "a.tar.gz"))
    assert (answer.status_code, code_of(answer)) == (400, "unknown_field")
    assert answer.json()["error"]["where"] == "dmup"


@pytest.mark.parametrize("sent", [None, "Bearer wrong", "Bearer", "Basic c2VjcmV0", "Bearer \xff"])
def test_without_the_token_no_body_is_read(start: Start, sent: str | None) -> None:
    client = start(upload_token="secret")
    headers = {} if sent is None else {"authorization": sent}
    asked = ask(client, "POST", REPORTS, headers={**FORM, **headers}, receive=pieces(b"x"))
    assert (asked.status, code_of(asked), asked.read) == (401, "bad_token", 0)
    assert asked.headers["www-authenticate"] == "Bearer"


def test_with_the_token_it_is_taken(start: Start) -> None:
    client = start(upload_token="secret")
    answer = client.put(REPORTS, content=small_dump(), headers={"authorization": "Bearer secret"})
    assert answer.status_code == 201


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\dumps\\a.tar.gz", "a.tar.gz"),
        ("a\u202egnp.tar.gz", "agnp.tar.gz"),
        ("zero\u200bwidth.tar", "zerowidth.tar"),
        ("e\u0301.tar", "é.tar"),
        ("x" * 10_000, "x" * 240),
        ("é" * 10_000, "é" * 120),
        ("..", "dump"),
        ("   ", "dump"),
        ("a\x07b.tar", "ab.tar"),
        ('q"uote.tar', "quote.tar"),
    ],
)
def test_a_file_name_is_only_a_label(client: TestClient, sent: str, kept: str) -> None:
    sent = sent.replace('"', '\\"') if kept != "quote.tar" else sent.replace('"', "")
    answer = send_form(client, part("dump", small_dump(), sent))
    assert answer.status_code == 201
    assert answer.json()["name"] == kept


def test_line_ends_in_a_file_name_break_nothing(client: TestClient) -> None:
    answer = send_form(client, part("dump", small_dump(), "a\r\nX-Evil: 1.tar"))
    assert answer.status_code in (201, 400)
    assert "x-evil" not in answer.headers


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        f"multipart/form-data; boundary={'x' * 10240}",
        'multipart/form-data; boundary="',
    ],
)
def test_a_bad_boundary_is_refused(client: TestClient, content_type: str) -> None:
    answer = client.post(REPORTS, content=b"x", headers={"content-type": content_type})
    assert (answer.status_code, code_of(answer)) == (400, "bad_multipart")


@pytest.mark.parametrize(
    "body",
    [
        b"no form at all",
        form(part("dump", small_dump(), "a"))[:-20],
        f"--{BOUNDARY}\r\nContent-Disposition: form-data\r\n\r\nx\r\n--{BOUNDARY}--\r\n".encode(),
        f"--{BOUNDARY}\r\nX: {'y' * 100_000}\r\n\r\nx\r\n--{BOUNDARY}--\r\n".encode(),
        b"",
    ],
)
def test_a_broken_form_is_refused(client: TestClient, body: bytes) -> None:
    answer = client.post(REPORTS, content=body, headers=FORM)
    assert (answer.status_code, code_of(answer)) == (400, "bad_multipart")
    assert kept_files(client) == []


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html><html>",
        b"  <svg xmlns=",
        b"\x7fELF\x02\x01\x01",
        b"%PDF-1.7",
        b"\xff\xd8\xff\xe0\x00\x10JFIF",
        b"\xfd7zXZ\x00",
        b"BZh91AY",
        b"7z\xbc\xaf\x27\x1c",
        b"PK\x07\x08PK\x03\x04",
        b"\x00" * 600,
        b"\x01\x02\x03",
    ],
)
def test_what_cannot_be_a_dump_is_refused_by_its_first_bytes(
    client: TestClient, body: bytes
) -> None:
    answer = client.put(f"{REPORTS}/run.tar.zst", content=body)
    assert (answer.status_code, code_of(answer)) == (415, "not_a_dump")
    assert answer.json()["error"]["where"] == "run.tar.zst"
    assert kept_files(client) == []


@pytest.mark.parametrize(
    "body", [b"7z\xbc\xaf\x27\x1c", b"\xfd7zXZ\x00", b"BZh91AY", b"Rar!\x1a\x07", b"PK\x07\x08"]
)
def test_archives_of_other_kinds_are_to_be_repacked(client: TestClient, body: bytes) -> None:
    answer = client.put(f"{REPORTS}/run.7z", content=body)
    assert (answer.status_code, code_of(answer)) == (415, "not_a_dump")
    assert "repack as .tar.zst" in answer.json()["error"]["hint"]


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_an_empty_body_is_refused(client: TestClient, method: str) -> None:
    answer = client.request(method, REPORTS)
    assert (answer.status_code, code_of(answer)) == (400, "empty")


def test_an_empty_form_is_refused(client: TestClient) -> None:
    answer = send_form(client, part("dump", b"", ""), part("log", b""), part("flags", b""))
    assert (answer.status_code, code_of(answer)) == (400, "empty")
    answer = send_form(client, part("dump", b"", "a.tar"))
    assert (answer.status_code, code_of(answer)) == (400, "empty")


def test_a_log_larger_than_its_limit_is_refused(start: Start) -> None:
    client = start(max_log_bytes=1000)
    answer = send_form(
        client, part("dump", small_dump(), "a.tar.gz"), part("log", b"x" * 2000, "run.log")
    )
    assert (answer.status_code, code_of(answer)) == (413, "too_large")
    assert answer.json()["error"]["where"] == "run.log"
    assert kept_files(client) == []


def test_an_address_may_send_only_so_often(start: Start) -> None:
    client = start(max_uploads_per_hour=3)
    statuses = [client.put(REPORTS, content=small_dump()).status_code for _ in range(4)]
    assert statuses == [201, 201, 201, 429]
    answer = client.put(REPORTS, content=small_dump())
    assert code_of(answer) == "too_many_requests"
    assert int(answer.headers["retry-after"]) > 0


def test_a_full_queue_takes_no_more(start: Start) -> None:
    client = start(max_open_jobs=2)
    statuses = [client.put(REPORTS, content=small_dump()).status_code for _ in range(3)]
    assert statuses == [201, 201, 503]


def test_an_address_may_have_only_so_many_uploads_open(client: TestClient) -> None:
    slots = app_of(client).state.services.upload_slots
    held = [slots.hold("testclient") for _ in range(6)]
    for each in held:
        each.__enter__()
    answer = client.put(REPORTS, content=small_dump())
    assert (answer.status_code, code_of(answer)) == (429, "too_many_requests")
    for each in held:
        each.__exit__(None, None, None)
    assert client.put(REPORTS, content=small_dump()).status_code == 201


def test_a_disk_without_room_takes_nothing(start: Start) -> None:
    client = start(min_free_bytes=1 << 60)
    answer = client.put(REPORTS, content=small_dump())
    assert (answer.status_code, code_of(answer)) == (507, "no_space")
    assert kept_files(client) == []
    assert client.get("/").status_code == 200


def test_a_disk_that_fills_up_keeps_no_part(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise NoSpace

    monkeypatch.setattr("app.store.BlobWriter.finish", full)
    answer = client.put(REPORTS, content=small_dump())
    assert (answer.status_code, code_of(answer)) == (507, "no_space")
    monkeypatch.undo()
    assert kept_files(client) == []
    assert client.put(REPORTS, content=small_dump()).status_code == 201


def test_the_same_dump_twice_is_stored_once_and_told_alike(client: TestClient) -> None:
    first = client.put(f"{REPORTS}/a.tar.gz", content=small_dump())
    second = client.put(f"{REPORTS}/a.tar.gz", content=small_dump())
    assert first.status_code == second.status_code == 201
    one, two = first.json(), second.json()
    assert one["sha256"] == two["sha256"]
    assert one["id"] != two["id"]
    assert one["delete_token"] != two["delete_token"]
    assert set(one) == set(two)
    assert len(kept_files(client)) == 1


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "gzip, identity"])
def test_a_compressed_body_is_refused(client: TestClient, encoding: str) -> None:
    asked = ask(
        client, "PUT", REPORTS, headers={"content-encoding": encoding}, receive=pieces(b"x")
    )
    assert (asked.status, code_of(asked), asked.read) == (415, "content_encoding", 0)


@pytest.mark.parametrize("wait", ["NaN", "Infinity", "-Infinity", "1e999", "-1", "1e9", "soon", ""])
def test_odd_numbers_are_refused(client: TestClient, wait: str) -> None:
    answer = client.get(f"{REPORTS}/{'x' * 32}", params={"wait": wait})
    assert (answer.status_code, code_of(answer)) == (422, "invalid")
    assert answer.json()["error"]["where"] == "query.wait"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://localhost", "sec-fetch-site": "cross-site"},
    ],
)
@pytest.mark.parametrize("path", ["/", REPORTS, f"/r/{'x' * 32}/delete"])
def test_posts_from_other_sites_are_refused(
    client: TestClient, headers: dict[str, str], path: str
) -> None:
    asked = ask(client, "POST", path, headers=headers, receive=pieces(b"x"))
    assert (asked.status, code_of(asked), asked.read) == (403, "cross_site", 0)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://localhost"},
        {"origin": "null"},
        {"origin": "null", "sec-fetch-site": "same-origin"},
    ],
)
def test_posts_of_our_own_pages_are_taken(client: TestClient, headers: dict[str, str]) -> None:
    answer = client.post(REPORTS, content=small_dump(), headers=headers)
    assert answer.status_code == 201


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "", "local host", "localhost:x", "[::1", "a@b"],
)
def test_strange_hosts_are_refused(client: TestClient, host: str) -> None:
    asked = ask(client, "GET", "/", headers={"host": host}, receive=pieces(b""))
    assert (asked.status, code_of(asked)) == (400, "bad_host")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1:8765", "[::1]:80", "10.1.2.3"]
)
def test_own_names_and_addresses_are_answered(client: TestClient, host: str) -> None:
    assert ask(client, "GET", "/", headers={"host": host}, receive=pieces(b"")).status == 200


def test_allowed_hosts_are_the_only_ones(start: Start) -> None:
    client = start(allowed_hosts="xla.example, Other.example", base_url="https://hlo.example/")
    hosts = ["xla.example", "other.example", "hlo.example", "localhost", "127.0.0.1"]
    statuses = [
        ask(client, "GET", "/", headers={"host": host}, receive=pieces(b"")).status
        for host in hosts
    ]
    assert statuses == [200, 200, 200, 400, 400]


@pytest.mark.parametrize("name", ["token", "access_token", "delete_token", "Api_Key"])
def test_secrets_in_the_address_are_refused(client: TestClient, name: str) -> None:
    answer = client.put(f"{REPORTS}?{name}=secret", content=small_dump())
    assert (answer.status_code, code_of(answer)) == (400, "secret_in_address")
    assert "secret" not in answer.json()["error"]["where"]


def test_an_address_may_ask_only_so_often(start: Start) -> None:
    client = start(max_requests_per_minute=5)
    statuses = [client.get("/api").status_code for _ in range(7)]
    assert statuses == [200] * 5 + [429] * 2
    assert client.get("/static/css/base.css").status_code == 200
    assert client.get("/healthz").status_code == 200
    other = ask(client, "GET", "/api", receive=pieces(b""))
    assert other.status == 200
