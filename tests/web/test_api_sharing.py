"""Sharing: a link of its own to a copy that holds no secret, whichever way it is read."""

import json
import re
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from sqlalchemy import select
from starlette.routing import Route
from starlette.testclient import TestClient

import planted_everywhere
from app.bundle import Bundle
from app.settings import Settings
from app.store import hash_of, schema
from app.store.database import reading
from app.web import create_app
from web.asking import Placed, app_of, kept_files, small_dump, tar_of
from web.planted import ARCHIVE_NAME, LOG, SECRETS, USER, WORDS, leaks, planted_dump

REPORTS = "/api/v1/reports"


FORMS = ("json", "md", "thread", "html", "sarif", "junit", "github", "gitlab")


class Shared:
    """A report with secrets, and what was shared of it."""

    def __init__(
        self,
        client: TestClient,
        dump: bytes | None = None,
        *,
        name: str = ARCHIVE_NAME,
        log: str = LOG,
        words: Mapping[str, str] = WORDS,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.client = client
        files = [
            ("dump", (name, dump or planted_dump())),
            ("log", (f"{USER}.log", log.encode())),
        ]
        self.report = client.post(
            f"{REPORTS}?wait=60", files=files, data=dict(words), headers=dict(headers)
        ).json()
        assert self.report["state"] == "done", self.report
        self.address = f"{REPORTS}/{self.report['id']}"
        self.token = {"authorization": f"Bearer {self.report['delete_token']}"}

    def share(self, **query: Any) -> dict[str, Any]:
        made = self.client.post(
            f"{self.address}/shares", params={"wait": 60, **query}, headers=self.token
        )
        assert made.status_code == 201, made.text
        assert made.json()["state"] == "done", made.text
        return made.json()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, placed: Placed) -> Iterator[Shared]:
    settings = placed(tmp_path_factory.mktemp("data"), job_workers=1)
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        yield Shared(client)


@pytest.fixture(scope="module")
def everywhere(shared: Shared) -> Shared:
    """A report with secrets of many kinds in every place."""
    return Shared(
        shared.client,
        tar_of(planted_everywhere.everywhere_files()),
        name=planted_everywhere.ARCHIVE_NAME,
        log=planted_everywhere.LOG,
        words=planted_everywhere.WORDS,
    )


@pytest.fixture(scope="module")
def share(shared: Shared) -> dict[str, Any]:
    return shared.share()


def addresses(shared: Shared, report_id: str) -> list[str]:
    """Every address below which something of a report can be got, filled in."""
    report = shared.client.get(f"{REPORTS}/{report_id}/report").json()
    module = report["modules"][0]["id"]
    fill = {
        "report_id": report_id,
        "module_id": module,
        "loop_id": report["loops"][0]["id"] if report["loops"] else "none",
        "after": "1",
    }
    found: list[str] = []
    for route in app_of(shared.client).state.routes:
        if not isinstance(route, Route) or "GET" not in (route.methods or ()):
            continue
        if "{report_id}" not in route.path:
            continue
        paths = [route.path]
        if "{form}" in route.path:
            paths = [route.path.replace("{form}", form) for form in FORMS]
        for path in paths:
            for name, value in fill.items():
                path = path.replace(f"{{{name}}}", value).replace(f"{{{name}:path}}", value)
            found.append(re.sub(r"\{\w+(?::path)?\}", "0", path))
    return found


QUERY = {
    "before": 0,
    "after": 1,
    "a": 0,
    "b": 1,
    "query": "falcon",
    "line": 12,
    "computation": "main.9",
    "instruction": "custom-call.8",
}


@pytest.mark.parametrize("accept", ["application/json", "text/html"])
def test_no_view_and_no_format_holds_a_secret(
    shared: Shared, share: dict[str, Any], accept: str
) -> None:
    paths = addresses(shared, share["id"])
    assert len(paths) > 25
    read = 0
    for path in paths:
        for query in (QUERY, {**QUERY, "index": 0}):
            answer = shared.client.get(path, params=query, headers={"accept": accept})
            read += answer.status_code == 200
            headers = json.dumps(dict(answer.headers))
            assert leaks(answer.text + headers) == {}, path
    assert read > 30


@pytest.mark.parametrize("choice", [{}, {"op_names": True, "source": True}])
def test_no_place_holds_a_trace_of_any_kind(everywhere: Shared, choice: dict[str, bool]) -> None:
    made = everywhere.share(**choice)
    read = 0
    for path in addresses(everywhere, made["id"]):
        for accept in ("application/json", "text/html"):
            answer = everywhere.client.get(path, params=QUERY, headers={"accept": accept})
            read += answer.status_code == 200
            headers = json.dumps(dict(answer.headers))
            assert planted_everywhere.traces(answer.text + headers) == set(), path
    assert read > 30
    rows, texts = rows_and_texts(everywhere, made["id"])
    assert planted_everywhere.traces(rows) == set()
    assert planted_everywhere.traces(texts) == set()


