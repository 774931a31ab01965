"""The API from a sender's side: send, wait, read, delete; with the real analysis behind it."""

import json
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.settings import Settings
from app.store import NewReport, Problem, Question, ReceivedFile, Store
from app.web import create_app
from web.asking import HLO, IdleRunner, app_of, kept_files, small_dump, tar_of, until_over

REPORTS = "/api/v1/reports"
Start = Callable[..., TestClient]


def events_of(text: str) -> list[dict[str, Any]]:
    """The data of each `state` event of a stream."""
    blocks = [block for block in text.split("\n\n") if "event: state" in block]
    return [
        json.loads(line.removeprefix("data: "))
        for block in blocks
        for line in block.splitlines()
        if line.startswith("data: ")
    ]


def test_a_dump_becomes_a_report(working: TestClient) -> None:
    created = working.put(f"{REPORTS}/dump.tar.gz", content=small_dump())
    assert created.status_code == 201
    state = created.json()
    assert state["state"] in ("queued", "running")
    assert state["failed"] is None
    assert state["url"] == created.headers["location"] == f"/r/{state['id']}"
    assert len(state["id"]) == len(state["delete_token"]) == 32
    over = until_over(working, state["id"])
    assert (over["state"], over["failed"], over["error"]) == ("done", False, None)
    assert over["summary"]["modules"] == over["summary"]["texts"] == 1
    assert "delete_token" not in over
    report = working.get(f"{REPORTS}/{state['id']}/report").json()
    assert report["schema_version"] == 1
    assert report["input"]["name"] == "dump.tar.gz"
    assert report["input"]["sha256"] == state["sha256"]


@pytest.mark.parametrize(
    ("form", "kind", "mark"),
    [
        ("sarif", "application/sarif+json", '"version": "2.1.0"'),
        ("junit", "application/xml", "<testsuites"),
        ("gitlab", "application/json", "["),
        ("github", "text/plain", ""),
        ("md", "text/markdown", "### "),
        ("thread", "text/markdown", "**Environment**"),
        ("html", "text/html", "<!doctype html>"),
        ("json", "application/json", '"schema_version": 1'),
    ],
)
def test_a_report_comes_in_every_form(working: TestClient, form: str, kind: str, mark: str) -> None:
    made = working.put(f"{REPORTS}?wait=60&name=a.tar.gz", content=small_dump()).json()
    answer = working.get(f"{REPORTS}/{made['id']}/report.{form}?root=/repo&fail_on=note")
    assert answer.status_code == 200
    assert answer.headers["content-type"].partition(";")[0] == kind
    assert answer.headers["content-disposition"].startswith("attachment")
    assert mark in answer.text


def test_an_unknown_form_is_refused(working: TestClient) -> None:
    made = working.put(f"{REPORTS}?wait=60&name=a.tar.gz", content=small_dump()).json()
    assert working.get(f"{REPORTS}/{made['id']}/report.pdf").status_code == 422


def test_waiting_answers_when_it_is_over(working: TestClient) -> None:
    created = working.put(f"{REPORTS}?wait=60&name=a.tar.gz", content=small_dump())
    assert created.status_code == 201
    assert created.json()["state"] == "done"


def test_waiting_ends_with_the_time(client: TestClient) -> None:
    created = client.put(f"{REPORTS}?wait=0.3", content=small_dump()).json()
    assert (created["state"], created["failed"]) == ("queued", None)
    assert created["progress"]["words"] == "Waiting for a free worker"


def test_a_form_carries_log_flags_and_the_rest(working: TestClient) -> None:
    log = "F0412 10:11:12.345678 4242 some_pass.cc:12] Check failed: a != b (1 vs. 1)\n"
    answer = working.post(
        f"{REPORTS}?wait=60",
        files=[
            ("dump", ("dump.tar.gz", small_dump())),
            ("log", ("run.log", log.encode())),
        ],
        data={"flags": "--xla_gpu_enable_x=true", "release": "0.4.30", "hung": "1"},
    )
    state = answer.json()
    assert (state["state"], state["failed"]) == ("done", True)
    report = working.get(f"{REPORTS}/{state['id']}/report").json()
    assert report["failure"]["file"] == "some_pass.cc"
    assert report["environment"]["flags"]["xla_gpu_enable_x"] == "true"
    assert report["environment"]["jaxlib"]["releases"] == ["0.4.30"]


