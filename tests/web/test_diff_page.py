"""The page of two texts side by side, without a browser: places, rows, search, wrong questions."""

import re
from collections.abc import Iterator
from html import unescape

import pytest
from starlette.testclient import TestClient

from app.views.diff_slices import MAX_ROWS
from app.web import create_app
from app.web.pane_shelf import PaneKey, PaneShelf
from app.web.passes import rows_named
from views.test_diff_rows import AFTER, BEFORE, reader_of
from web.asking import HLO, Placed, tar_of
from web.view_dumps import MODULE, view_dump

FIRST: dict[str, str | int] = {"module": "module_0000.jit_step", "a": 0, "b": 1}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, placed: Placed) -> Iterator[TestClient]:
    settings = placed(tmp_path_factory.mktemp("data"))
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        yield client


@pytest.fixture(scope="module")
def base(client: TestClient) -> str:
    """Two texts that differ in one instruction, and a third that equals the second."""
    second = HLO.replace("multiply.4", "power.4").replace("multiply(", "power(")
    body = tar_of(
        {
            "module_0000.jit_step.before_optimizations.txt": HLO.encode(),
            "module_0000.jit_step.0001.simplify.after_algsimp.before_dce.txt": second.encode(),
            "module_0000.jit_step.0002.simplify.after_dce.before_cse.txt": second.encode(),
        }
    )
    return client.put("/api/v1/reports/d.tar.gz?wait=60", content=body).json()["url"]


@pytest.fixture(scope="module")
def hostile(client: TestClient) -> str:
    return client.put("/api/v1/reports/h.tar.gz?wait=60", content=view_dump()).json()["url"]


def lines_of(html: str) -> list[str]:
    """What the panes say, tags removed."""
    found = re.findall(r'<code class="text">(.*?)</code>', html)
    return [unescape(re.sub(r"<[^>]+>", "", line)) for line in found]


def test_without_a_word_it_shows_the_last_pass_that_changed_something(
    client: TestClient, base: str
) -> None:
    page = client.get(f"{base}/diff").text
    assert "before optimizations and 0001 algsimp" in page
    lines = lines_of(page)
    assert "ROOT multiply.4 = f32[8]{0} multiply(Arg_0.1, broadcast.3)" in lines
    assert "ROOT power.4 = f32[8]{0} power(Arg_0.1, broadcast.3)" in lines


def test_two_equal_texts_say_so(client: TestClient, base: str) -> None:
    page = client.get(f"{base}/diff", params={"a": 1, "b": 2}).text
    assert "The two texts say the same." in page
    assert "%main.4 unchanged, 4 instructions" in page
    assert "(unchanged)" in page


def test_a_report_without_loops_says_so(client: TestClient, base: str) -> None:
    answer = client.get(f"{base}/loops")
    assert answer.status_code == 200
    assert "No while loop stands in any text" in answer.text
    assert client.get(f"{base}/collectives").status_code == 200


def test_every_link_of_the_page_leads_somewhere(client: TestClient, base: str) -> None:
    page = client.get(f"{base}/diff", params={"a": 0, "b": 2, "at": 2}).text
    hrefs = {unescape(href).partition("#")[0] for href in re.findall(r'href="(/r/[^"]+)"', page)}
    assert len(hrefs) > 6
    for href in hrefs:
        assert client.get(href).status_code == 200, href


def test_a_folded_row_that_is_asked_for_is_shown(client: TestClient, base: str) -> None:
    page = client.get(f"{base}/diff", params={"a": 1, "b": 2, "at": 3}).text
    assert 'id="row-3"' in page
    assert 'class="row fold"' not in page


@pytest.mark.parametrize(
    ("place", "row"),
    [
        ({"line": 6, "side": "a"}, 3),
        ({"computation": "main.4", "instruction": "broadcast.3"}, 3),
        ({"q": "BROADCAST"}, 3),
        ({"at": 2}, 2),
        ({"at": 999}, -1),
    ],
)
def test_a_line_a_name_or_a_word_mean_a_row(
    client: TestClient, base: str, place: dict[str, str | int], row: int
) -> None:
    page = client.get(f"{base}/diff", params={**FIRST, **place}).text
    assert f'"at": {row},' in page


def test_rows_come_by_number(client: TestClient, base: str) -> None:
    rows = client.get(f"{base}/diff/rows", params={**FIRST, "rows": "0-1,4,77"}).json()
    assert [row["row"] for row in rows] == [0, 1, 4]
    assert rows[2]["before"]["text"].startswith("ROOT multiply.4")
    assert rows[2]["after"]["line"] == 7
    assert rows_named("5-3,1") == [1]
    assert len(rows_named("0-999999999")) == MAX_ROWS


def test_rows_are_found(client: TestClient, base: str) -> None:
    found = client.get(f"{base}/diff/find", params={**FIRST, "query": "broadcast"}).json()
    assert (found["total"], found["rows"]) == (2, [3, 4])


def test_hostile_names_are_text(client: TestClient, hostile: str) -> None:
    where = {"module": MODULE, "a": 0, "b": 1}
    page = client.get(f"{hostile}/diff", params={**where, "at": 1, "open": "0,1,2"}).text
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert any("alert(" in line for line in lines_of(page))


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("diff?module=nothing", 404),
        ("diff?a=99", 404),
        ("diff?a=0&b=99", 404),
        ("diff?a=x", 422),
        ("diff?open=a", 422),
        ("diff?side=c", 422),
        ("diff/rows?module=module_0000.jit_step&a=0&b=1&rows=x", 422),
        ("diff/rows?module=module_0000.jit_step&a=0&b=9&rows=1", 404),
        ("diff/rows?module=nothing&a=0&b=1&rows=1", 404),
        ("diff/find?module=module_0000.jit_step&a=0&b=1", 422),
    ],
)
def test_wrong_questions_are_told(client: TestClient, base: str, path: str, status: int) -> None:
    assert client.get(f"{base}/{path}").status_code == status


def test_large_texts_are_aligned_in_a_child(
    client: TestClient, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = client.get(f"{base}/diff/rows", params={**FIRST, "rows": "0-9"}).json()
    monkeypatch.setattr("app.web.passes.MAX_BYTES_IN_PLACE", 0)
    swapped = {**FIRST, "a": 1, "b": 0, "rows": "0-9"}
    there = client.get(f"{base}/diff/rows", params=swapped).json()
    assert [row.get("after") for row in there][:4] == [row.get("before") for row in here][:4]


def test_a_pair_is_aligned_once_and_the_oldest_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.web.pane_shelf.MAX_KEPT_BYTES", 10_000)
    shelf = PaneShelf()
    made: list[int] = []

    def ask(number: int) -> None:
        def make() -> tuple:
            made.append(number)
            return reader_of(BEFORE, AFTER), 4_000

        shelf.get(PaneKey("digest", "m", number, 0), make)

    for number in (1, 2, 1, 3, 1, 2):
        ask(number)
    assert made == [1, 2, 3, 2]
