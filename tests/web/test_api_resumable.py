"""Dumps in parts, as tus clients send them: taken up where they broke off, and nothing twice."""

import base64
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.store import NoSpace, Store, StoreUnavailable
from web.asking import app_of, ask, kept_files, pieces, small_dump, until_over

UPLOADS = "/api/v1/uploads"
REPORTS = "/api/v1/reports"
TUS = {"tus-resumable": "1.0.0"}
PART = {**TUS, "content-type": "application/offset+octet-stream"}


def begin(client: TestClient, size: int, headers: Any = (), **words: str) -> dict[str, Any]:
    metadata = ",".join(
        f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in words.items()
    )
    answer = client.post(
        UPLOADS,
        headers={**TUS, "upload-length": str(size), "upload-metadata": metadata, **dict(headers)},
    )
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == answer.json()["upload"]
    return answer.json()


def send(client: TestClient, upload: str, offset: int, data: bytes) -> Any:
    return client.patch(upload, content=data, headers={**PART, "upload-offset": str(offset)})


def offset_of(client: TestClient, upload: str) -> int:
    answer = client.head(upload, headers=TUS)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "private, no-store"
    return int(answer.headers["upload-offset"])


def files_of(client: TestClient) -> list[str]:
    return list(app_of(client).state.services.store.uploads.unfinished())


def test_parts_put_together_are_a_report(working: TestClient) -> None:
    dump = small_dump()
    log = "F0412 10:11:12.345678 4242 some_pass.cc:12] Check failed: a != b\n"
    owner = {"hloscope-owner": "o" * 40}
    made = begin(working, len(dump), owner, filename="a.tar.gz", log=log, label="nightly")
    assert working.get(f"{REPORTS}/{made['id']}").status_code == 404
    assert offset_of(working, made["upload"]) == 0
    first = send(working, made["upload"], 0, dump[:100])
    assert (first.status_code, first.headers["upload-offset"]) == (204, "100")
    assert "upload-expires" in first.headers
    assert offset_of(working, made["upload"]) == 100
    assert send(working, made["upload"], 100, dump[100:]).status_code == 204
    over = until_over(working, made["id"])
    assert (over["state"], over["name"], over["label"]) == ("done", "a.tar.gz", "nightly")
    assert over["bytes"] == len(dump)
    report = working.get(f"{REPORTS}/{made['id']}/report").json()
    assert report["failure"]["file"] == "some_pass.cc"
    assert working.head(made["upload"], headers=TUS).status_code == 404
    assert files_of(working) == []
    assert working.get(REPORTS, headers=owner).json()["items"][0]["id"] == made["id"]
    token = {"authorization": f"Bearer {made['delete_token']}"}
    assert working.delete(f"{REPORTS}/{made['id']}", headers=token).status_code == 204


def test_what_came_before_a_break_is_kept(client: TestClient) -> None:
    dump = small_dump()
    made = begin(client, len(dump))
    broken = ask(
        client,
        "PATCH",
        made["upload"],
        headers={**PART, "upload-offset": "0"},
        receive=pieces(dump[:60], dump[60:150], then="break"),
    )
    assert broken.status == 400
    at = offset_of(client, made["upload"])
    assert at == 150
    assert send(client, made["upload"], at, dump[at:]).status_code == 204
    assert client.get(f"{REPORTS}/{made['id']}").json()["sha256"] in kept_files(client)


def test_an_upload_outlives_the_server(start: Callable[..., TestClient], settings: Any) -> None:
    dump = small_dump()
    client = start()
    made = begin(client, len(dump))
    send(client, made["upload"], 0, dump[:50])
    client.__exit__(None, None, None)
    with Store.of(settings) as store:
        row = store.uploads.find(made["upload"].rpartition("/")[2])
        assert row is not None
        assert (row.offset, row.length) == (50, len(dump))
        assert store.uploads.drop_orphans() == 0
        if store.is_alone:
            (store.folder / "uploads" / f"{'a' * 64}.part").write_bytes(b"of no upload")
            assert store.uploads.drop_orphans() == 1