def test_the_places_hold_traces_of_all_kinds(everywhere: Shared) -> None:
    whole = "".join(rows_and_texts(everywhere, everywhere.report["id"]))
    assert planted_everywhere.traces(whole) == set(planted_everywhere.TRACES)


def test_the_report_itself_holds_them(shared: Shared) -> None:
    """Without which the test above would prove nothing."""
    whole = "".join(
        shared.client.get(path, params=QUERY).text
        for path in addresses(shared, shared.report["id"])
    )
    assert set(SECRETS) - leaks(whole).keys() <= {
        "mail",
        "bucket",
        "private page",
        "address",
        "new address",
        "host in the log",
        "token",
        "named token",
    }


def rows_and_texts(shared: Shared, report_id: str) -> tuple[str, str]:
    """The database's rows of a report, and all that its bundle holds."""
    store = app_of(shared.client).state.services.store
    key = hash_of(report_id)
    columns = (
        schema.report.c.key,
        schema.attachment.c.report_key,
        schema.job.c.report_key,
        schema.share.c.report_key,
    )
    with reading(store._engine).connect() as database:
        rows = {
            column.table.name: database.execute(select(column.table).where(column == key)).all()
            for column in columns
        }
    row = store.reports.find(report_id)
    (held,) = row.attached("bundle")
    with Bundle.open(store.blobs.path(held.blob)) as bundle:
        texts = [bundle.report_json().decode()]
        for module in bundle.modules():
            texts += [bundle.dump_text(module.id, dump.index) + dump.file for dump in module.dumps]
    return str(rows), "".join(texts)


def test_rows_and_bundle_of_a_share_hold_no_secret(shared: Shared, share: dict[str, Any]) -> None:
    rows, texts = rows_and_texts(shared, share["id"])
    assert "'report': []" not in rows
    assert leaks(rows) == leaks(texts) == {}
    row = app_of(shared.client).state.services.store.reports.find(share["id"])
    assert [each.role for each in row.attachments] == ["bundle"]


def test_names_and_sources_go_on_request(shared: Shared, share: dict[str, Any]) -> None:
    plain = "".join(
        shared.client.get(path, params=QUERY).text for path in addresses(shared, share["id"])
    )
    assert {"falcon", "train.py"} <= set(re.findall(r"falcon|train\.py", plain))
    bare = shared.share(op_names=True, source=True)
    assert bare["redaction"] == {"redact": True, "op_names": True, "source": True}
    for path in addresses(shared, bare["id"]):
        text = shared.client.get(path, params={**QUERY, "query": "mul"}).text
        assert leaks(text) == {}
        assert "falcon" not in text, path
        assert "train.py" not in text, path


def test_redaction_may_be_turned_off(shared: Shared) -> None:
    plain = shared.share(redact=False)
    private = shared.client.get(f"{shared.address}/report").json()
    assert shared.client.get(f"{REPORTS}/{plain['id']}/report").json() == private
    assert plain["name"] == ARCHIVE_NAME


def test_lines_and_differences_stay_what_they_were(shared: Shared, share: dict[str, Any]) -> None:
    def ask(report_id: str, part: str, **query: Any) -> Any:
        return shared.client.get(f"{REPORTS}/{report_id}/{part}", params=query).json()

    own, other = shared.report["id"], share["id"]
    for index in (0, 1):
        before, after = (ask(each, "text", index=index)["total_lines"] for each in (own, other))
        assert before == after

    def shape(diff: Any) -> Any:
        return [
            (each["kind"], [(row["kind"], row["opcode"], row["what"]) for row in each["rows"]])
            for each in diff["computations"]
        ]

    diffs = [shape(ask(each, "diff", before=0, after=1)) for each in (own, other)]
    assert diffs[0] == diffs[1] != []
    found = [ask(each, "search", query="train.py:12")["total"] for each in (own, other)]
    assert found[0] == found[1] > 0
    rules = [[f["rule"] for f in ask(each, "findings")["items"]] for each in (own, other)]
    assert rules[0] == rules[1] != []


def test_only_the_owner_shares_lists_and_looks(shared: Shared, share: dict[str, Any]) -> None:
    others = (
        {},
        {"authorization": f"Bearer {share['delete_token']}"},
        {"hloscope-owner": "x" * 40},
    )
    for headers in others:
        for method, path in (
            ("POST", "/shares"),
            ("GET", "/shares"),
            ("GET", "/redaction"),
            ("DELETE", "/shares/0"),
        ):
            answer = shared.client.request(method, shared.address + path, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "bad_token")


def test_the_preview_says_what_goes(shared: Shared) -> None:
    found = shared.client.get(f"{shared.address}/redaction", headers=shared.token).json()
    originals = {each["original"]: each["shown"] for each in found["replaced"]}
    assert originals[f"/home/{USER}/skunkworks"].startswith("path")
    assert originals[USER].startswith("user")
    assert found["kinds"]["constant"] >= 2
    assert found["total"] >= len(found["replaced"])
    assert found["modules"]
    shown = {key: found[key] for key in ("kinds", "modules", "flags", "sources")}
    assert leaks(json.dumps(shown)) == {}