def test_a_log_alone_is_enough(working: TestClient) -> None:
    log = "F0412 10:11:12.345678 4242 some_pass.cc:12] Check failed: a != b\n"
    answer = working.post(f"{REPORTS}?wait=60", files={"log": ("run.log", log.encode())})
    state = answer.json()
    assert (state["state"], state["name"], state["sha256"]) == ("done", "run.log", "")


def test_a_short_log_may_stand_in_the_query(working: TestClient) -> None:
    log = "F0412 10:11:12.345678 4242 some_pass.cc:12] Check failed: a != b\n"
    answer = working.put(
        f"{REPORTS}/a.tar.gz", content=small_dump(), params={"wait": 60, "log": log}
    )
    report = working.get(f"{REPORTS}/{answer.json()['id']}/report").json()
    assert report["failure"]["line"] == 12


def test_a_single_text_keeps_its_name(working: TestClient) -> None:
    name = "module_0007.jit_step.before_optimizations.txt"
    state = working.put(f"{REPORTS}/{name}?wait=60", content=HLO.encode()).json()
    report = working.get(f"{REPORTS}/{state['id']}/report").json()
    assert report["modules"][0]["dumps"][0]["file"] == name
    assert report["modules"][0]["id"].startswith("module_0007")


def test_the_threshold_decides_what_failed(working: TestClient) -> None:
    log = "F0412 10:11:12.345678 4242 some_pass.cc:12] Check failed: a != b\n"
    answer = working.post(f"{REPORTS}?wait=60", files={"log": ("run.log", log.encode())})
    counts = answer.json()["summary"]["findings"]
    assert counts["error"] + counts["warning"] + counts["note"] > 0
    address = f"{REPORTS}/{answer.json()['id']}"
    failed = {
        level: working.get(address, params={"fail_on": level}).json()["failed"]
        for level in ("error", "warning", "note", "never")
    }
    assert failed["never"] is False
    assert failed["note"] is True
    assert failed["error"] is (counts["error"] > 0)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"just some words", "not_a_dump"),
        (small_dump()[:30], "truncated"),
    ],
    ids=["words", "cut off"],
)
def test_what_is_no_dump_fails_with_its_reason(working: TestClient, body: bytes, code: str) -> None:
    state = working.put(f"{REPORTS}/dump.tar.gz?wait=60", content=body).json()
    assert (state["state"], state["failed"], state["summary"]) == ("failed", True, None)
    assert state["error"]["code"] == code
    assert state["error"]["message"]
    report = working.get(f"{REPORTS}/{state['id']}/report")
    assert report.status_code == 422
    assert report.json()["error"] == state["error"]
    page = working.get(state["url"], headers={"accept": "text/html"})
    assert page.status_code == 200
    assert "There is no report on dump.tar.gz" in page.text


@pytest.mark.parametrize(
    "log", [b"", b"step 1: nothing that XLA says"], ids=["alone", "with a log"]
)
def test_an_archive_without_a_file_of_xla_gets_a_report(working: TestClient, log: bytes) -> None:
    files = [("dump", ("a.tar", tar_of({"photo.jpg": b"\xff\xd8\xff"})))]
    files += [("log", ("run.log", log))] if log else []
    sent = working.post(f"{REPORTS}?wait=60", files=files)
    state = sent.json()
    assert (sent.status_code, state["state"], state["failed"]) == (201, "done", not log)
    assert state["summary"]["verdict"] == "no_xla_files"
    assert state["summary"]["headline"] == "None of the files is one that XLA writes"
    (finding,) = working.get(f"{REPORTS}/{state['id']}/report").json()["findings"]
    assert (finding["class"], finding["confidence"]) == ("no_xla_files", "certain")
    assert "Looked for module_NNNN.NAME.*.txt" in finding["message"]
    page = working.get(state["url"], headers={"accept": "text/html"})
    assert "Looked for module_NNNN.NAME.*.txt" in page.text


