"""The page of a module's memory: what it says and draws, where its links lead, hostile names."""

import json
import re
from collections.abc import Iterator
from html import unescape

import pytest
from starlette.testclient import TestClient

from app.web import create_app
from web.asking import Placed, small_dump
from web.view_dumps import MODULE, view_dump


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, placed: Placed) -> Iterator[TestClient]:
    settings = placed(tmp_path_factory.mktemp("data"))
    with TestClient(create_app(settings), base_url="http://localhost") as running:
        yield running


def report_of(client: TestClient, dump: bytes) -> str:
    return client.put("/api/v1/reports/d.tar.gz?wait=60", content=dump).json()["url"]


@pytest.fixture(scope="module")
def report(client: TestClient) -> str:
    return report_of(client, view_dump())


@pytest.fixture(scope="module")
def page(client: TestClient, report: str) -> str:
    return client.get(f"{report}/memory").text


def test_it_says_the_peak_and_what_is_reserved(page: str) -> None:
    assert "144.0 KiB at the peak, where sum (train.py:9) runs." in page
    facts = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", page))
    assert facts["Reserved in all"] == "160.0 KiB"
    assert facts["at position"] == "4 of 10"
    assert facts["for temporaries"] == "128.0 KiB"


def test_the_curve_is_drawn_for_a_desk_and_for_a_phone(page: str) -> None:
    assert re.findall(r'class="memory-curve (\w+)"', page) == ["wide", "narrow"]
    curve = json.loads(page.split('id="page-data">')[1].split("</script>")[0])["curve"]
    assert curve["bytes"][:5] == [32768, 98304, 114688, 131072, 147456]
    assert curve["names"][4] == "sum"
    assert [(loop["first"], loop["last"]) for loop in curve["loops"]] == [(2, 5)]
    assert page.count('class="band"') == 2


def test_tiles_and_table_hold_the_same_lines(page: str) -> None:
    tiles = re.findall(r'<a class="tile [^>]*><title>([^:]*(?::\d+)?): ', page)
    heads = re.findall(
        r'<th scope="row">(.*?)(?:<span class="note">.*?)?</th>', page.split("<tbody>")[1]
    )
    rows = [re.sub(r"<[^>]+>", "", head) for head in heads]
    assert {"train.py:7", "train.py:9"} <= set(tiles) & set(rows)
    half = tiles[: len(tiles) // 2]
    assert half == tiles[len(tiles) // 2 :]


def test_a_line_is_of_the_kind_that_most_of_its_bytes_are(page: str) -> None:
    (tile,) = set(
        re.findall(r'<a class="tile class-(\w+)"[^>]*><title>train.py:7: [^;]*; ([^<]*)<', page)
    )
    assert tile == ("stacked", "values stacked by loops, temporaries")


def test_links_lead_to_graph_line_and_loop(client: TestClient, report: str, page: str) -> None:
    hrefs = {unescape(href) for href in re.findall(r'href="(/r/[^"]+)"', page)}
    for view in ("graph?", "#loop-"):
        assert any(view in href for href in hrefs)
    for href in hrefs:
        if "/source" not in href:
            assert client.get(href.partition("#")[0]).status_code == 200
    graph = next(href for href in hrefs if "instruction=sum" in href)
    assert "<h1><code>sum</code></h1>" in client.get(graph).text


def test_what_loops_share_is_told(page: str) -> None:
    shared = page.split("What the iterations of a loop share")[1]
    assert "<code>2 · f32[4,64,64]</code>" in shared
    assert "stacked output" in shared
    assert "<code>u</code>" in shared


def test_hostile_names_are_text(page: str) -> None:
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;" in page


def test_an_estimate_is_said_to_be_one_and_how_to_get_better(client: TestClient) -> None:
    page = client.get(f"{report_of(client, small_dump())}/memory").text
    assert "for the whole run" in page
    assert "An estimate: the dump has no buffer assignment" in page
    assert "Over the text, in its order" in page
    assert "-buffer-assignment.txt" in page


def test_a_module_is_chosen_by_its_id(client: TestClient, report: str) -> None:
    assert client.get(f"{report}/memory", params={"module": MODULE}).status_code == 200
    assert client.get(f"{report}/memory", params={"module": "nothing"}).status_code == 404
