"""Two reports compared over the API and on their page."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from analysis.test_ranks import REORDERED, STEP
from app.service import compare_rank_dumps
from app.settings import Settings
from app.web import create_app
from app.web.comparing import MAX_RANKS
from samples import load_sample
from web.asking import HLO, Placed, tar_of

REPORTS = "/api/v1/reports"
COMPARE = "/api/v1/compare"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, placed: Placed) -> Iterator[TestClient]:
    settings = placed(tmp_path_factory.mktemp("data"), job_workers=1)
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
    below = f"https://example.org/tools/hlo/r/{two[1]}/passes?module=a/r/b"
    for other in (f"/r/{two[1]}", f"https://example.org/api/v1/reports/{two[1]}", below):
        assert answer(server, link, other) == answer(server, *two)


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
    assert "<h1>Compare reports</h1>" in form.text
    page = server.get("/compare", params={"a": two[0], "b": two[1]}).text
    verdict = answer(server, *two)["comparison"]["verdict"]
    first = verdict.partition("; ")[0].removesuffix(".")
    assert re.findall(r"<h1>(.*?)</h1>", page, re.S) == [first.replace("'", "&#39;")]
    assert f'href="/r/{two[0]}"' in page
    assert "What happened to loops, as far as each side came" in page
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


LAST = "module_0000.jit_step.sm_9.0_gpu_after_optimizations.txt"


@pytest.fixture(scope="module")
def ranks(server: TestClient) -> list[str]:
    """Three ranks of one run, of which the one in the middle begins collectives the other way."""
    made = [
        server.put(f"{REPORTS}/{name}.tar.gz?wait=120", content=tar_of({LAST: text.encode()}))
        for name, text in (("rank7", STEP), ("rank3", REORDERED), ("rank5", STEP))
    ]
    return [each.json()["id"] for each in made]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_three_reports_are_the_ranks_of_a_run(
    server: TestClient, ranks: list[str], method: str
) -> None:
    answer = server.request(method, f"{COMPARE}/ranks", params={"report": ranks})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert [rank["rank"] for rank in found["ranks"]] == [3, 5, 7]
    assert found["is_hlo_the_cause"] is True
    assert found["orders"][0]["ranks"] == [3]
    assert found["verdict"].startswith("Rank 3 begins reduce.3")


def test_the_server_says_of_ranks_what_the_terminal_says(
    server: TestClient, ranks: list[str], tmp_path: Path
) -> None:
    dumps = {7: STEP, 3: REORDERED, 5: STEP}
    for number, text in dumps.items():
        folder = tmp_path / f"rank{number}"
        folder.mkdir()
        (folder / LAST).write_text(text)
    paths = {number: tmp_path / f"rank{number}" for number in dumps}
    told = compare_rank_dumps(paths, Settings(data_dir=tmp_path / "data"))
    found = server.get(f"{COMPARE}/ranks", params={"report": ranks}).json()
    assert found["verdict"] == told.verdict
    assert [each["devices"] for each in found["communicators"]] == [
        list(each.devices) for each in told.communicators
    ]


def test_the_page_takes_more_than_two(server: TestClient, ranks: list[str]) -> None:
    a, b, c = ranks
    page = server.get("/compare", params={"a": a, "b": f"/r/{b}", "c": c})
    assert page.status_code == 200
    assert "RANKS DIFFER" in page.text
    assert "Rank 3 begins reduce.3" in page.text
    for name, report in zip("abc", ranks, strict=True):
        assert f'href="/r/{report}">Report {name}</a>' in page.text
    assert server.get("/compare", params={"a": a, "b": b, "more": f"  {c} "}).text == page.text


def test_equal_ranks_are_said_to_agree(server: TestClient, ranks: list[str]) -> None:
    found = server.get(f"{COMPARE}/ranks", params={"report": [ranks[0], ranks[2]]}).json()
    assert found["is_hlo_the_cause"] is False
    assert found["verdict"].startswith("The HLO is not the cause: all 2 ranks")


@pytest.mark.parametrize("count", [0, 1, MAX_RANKS + 1])
def test_ranks_are_two_at_least_and_not_too_many(server: TestClient, count: int) -> None:
    answer = server.get(f"{COMPARE}/ranks", params={"report": ["x" * 32] * count})
    assert answer.status_code == 422
    assert set(answer.json()) == {"error"}


def test_the_page_takes_not_too_many(server: TestClient, ranks: list[str]) -> None:
    more = " ".join([ranks[0]] * MAX_RANKS)
    page = server.get("/compare", params={"a": ranks[0], "b": ranks[1], "more": more})
    assert page.status_code == 400


def test_an_answer_is_made_once(
    server: TestClient, two: tuple[str, str], ranks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask() -> list[bytes]:
        return [
            server.post(COMPARE, params={"a": two[0], "b": two[1]}).content,
            server.get(f"{COMPARE}/ranks", params={"report": ranks}).content,
        ]

    before = ask()
    for name in ("compare_reports_in_child", "compare_ranks_in_child"):
        monkeypatch.delattr(f"app.web.comparing.{name}")
    assert ask() == before
    assert server.get("/compare", params={"a": two[0], "b": two[1]}).status_code == 200


def test_an_answer_that_is_kept_is_not_for_a_report_that_is_gone(server: TestClient) -> None:
    dump = tar_of({LAST: STEP.encode()})
    made = [server.put(f"{REPORTS}?wait=120", content=dump).json() for _ in range(3)]
    params = {"report": [each["id"] for each in made]}
    assert server.get(f"{COMPARE}/ranks", params=params).status_code == 200
    token = {"authorization": f"Bearer {made[1]['delete_token']}"}
    assert server.delete(f"{REPORTS}/{made[1]['id']}", headers=token).status_code == 204
    assert server.get(f"{COMPARE}/ranks", params=params).status_code == 404