@pytest.mark.parametrize(
    ("at", "data", "status", "code"),
    [
        ("7", b"x", 409, "offset_mismatch"),
        ("x", b"x", 400, "bad_field"),
        ("", b"x", 400, "bad_field"),
        ("0", b"x" * 1000, 413, "too_large"),
    ],
)
def test_a_part_that_does_not_fit_changes_nothing(
    client: TestClient, at: str, data: bytes, status: int, code: str
) -> None:
    made = begin(client, 100)
    answer = client.patch(made["upload"], content=data, headers={**PART, "upload-offset": at})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert offset_of(client, made["upload"]) == 0


def test_two_parts_do_not_come_at_once(client: TestClient) -> None:
    made = begin(client, 100)
    services = app_of(client).state.services
    key = services.store.uploads.find(made["upload"].rpartition("/")[2]).key
    with services.part_slots.hold(key):
        answer = send(client, made["upload"], 0, b"x")
        assert (answer.status_code, answer.json()["error"]["code"]) == (423, "locked")
        assert int(answer.headers["retry-after"]) > 0
    assert send(client, made["upload"], 0, b"x").status_code == 204


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"tus-resumable": "0.2.0"}, 412, "tus_version"),
        ({"upload-length": "0"}, 413, "too_large"),
        ({"upload-length": "-1"}, 400, "bad_field"),
        ({"upload-length": ""}, 400, "bad_field"),
        ({"upload-length": "9" * 17}, 413, "too_large"),
        ({"upload-metadata": "filename ***"}, 400, "bad_field"),
        ({"upload-metadata": "hung bWF5YmU="}, 400, "bad_field"),
        ({"upload-metadata": "x " + "a" * 40_000}, 413, "field_too_long"),
        ({"hloscope-owner": "short"}, 401, "bad_owner"),
    ],
)
def test_a_beginning_that_makes_no_sense_is_refused(
    client: TestClient, headers: dict[str, str], status: int, code: str
) -> None:
    answer = client.post(UPLOADS, headers={**TUS, "upload-length": "10", **headers})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.headers["tus-version"] == "1.0.0"
    assert files_of(client) == []


