"""The page of the user's program: figures of lines, all HLO of one, in any text, hostile names."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.web import create_app
from app.web.services import Services
from web.asking import Placed, app_of, small_dump
from web.view_dumps import HOSTILE, MODULE, PROGRAM, view_dump


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


def rows_of(html: str) -> dict[int, list[str]]:
    """The cells of the listing by line: instructions, FLOPs, bytes, collectives, memory."""
    rows: dict[int, list[str]] = {}
    for number, row in re.findall(r'<tr id="L(\d+)" class="source-line.*?>(.*?)</tr>', html, re.S):
        cells = re.findall(r'<td class="number figure"[^>]*>(.*?)</td>', row, re.S)
        rows[int(number)] = [re.sub(r"<[^>]+>", "", cell).strip() for cell in cells]
    return rows


def made_in(html: str) -> dict[str, str]:
    """The instructions listed for the chosen line, with how their line is known."""
    table = html.partition('class="sortable stacking made"')[2]
    found = re.findall(
        r'<code>([^<]+)</code></a> <span class="opcode.*?<span class="\w+">([^<]+)<', table
    )
    return dict(found)


def test_the_program_opens_with_the_figures_of_the_last_text(
    client: TestClient, report: str
) -> None:
    page = client.get(f"{report}/source").text
    assert "<h1>train.py</h1>" in page
    # Loop, product, counter and stack state the line. In four iterations the product touches three
    # blocks of 16 KiB, the stack reads and writes one; the counter and two indices are scalars.
    assert rows_of(page)[7] == ["4 +4", "2.1 MFLOP", "320.1 KiB", "", "80.0 KiB"]
    assert rows_of(page)[9][3] == "1 · 64.0 KiB"


def test_the_text_of_the_program_comes_with_the_upload(client: TestClient, report: str) -> None:
    page = client.get(f"{report}/source").text
    assert "The text is that of src/me/train.py of the upload" in page
    assert "return jax.lax.scan(lambda c, _: (c @ c, c), x, length=4)  # &lt;b&gt;" in page
    other = client.get(f"{report}/source", params={"file": f"/home/me/{HOSTILE}.py"}).text
    assert "The text of this file is not at hand" in other
    assert "in loss&lt;b&gt;" in other


def test_a_line_opens_all_hlo_it_became(client: TestClient, report: str) -> None:
    page = client.get(f"{report}/source", params={"file": PROGRAM, "line": 7}).text
    made = made_in(page)
    assert {name for name, how in made.items() if how == "stated"} == {"h", "next", "u", "loop.1"}
    assert "inferred from its operand" in made.values()
    assert next(iter(made)) == "h"
    links = [unescape(href) for href in re.findall(r'href="(/r/[^"]+)"', page)]
    graph = next(href for href in links if "/graph" in href and "instruction=h" in href)
    assert "<h1><code>h</code></h1>" in client.get(graph).text
    for href in links:
        if "/source" in href or "/memory" in href:
            assert client.get(href.partition("#")[0]).status_code == 200


def test_any_text_can_be_asked_for(client: TestClient, report: str) -> None:
    where = {"module": MODULE, "file": PROGRAM, "line": 9, "pass": 0}
    page = client.get(f"{report}/source", params=where).text
    assert "0001 first" in page
    assert made_in(page)["sum"] == "stated"
    assert "At the peak" not in page
    assert 'rel="next"' in page
    assert 'rel="prev"' not in page


def test_reports_hold_the_same_figures_as_the_view(client: TestClient, report: str) -> None:
    (program,) = client.get(f"{report}/report.json").json()["programs"]
    lines = {
        (file["file"], line["line"]): line for file in program["files"] for line in file["lines"]
    }
    line = lines[PROGRAM, 7]
    assert (line["instructions"], line["inferred"], line["flops"]) == (4, 4, 4 * 2 * 64**3)
    assert line["texts"] == [[0, 4]]
    fresh = client.get(f"{report}/source", params={"file": PROGRAM, "line": 7}).text
    known = client.get(f"{report}/source", params={"file": PROGRAM}).text
    assert rows_of(fresh) == rows_of(known)


def test_hostile_names_are_text(client: TestClient, report: str) -> None:
    for where in ({}, {"file": f"/home/me/{HOSTILE}.py", "line": 3}):
        page = client.get(f"{report}/source", params=where).text
        assert "<script>alert" not in page
        # The form sends the name as it is; nobody sees it there.
        assert "\u202e" not in re.sub(r'<input type="hidden"[^>]*>', "", page)
        assert "&lt;script&gt;" in page
    assert made_in(page) == {
        "e": "stated",
        "g": "inferred from what it runs",
        "p0": "inferred from what runs it",
        "w": "inferred from its operand",
    }


def test_a_program_without_places_says_so(client: TestClient) -> None:
    page = client.get(f"{report_of(client, small_dump())}/source").text
    assert "No instruction of this module states a line" in page


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("module=nothing", 404),
        ("pass=99", 404),
        ("pass=-1", 422),
        ("file=nothing.py&line=4", 200),
        ("line=7", 200),
        ("file=%00%ff&line=1000000000", 200),
        (f"file={PROGRAM}&line=1000000000", 200),
    ],
)
def test_odd_questions_are_answered(
    client: TestClient, report: str, query: str, status: int
) -> None:
    assert client.get(f"{report}/source?{query}").status_code == status


def test_what_is_not_found_is_told_and_the_nearest_shown(client: TestClient, report: str) -> None:
    missing = "The report knows no instruction that states"
    other = client.get(f"{report}/source", params={"file": "/x/train.py", "line": 7}).text
    assert f"{missing} a line of /x/train.py. Shown is {PROGRAM}" in other
    assert made_in(other) == made_in(
        client.get(f"{report}/source", params={"file": PROGRAM, "line": 7}).text
    )
    strange = client.get(f"{report}/source", params={"file": "/x/trian.py", "line": 4}).text
    assert "<h1>train.py</h1>" in strange
    assert made_in(strange) == {}
    line = client.get(f"{report}/source", params={"file": PROGRAM, "line": 1_000_000_000}).text
    assert f"{missing} line 1,000,000,000 of train.py. The nearest is <a href=" in line
    assert "line=9" in line.partition("The nearest is")[2][:200]
    assert missing not in client.get(f"{report}/source", params={"line": 7}).text
    assert "train.py:7 in" in client.get(f"{report}/source", params={"line": 7}).text
    hostile = client.get(f"{report}/source", params={"file": HOSTILE}).text
    assert "<script>alert" not in hostile


def test_only_files_that_the_report_names_are_read(
    client: TestClient, report: str, tmp_path: Path
) -> None:
    nearby, elsewhere = tmp_path / "nearby", tmp_path / "elsewhere"
    for folder in (nearby, elsewhere):
        folder.mkdir()
        (folder / "hidden.txt").write_text("a secret of the machine\n")
    (nearby / f"{HOSTILE}.py".rpartition("/")[2]).write_text("named_by_the_report = 1\n")
    state = app_of(client).state
    services: Services = state.services
    state.services = replace(services, own_folders={report.removeprefix("/r/"): (nearby,)})
    for file in (str(elsewhere / "hidden.txt"), "hidden.txt", "/etc/passwd"):
        page = client.get(f"{report}/source", params={"file": file, "line": 1}).text
        assert f"no instruction that states a line of {file}" in page
        assert "a secret of the machine" not in page
    named = client.get(f"{report}/source", params={"file": f"/home/me/{HOSTILE}.py"}).text
    assert "named_by_the_report" in named