def test_old_reports_are_gone_after_a_start(settings: Settings) -> None:
    def created_long_ago(days: int) -> str:
        with Store.of(settings) as store:
            with store.blobs.receive() as writer:
                writer.write(b"log")
                file = ReceivedFile("log", "run.log", writer.finish())
            new = NewReport("run.log", Question(), (file,))
            then = time.time() - days * 86400
            secrets = store.reports.create(new, now=then)
            job = store.jobs.claim("w", now=then, lease_s=60)
            assert job is not None
            store.jobs.fail(job, Problem("x", "x"), now=then)
        return secrets.report_id

    old, fresh = created_long_ago(91), created_long_ago(89)
    app = create_app(settings, runner_for=IdleRunner)
    with TestClient(app, base_url="http://localhost") as client:
        deadline = time.monotonic() + 20
        while client.get(f"{REPORTS}/{old}").status_code != 404:
            assert time.monotonic() < deadline
        assert client.get(f"{REPORTS}/{fresh}").status_code == 200


def test_what_is_not_over_is_not_ready(client: TestClient) -> None:
    created = client.put(REPORTS, content=small_dump()).json()
    answer = client.get(f"{REPORTS}/{created['id']}/report")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_ready")
    assert answer.headers["retry-after"] == "2"


@pytest.mark.parametrize("token", ["", "Bearer wrong", "Bearer ", "Basic x"])
def test_only_the_delete_token_deletes(client: TestClient, token: str) -> None:
    created = client.put(REPORTS, content=small_dump()).json()
    address = f"{REPORTS}/{created['id']}"
    answer = client.delete(address, headers={"authorization": token} if token else {})
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "bad_token")
    assert client.get(address).status_code == 200


def test_deleting_leaves_nothing(client: TestClient) -> None:
    created = client.put(REPORTS, content=small_dump()).json()
    address = f"{REPORTS}/{created['id']}"
    headers = {"authorization": f"Bearer {created['delete_token']}"}
    assert client.delete(address, headers=headers).status_code == 204
    assert kept_files(client) == []
    never_was = client.get(f"{REPORTS}/{'x' * 32}")
    for path in (address, f"{address}/report", created["url"], f"{created['url']}/report.json"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert answer.json() == never_was.json()
    again = client.delete(address, headers=headers)
    assert (again.status_code, again.json()["error"]["code"]) == (410, "gone")


@pytest.mark.parametrize(
    "report_id", ["x", "x" * 32, "x" * 10_000, "%00", "%2e%2e", "..%2f..%2fetc", "é", "%ff", "*"]
)
def test_odd_ids_are_not_found(client: TestClient, report_id: str) -> None:
    for path in (f"{REPORTS}/{report_id}", f"/r/{report_id}", f"{REPORTS}/{report_id}/events"):
        answer = client.get(path)
        assert answer.status_code == 404, path
        assert answer.json()["error"]["code"] == "not_found"


def test_events_tell_every_change_and_end(working: TestClient) -> None:
    created = working.put(f"{REPORTS}/a.tar.gz", content=small_dump()).json()
    answer = working.get(f"{REPORTS}/{created['id']}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = events_of(answer.text)
    assert len(events) >= 2
    assert all(event["progress"] for event in events[:-1])
    assert (events[-1]["state"], events[-1]["progress"]) == ("done", None)
    assert all(one != two for one, two in pairwise(events))


def test_events_end_with_the_report(settings: Settings) -> None:
    app = create_app(settings, runner_for=IdleRunner)
    with TestClient(app, base_url="http://localhost") as client:
        created = client.put(REPORTS, content=small_dump()).json()
        key = app.state.services.store.reports.find(created["id"]).key
        deleting = threading.Timer(0.3, app.state.services.store.reports.delete, [key])
        deleting.start()
        answer = client.get(f"{REPORTS}/{created['id']}/events")
        deleting.join()
    assert answer.status_code == 200
    assert [event["state"] for event in events_of(answer.text)] == ["queued"]


def test_an_address_may_have_only_so_many_streams(client: TestClient) -> None:
    created = client.put(REPORTS, content=small_dump()).json()
    slots = app_of(client).state.services.stream_slots
    held = [slots.hold("testclient") for _ in range(12)]
    for each in held:
        each.__enter__()
    answer = client.get(f"{REPORTS}/{created['id']}/events")
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "too_many_requests")
    for each in held:
        each.__exit__(None, None, None)


def test_links_are_full_where_the_address_is_known(start: Start) -> None:
    client = start(base_url="http://localhost/")
    created = client.put(REPORTS, content=small_dump()).json()
    assert created["url"] == f"http://localhost/r/{created['id']}"
