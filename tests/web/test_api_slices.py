"""Parts of a report on a real dump over the API: lists in windows, views by their address."""

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.web import create_app
from samples import load_sample
from web.asking import Placed, small_dump

REPORTS = "/api/v1/reports"


@pytest.fixture(scope="module")
def report(
    tmp_path_factory: pytest.TempPathFactory, placed: Placed
) -> Iterator[tuple[TestClient, str]]:
    """A client, and the address of a finished report on the crashed pipeliner."""
    sample = load_sample("pipeliner_crash")
    settings = placed(tmp_path_factory.mktemp("data"), job_workers=1)
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        files = [
            ("dump", ("dump.tar.gz", sample.archive.read_bytes())),
            ("log", ("run.log", sample.log.read_bytes())),
        ]
        made = client.post(f"{REPORTS}?wait=120", files=files).json()
        assert made["state"] == "done"
        yield client, f"{REPORTS}/{made['id']}"


def ask(report: tuple[TestClient, str], part: str, **query: Any) -> Any:
    client, address = report
    answer = client.get(f"{address}/{part}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


LISTS = ("modules", "passes", "loops", "collectives", "findings")


@pytest.mark.parametrize("part", LISTS)
def test_windows_put_together_are_the_whole(report: tuple[TestClient, str], part: str) -> None:
    whole = ask(report, part, limit=1000)
    assert whole["total"] == len(whole["items"]) > 0
    parts = [
        item
        for offset in range(0, whole["total"], 2)
        for item in ask(report, part, offset=offset, limit=2)["items"]
    ]
    assert parts == whole["items"]
    behind = ask(report, part, offset=whole["total"])
    assert (behind["items"], behind["total"]) == ([], whole["total"])


def test_lists_are_those_of_the_report(report: tuple[TestClient, str]) -> None:
    whole = ask(report, "report")
    module = whole["modules"][0]
    assert ask(report, "passes", limit=1000)["items"] == module["dumps"]
    assert ask(report, "passes", module=module["id"], limit=1000)["items"] == module["dumps"]
    assert ask(report, "loops", limit=1000)["items"] == whole["loops"]
    assert ask(report, "collectives", limit=1000)["items"] == whole["collectives"]
    assert ask(report, "findings", limit=1000)["items"] == whole["findings"]


def test_lists_may_be_narrowed(report: tuple[TestClient, str]) -> None:
    whole = ask(report, "report")
    one = whole["collectives"][0]
    some = ask(report, "collectives", opcode=one["opcode"], limit=1000)["items"]
    assert some == [c for c in whole["collectives"] if c["opcode"] == one["opcode"]]
    looped = next(c["loop"] for c in whole["collectives"] if c["loop"])
    some = ask(report, "collectives", loop=looped, limit=1000)["items"]
    assert some == [c for c in whole["collectives"] if c["loop"] == looped]
    grave = ask(report, "findings", severity="error")["items"]
    assert grave == [f for f in whole["findings"] if f["severity"] == "error"] != []
    assert ask(report, "findings", rule="NO999")["total"] == 0


def test_one_loop_comes_pass_by_pass(report: tuple[TestClient, str]) -> None:
    first = ask(report, "loops")["items"][0]
    view = ask(report, f"loops/{first['id']}")
    assert view["loop"] == first
    assert view["rows"]


def test_any_two_passes_are_compared(report: tuple[TestClient, str]) -> None:
    passes = ask(report, "passes")["items"]
    changed = next(p["index"] for p in passes[1:] if p["changed"])
    near = ask(report, "diff", before=changed - 1, after=changed)
    far = ask(report, "diff", before=0, after=len(passes) - 1)
    assert near["computations"]
    assert far != near
    same = ask(report, "diff", before=0, after=0)
    assert same["computations"] == []


def test_the_text_of_a_pass_comes_in_lines(report: tuple[TestClient, str]) -> None:
    first = ask(report, "text", index=0, count=3)
    assert [line["number"] for line in first["lines"]] == [1, 2, 3]
    assert first["lines"][0]["text"].startswith("HloModule ")
    rest = ask(report, "text", index=0, first=3, count=1)
    assert rest["lines"] == first["lines"][2:]


def test_a_search_goes_on_where_it_ended(report: tuple[TestClient, str]) -> None:
    found = ask(report, "search", query="all-gather", limit=500)
    assert found["total"] == len(found["hits"]) > 2
    parts = [
        hit
        for offset in range(found["total"])
        for hit in ask(report, "search", query="all-gather", offset=offset, limit=1)["hits"]
    ]
    assert parts == found["hits"]


@pytest.mark.parametrize(
    ("part", "query", "status"),
    [
        ("passes", {"module": "nowhere"}, 404),
        ("text", {"index": 999999}, 404),
        ("diff", {"before": 0, "after": 999999}, 404),
        ("diff", {"before": 0}, 422),
        ("loops/nowhere", {}, 404),
        ("loops", {"limit": 0}, 422),
        ("loops", {"offset": -1}, 422),
        ("search", {"query": " "}, 400),
    ],
)
def test_what_is_not_there_is_told(
    report: tuple[TestClient, str], part: str, query: dict[str, Any], status: int
) -> None:
    client, address = report
    answer = client.get(f"{address}/{part}", params=query)
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"code", "message", "hint", "where"}


def test_before_the_end_nothing_is_there(client: TestClient) -> None:
    made = client.put(REPORTS, content=small_dump()).json()
    for part in LISTS:
        answer = client.get(f"{REPORTS}/{made['id']}/{part}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_ready")