def test_a_share_is_revoked_by_its_token_or_its_handle(shared: Shared) -> None:
    by_token, by_handle = shared.share(), shared.share()
    headers = {"authorization": f"Bearer {by_token['delete_token']}"}
    assert shared.client.delete(f"{REPORTS}/{by_token['id']}", headers=headers).status_code == 204
    listed = shared.client.get(f"{shared.address}/shares", headers=shared.token).json()["items"]
    handle = listed[0]["handle"]
    assert handle == hash_of(by_handle["id"])[:16]
    gone = shared.client.delete(f"{shared.address}/shares/{handle}", headers=shared.token)
    assert gone.status_code == 204
    for each in (by_token, by_handle):
        for path in (f"{REPORTS}/{each['id']}", each["url"]):
            assert shared.client.get(path).status_code == 404
    again = shared.client.delete(f"{shared.address}/shares/{handle}", headers=shared.token)
    assert again.status_code == 404
    assert shared.client.get(shared.address).status_code == 200


def test_a_share_is_not_shared_again(shared: Shared, share: dict[str, Any]) -> None:
    headers = {"authorization": f"Bearer {share['delete_token']}"}
    answer = shared.client.post(f"{REPORTS}/{share['id']}/shares", headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "wrong_use")


def test_what_is_not_finished_is_not_shared(client: TestClient) -> None:
    made = client.put(REPORTS, content=small_dump()).json()
    headers = {"authorization": f"Bearer {made['delete_token']}"}
    answer = client.post(f"{REPORTS}/{made['id']}/shares", headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_ready")


@contextmanager
def bounded(folder: Path, **words: Any) -> Generator[Shared]:
    settings = Settings(data_dir=folder, job_workers=1, min_free_bytes=0, **words)
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        yield Shared(client, small_dump(), headers={"hloscope-owner": "x" * 40})


def refusal(shared: Shared) -> tuple[int, str]:
    """Status and code of what is answered to one more share."""
    answer = shared.client.post(f"{shared.address}/shares", headers=shared.token)
    return answer.status_code, answer.json()["error"]["code"]


def test_a_share_is_made_only_where_the_queue_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bounded(tmp_path, max_open_jobs=3) as shared:
        monkeypatch.setattr(
            app_of(shared.client).state.services.store.jobs, "count_open", lambda: 3
        )
        assert refusal(shared) == (503, "queue_full")


def test_shares_count_as_uploads_of_their_sender(tmp_path: Path) -> None:
    with bounded(tmp_path, max_uploads_per_hour=3) as shared:
        for _ in range(2):
            shared.share()
        assert refusal(shared) == (429, "too_many_requests")


def test_shares_count_among_the_reports_of_their_owner(tmp_path: Path) -> None:
    with bounded(tmp_path, owner_max_reports=2) as shared:
        shared.share()
        assert refusal(shared) == (429, "quota")


def test_many_at_once_make_no_more_shares_than_one_may(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = app_of(shared.client).state.services.store.reports
    there = len(reports.shares_of(hash_of(shared.report["id"])))
    monkeypatch.setattr("app.web.sharing.MAX_SHARES", there + 2)
    with ThreadPoolExecutor(6) as pool:
        answers = list(
            pool.map(
                lambda _: shared.client.post(f"{shared.address}/shares", headers=shared.token),
                range(6),
            )
        )
    made = [answer for answer in answers if answer.status_code == 201]
    assert {answer.status_code for answer in answers} == {201, 429} or not made
    assert len(reports.shares_of(hash_of(shared.report["id"]))) == there + len(made) <= there + 2
    for each in made:
        headers = {"authorization": f"Bearer {each.json()['delete_token']}"}
        shared.client.delete(f"{REPORTS}/{each.json()['id']}", headers=headers)


def test_one_made_meanwhile_by_another_server_counts(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = app_of(shared.client).state.services.store.reports
    key = hash_of(shared.report["id"])
    there = len(reports.shares_of(key))
    monkeypatch.setattr("app.web.sharing.MAX_SHARES", there + 1)
    create = reports.create_share
    monkeypatch.setattr(
        reports, "create_share", lambda *a, **k: (create(*a, **k), create(*a, **k))[0]
    )
    answer = shared.client.post(f"{shared.address}/shares", headers=shared.token)
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "too_many_requests")
    assert len(reports.shares_of(key)) == there + 1
    reports.delete(reports.shares_of(key)[0].key)


def test_deleting_the_report_deletes_what_was_shared(working: TestClient) -> None:
    shared = Shared(working)
    made = shared.share()
    assert working.delete(shared.address, headers=shared.token).status_code == 204
    assert working.get(f"{REPORTS}/{made['id']}").status_code == 404
    assert kept_files(working) == []
