"""What a sender may say of a report over the API, and the list of their own."""

import time
from collections.abc import Callable
from datetime import datetime

import pytest
from starlette.testclient import TestClient

from web.asking import app_of, small_dump

REPORTS = "/api/v1/reports"
OWNER = {"Hloscope-Owner": "0123456789abcdef0123456789abcdef"}
OTHER = {"Hloscope-Owner": "f" * 48}


@pytest.mark.parametrize("way", ["form", "query"])
def test_label_links_and_end_are_kept(client: TestClient, way: str) -> None:
    words = {
        "label": "nightly, 8 GPUs",
        "commit": "0123abcd",
        "run": "https://ci.example/runs/7",
        "expire_days": "3",
    }
    if way == "form":
        made = client.post(REPORTS, files={"dump": ("a.tar.gz", small_dump())}, data=words)
    else:
        made = client.put(REPORTS, content=small_dump(), params=words)
    state = client.get(f"{REPORTS}/{made.json()['id']}").json()
    assert state["label"] == "nightly, 8 GPUs"
    assert state["links"] == {"commit": "0123abcd", "run": "https://ci.example/runs/7"}
    end = datetime.fromisoformat(state["expires"]).timestamp()
    assert abs(end - time.time() - 3 * 86400) < 100
    assert state["redaction"] is None


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("commit", "javascript:alert(1)"),
        ("commit", "xyz"),
        ("run", "javascript:alert(1)"),
        ("run", "https://a b"),
        ("run", 'https://a/"><script>'),
        ("run", "ftp://a"),
        ("expire_days", "0"),
        ("expire_days", "-1"),
        ("expire_days", "²"),
        ("expire_days", "99999999999999999999"),
        ("expire_days", "000003650999"),
        ("expire_days", f"000000001{'9' * 5000}"),
        ("expire_days", "soon"),
        ("hung", "perhaps"),
    ],
)
def test_words_that_make_no_sense_are_refused(client: TestClient, word: str, value: str) -> None:
    answer = client.put(REPORTS, content=small_dump(), params={word: value})
    assert answer.status_code == 400
    assert (answer.json()["error"]["code"], answer.json()["error"]["where"]) == ("bad_field", word)
    form = client.post(REPORTS, files={"dump": ("a.tar", small_dump())}, data={word: value})
    assert form.json()["error"]["code"] == "bad_field"


@pytest.mark.parametrize("word", ["label", "commit", "run"])
def test_words_that_are_too_long_are_refused(client: TestClient, word: str) -> None:
    answer = client.put(REPORTS, content=small_dump(), params={word: "f" * 3000})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "field_too_long")


def test_a_report_ends_when_its_sender_said(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = client.put(f"{REPORTS}?expire_days=1", content=small_dump()).json()
    later = time.time() + 86401
    monkeypatch.setattr("app.web.services.time.time", lambda: later)
    for path in (f"{REPORTS}/{made['id']}", made["url"]):
        assert client.get(path).status_code == 404
    assert app_of(client).state.services.store.reports.expire(now=later) == 1


def test_owners_list_their_own(client: TestClient) -> None:
    made = [client.put(REPORTS, content=small_dump(), headers=OWNER).json() for _ in range(3)]
    client.put(REPORTS, content=small_dump(), headers=OTHER)
    client.put(REPORTS, content=small_dump())
    listed = client.get(REPORTS, headers=OWNER).json()
    assert listed["total"] == 3
    assert {item["id"] for item in listed["items"]} == {each["id"] for each in made}
    assert all("delete_token" not in item for item in listed["items"])
    second = client.get(f"{REPORTS}?offset=1&limit=1", headers=OWNER).json()
    assert second["items"] == listed["items"][1:2]
    assert client.get(REPORTS, headers={"Hloscope-Owner": "9" * 40}).json()["items"] == []


@pytest.mark.parametrize("secret", ["", "short", "x" * 200, "with space " * 5])
def test_without_a_good_secret_nothing_is_listed(client: TestClient, secret: str) -> None:
    answer = client.get(REPORTS, headers={"Hloscope-Owner": secret} if secret else {})
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "bad_owner")
    if secret:
        sent = client.put(REPORTS, content=small_dump(), headers={"Hloscope-Owner": secret})
        assert sent.status_code == 401


def test_an_owner_may_delete_without_the_token(client: TestClient) -> None:
    made = client.put(REPORTS, content=small_dump(), headers=OWNER).json()
    address = f"{REPORTS}/{made['id']}"
    assert client.delete(address, headers=OTHER).status_code == 401
    assert client.delete(address, headers=OWNER).status_code == 204
    assert client.get(REPORTS, headers=OWNER).json()["total"] == 0


def test_the_sender_of_a_page_needs_no_secret(start: Callable[..., TestClient]) -> None:
    client = start()
    made = client.put(REPORTS, content=small_dump()).json()
    token = {"authorization": f"Bearer {made['delete_token']}"}
    assert client.delete(f"{REPORTS}/{made['id']}", headers=token).status_code == 204


def test_an_upload_sent_again_with_its_key_is_the_same_report(client: TestClient) -> None:
    key = {"Idempotency-Key": "0123456789abcdef" * 2}
    made = [client.put(REPORTS, content=small_dump(), headers=key).json() for _ in range(2)]
    assert made[0]["id"] == made[1]["id"]
    assert made[0]["delete_token"] == made[1]["delete_token"]
    assert app_of(client).state.services.store.jobs.count_open() == 1
    answer = client.put(REPORTS, content=small_dump(), params={"flags": "--x"}, headers=key)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "repeat_key")
    short = client.put(REPORTS, content=small_dump(), headers={"Idempotency-Key": "guess"})
    assert (short.status_code, short.json()["error"]["code"]) == (400, "bad_field")


def test_an_owner_may_have_only_so_many(start: Callable[..., TestClient]) -> None:
    client = start(owner_max_reports=1)
    assert client.put(REPORTS, content=small_dump(), headers=OWNER).status_code == 201
    answer = client.put(REPORTS, content=small_dump(), headers=OWNER)
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "quota")
    assert int(answer.headers["retry-after"]) > 0
    assert client.put(REPORTS, content=small_dump(), headers=OTHER).status_code == 201


def test_the_last_upload_that_an_owner_may_have_can_be_sent_again(
    start: Callable[..., TestClient],
) -> None:
    client = start(owner_max_reports=1)
    key = {"Idempotency-Key": "0123456789abcdef" * 2}
    made = [client.put(REPORTS, content=small_dump(), headers=OWNER | key) for _ in range(2)]
    assert [answer.status_code for answer in made] == [201, 201]
    assert made[0].json()["id"] == made[1].json()["id"]
    other = client.put(REPORTS, content=small_dump(), headers=OWNER | {"Idempotency-Key": "k" * 32})
    assert (other.status_code, other.json()["error"]["code"]) == (429, "quota")


def test_the_files_of_an_owner_may_be_only_so_large(start: Callable[..., TestClient]) -> None:
    client = start(owner_max_bytes=10)
    answer = client.put(REPORTS, content=small_dump(), headers=OWNER)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "quota")
    tus = {"Tus-Resumable": "1.0.0", "Upload-Length": "11"}
    answer = client.post("/api/v1/uploads", headers=OWNER | tus)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "quota")
