"""Two reports compared over the API and on their page."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.settings import Settings
from app.web import create_app
from samples import load_sample
from web.asking import HLO, tar_of

REPORTS = "/api/v1/reports"
COMPARE = "/api/v1/compare"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"), job_workers=1, min_free_bytes=0)
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        yield client


def sent(server: TestClient, data: bytes) -> str:
    made = server.put(f"{REPORTS}?wait=120", content=data).json()
    assert made["state"] == "done"
    return made["id"]


@pytest.fixture(scope="module")
def two(server: TestClient) -> tuple[str, str]:
    """Reports on the same program in two releases; in the first the compiler dies."""
    first = load_sample("pipeliner_crash").archive.read_bytes()
    return sent(server, first), sent(server, load_sample("work_done_twice").archive.read_bytes())


def answer(server: TestClient, a: str, b: str) -> dict[str, Any]:
    found = server.post(COMPARE, params={"a": a, "b": b})
    assert found.status_code == 200, found.text
    return found.json()


def test_two_reports_are_compared_as_their_dumps_are(
    server: TestClient, two: tuple[str, str]
) -> None:
    found = answer(server, *two)
    assert found["comparison"]["kind"] == "comparison"
    pair = found["comparison"]["modules"][0]
    assert pair["role"] == "user"
    assert pair["passes"]["stops"] == "a"
    assert pair["texts_a"] > 70
    assert found["diffs"][0]["diff"]["computations"]


def test_a_report_is_equal_to_itself(server: TestClient, two: tuple[str, str]) -> None:
    found = answer(server, two[0], two[0])["comparison"]
    assert {pair["outcome"] for pair in found["modules"]} == {"equal"}


def test_links_do_for_ids(server: TestClient, two: tuple[str, str]) -> None:
    link = f"https://example.org/r/{two[0]}#loops"
    assert answer(server, link, f"/r/{two[1]}") == answer(server, *two)


@pytest.mark.parametrize("query", [{"a": "x" * 32, "b": "y" * 32}, {"a": "", "b": ""}, {"a": "z"}])
def test_reports_that_are_not_there_are_told_in_one_shape(
    server: TestClient, query: dict[str, str]
) -> None:
    found = server.post(COMPARE, params=query)
    assert found.status_code in {400, 404, 422}
    assert set(found.json()) == {"error"}


def test_other_sites_may_not_ask(server: TestClient, two: tuple[str, str]) -> None:
    headers = {"Origin": "https://elsewhere.example", "Sec-Fetch-Site": "cross-site"}
    params = {"a": two[0], "b": two[1]}
    assert server.post(COMPARE, params=params, headers=headers).status_code == 403


def test_the_page_asks_which_and_then_tells(server: TestClient, two: tuple[str, str]) -> None:
    form = server.get("/compare")
    assert form.status_code == 200
    assert "Compare two reports" in form.text
    page = server.get("/compare", params={"a": two[0], "b": two[1]}).text
    verdict = answer(server, *two)["comparison"]["verdict"]
    assert re.findall(r"<h1>(.*?)</h1>", page, re.S) == [verdict.replace("'", "&#39;")]
    assert f'href="/r/{two[0]}"' in page
    assert "Loops that differ" in page
    assert server.get("/compare", params={"a": two[0], "b": "q" * 32}).status_code == 404


def test_names_are_shown_as_text(server: TestClient) -> None:
    place = ', metadata={op_name="<script>x" source_file="/w/<img src=x>.py" source_line=3}'

    def report(opcode: str) -> str:
        text = HLO.replace("multiply(Arg_0.1, broadcast.3)", f"{opcode}(Arg_0.1){place}")
        dump = tar_of({"module_0000.jit_step.before_optimizations.txt": text.encode()})
        return sent(server, dump)

    page = server.get("/compare", params={"a": report("negate"), "b": report("sine")}).text
    assert "&lt;img src=x&gt;.py:3" in page
    assert "<script>" not in page
    asked = server.get("/compare", params={"a": "<img src=x>", "b": ""}).text
    assert "<img src=x>" not in page + asked