def test_the_token_of_the_server_is_asked_for(start: Callable[..., TestClient]) -> None:
    client = start(upload_token="s3cret")
    answer = client.post(UPLOADS, headers={**TUS, "upload-length": "10"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "bad_token")
    made = begin(client, 10, {"authorization": "Bearer s3cret"})
    assert offset_of(client, made["upload"]) == 0


def test_only_parts_are_taken(client: TestClient) -> None:
    made = begin(client, 10)
    answer = client.patch(made["upload"], content=b"x", headers={**TUS, "upload-offset": "0"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "content_type")
    assert client.patch(made["upload"], content=b"x").status_code == 412


def test_what_is_no_dump_is_told_with_the_last_part(client: TestClient) -> None:
    made = begin(client, 8)
    answer = send(client, made["upload"], 0, b"\x89PNGabcd")
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "not_a_dump")
    assert client.head(made["upload"], headers=TUS).status_code == 404
    assert (files_of(client), kept_files(client)) == ([], [])


def test_giving_up_leaves_nothing(client: TestClient) -> None:
    made = begin(client, 10)
    send(client, made["upload"], 0, b"abc")
    assert client.delete(made["upload"], headers=TUS).status_code == 204
    assert client.head(made["upload"], headers=TUS).status_code == 404
    assert files_of(client) == []


def test_an_upload_has_a_day(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    made = begin(client, 10)
    later = time.time() + 86401
    monkeypatch.setattr("app.web.resumable.time.time", lambda: later)
    assert client.head(made["upload"], headers=TUS).status_code == 404
    assert app_of(client).state.services.store.uploads.expire(now=later) == 1
    assert files_of(client) == []


def test_a_part_stops_where_the_disk_must_not_get_fuller(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = app_of(client).state.services.store
    piece = store.uploads.piece_bytes
    made = begin(client, 5 * piece)
    # Other uploads fill the disk meanwhile.
    rooms = iter([5 * piece, 5 * piece, 0])
    monkeypatch.setattr(store.blobs, "room", lambda: next(rooms, 0))
    part = b"x" * (2 * piece)
    broken = ask(
        client,
        "PATCH",
        made["upload"],
        headers={**PART, "upload-offset": "0"},
        receive=pieces(part, part, part[:piece]),
    )
    assert broken.status == 507
    assert offset_of(client, made["upload"]) == 2 * piece


@pytest.mark.parametrize("fails_at", ["take", "receive"])
def test_a_report_that_had_no_room_is_made_by_an_empty_part(
    working: TestClient, monkeypatch: pytest.MonkeyPatch, fails_at: str
) -> None:
    dump = small_dump()
    made = begin(working, len(dump), log="a line\n")

    def is_full(*_: object) -> None:
        raise NoSpace

    with monkeypatch.context() as full:
        store = app_of(working).state.services.store
        thing = store.uploads if fails_at == "take" else store.blobs
        full.setattr(thing, fails_at, is_full)
        assert send(working, made["upload"], 0, dump).status_code == 507
    assert offset_of(working, made["upload"]) == len(dump)
    assert kept_files(working) == []
    assert send(working, made["upload"], len(dump), b"").status_code == 204
    assert until_over(working, made["id"])["state"] == "done"
    assert files_of(working) == []


def test_a_report_that_is_made_already_is_not_made_again(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = small_dump()
    made = begin(client, len(dump))
    store = app_of(client).state.services.store

    def is_away(*_: object) -> None:
        raise StoreUnavailable("the store does not answer")

    with monkeypatch.context() as away:
        away.setattr(store.uploads, "delete", is_away)
        assert send(client, made["upload"], 0, dump).status_code == 503
    assert client.get(f"{REPORTS}/{made['id']}").json()["state"] == "queued"
    assert send(client, made["upload"], len(dump), b"").status_code == 204
    assert files_of(client) == []
    assert store.jobs.count_open() == 1


def test_of_two_servers_with_the_last_part_one_makes_the_report(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = small_dump()
    made = begin(client, len(dump))
    reports = app_of(client).state.services.store.reports
    create_as = reports.create_as

    def second(*given: Any, **named: Any) -> Any:
        # The other server is quicker with the very same report.
        monkeypatch.setattr(reports, "create_as", create_as)
        taken = app_of(client).state.services.store.uploads.take(key)
        files = (replace(given[1].files[0], data=taken),)
        create_as(given[0], replace(given[1], files=files), **named)
        return create_as(*given, **named)

    key = app_of(client).state.services.store.uploads.find(made["upload"].rpartition("/")[2]).key
    monkeypatch.setattr(reports, "create_as", second)
    assert send(client, made["upload"], 0, dump).status_code == 204
    assert app_of(client).state.services.store.jobs.count_open() == 1
    assert len(kept_files(client)) == 1


def test_nothing_grows_behind_an_upload_that_is_gone(client: TestClient) -> None:
    made = begin(client, 10)
    store = app_of(client).state.services.store
    key = store.uploads.find(made["upload"].rpartition("/")[2]).key
    store.uploads.delete(key)
    store.uploads.append(key, b"late", at=0)
    # Where servers share the bytes, one may not know yet, and what it adds is swept.
    assert store.uploads.drop_orphans() == (0 if store.is_alone else 1)
    assert files_of(client) == []


def test_the_server_says_what_it_takes(client: TestClient) -> None:
    answer = client.options(UPLOADS)
    assert answer.status_code == 204
    assert answer.headers["tus-extension"] == "creation,expiration,termination"
    assert answer.headers["tus-max-size"] == str(8 << 30)
    assert answer.headers["tus-version"] == answer.headers["tus-resumable"] == "1.0.0"
