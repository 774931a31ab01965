"""The page of a graph: what it draws, where its links lead, hostile names, other texts."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.web import create_app
from web.asking import HLO, Placed, tar_of

HOSTILE = "</script><script>alert(1)</script>\u202e"
LOOP = """HloModule jit_step

body {
  p = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[8] get-tuple-element(p), index=1
  sum = f32[8] all-reduce(x), replica_groups={{0,1}}, to_apply=add
  ROOT t = (s32[], f32[8]) tuple(next, sum)
}

cond {
  q = (s32[], f32[8]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  n = s32[] constant(4)
  ROOT lt = pred[] compare(j, n), direction=LT
}

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  zero = s32[] constant(0)
  y = f32[8] parameter(0)
  init = (s32[], f32[8]) tuple(zero, y)
  loop.1 = (s32[], f32[8]) while(init), condition=cond, body=body
  ROOT out = f32[8] get-tuple-element(loop.1), index=1
}
"""


@pytest.fixture(scope="module")
def shown(
    tmp_path_factory: pytest.TempPathFactory, placed: Placed
) -> Iterator[tuple[TestClient, str]]:
    """A report with two texts of a module, one of a loop and one with hostile names."""
    settings = placed(tmp_path_factory.mktemp("data"))
    second = HLO.replace("multiply.4", "power.4").replace("multiply(", "power(")
    hostile = HLO.replace(
        "dimensions={}", f'dimensions={{}}, metadata={{op_name="{HOSTILE}"}}'
    ).replace("jit_step", "jit_bad")
    body = tar_of(
        {
            "module_0000.jit_step.before_optimizations.txt": HLO.encode(),
            "module_0000.jit_step.0001.simplify.after_algsimp.before_dce.txt": second.encode(),
            "module_0001.jit_bad.before_optimizations.txt": hostile.encode(),
            "module_0002.jit_loop.before_optimizations.txt": LOOP.encode(),
        }
    )
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        state = client.put("/api/v1/reports/d.tar.gz?wait=60", content=body).json()
        yield client, f"{state['url']}/graph"


def test_of_very_many_nodes_the_nearest_come_with_how_to_narrow(
    tmp_path: Path, placed: Placed
) -> None:
    lines = "".join(f"  u.{n} = f32[] negate(p)\n" for n in range(3_000))
    text = f"HloModule m\n\nENTRY main {{\n  p = f32[] parameter(0)\n{lines}}}\n"
    settings = placed(tmp_path / "data")
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        body = tar_of({"module_0000.m.before_optimizations.txt": text.encode()})
        state = client.put("/api/v1/reports/d.tar?wait=60", content=body).json()
        place = f"{state['url']}/modules/module_0000.m/texts/0/neighbourhood"
        asked = client.get(place, params={"computation": "main", "instruction": "p", "radius": 20})
        found = asked.json()
        assert (asked.status_code, len(found["nodes"])) == (200, 400)
        assert (found["cut"]["code"], found["cut"]["total"]) == ("view_too_large", 3_001)
        assert "smaller radius" in found["cut"]["next_step"]
        # One of those left out is where to go on from.
        params = {"computation": "main", "instruction": "u.2999", "radius": 1}
        assert {node["name"] for node in client.get(place, params=params).json()["nodes"]} == {
            "p",
            "u.2999",
        }
        page = client.get(f"{state['url']}/graph", params={"instruction": "p", "radius": 20}).text
        assert len(boxes_of(page)) == 400


def boxes_of(html: str) -> set[str]:
    return {unescape(name) for name in re.findall(r'class="node-name"[^>]*>([^<]*)<', html)}


def test_without_a_word_it_draws_the_last_text_of_a_module(shown: tuple[TestClient, str]) -> None:
    client, base = shown
    page = client.get(base, params={"module": "module_0000.jit_step"}).text
    assert boxes_of(page) == {"Arg_0.1", "constant.2", "broadcast.3", "power.4"}
    assert page.count('class="edge"') == 3


def test_changes_are_marked_by_word(shown: tuple[TestClient, str]) -> None:
    client, base = shown
    where = {"module": "module_0000.jit_step", "text": 1, "against": 0}
    page = client.get(base, params=where).text
    assert "power · added" in page or "power · changed" in page
    assert "by the pass" in page


def test_links_open_more_and_stay_in_place(shown: tuple[TestClient, str]) -> None:
    client, base = shown
    where = {"module": "module_0000.jit_step", "instruction": "Arg_0.1", "radius": 1}
    page = client.get(base, params=where).text
    assert boxes_of(page) == {"Arg_0.1", "power.4"}
    more = re.search(r'class="more" href="([^"]+)"', page)
    assert more is not None
    opened = client.get(unescape(more[1]))
    assert boxes_of(opened.text) == {"Arg_0.1", "power.4", "broadcast.3"}
    for href in re.findall(r'href="(/r/[^"#]+)"', opened.text):
        assert client.get(unescape(href)).status_code == 200


def test_a_line_of_the_text_names_an_instruction(shown: tuple[TestClient, str]) -> None:
    client, base = shown
    page = client.get(base, params={"module": "module_0000.jit_step", "text": 0, "line": 6}).text
    assert "<h1><code>broadcast.3</code></h1>" in page
    page = client.get(base, params={"module": "module_0000.jit_step", "text": 0, "line": 3}).text
    assert "<h1><code>main.4</code></h1>" in page


def test_a_loop_means_its_body(shown: tuple[TestClient, str]) -> None:
    client, base = shown
    report = client.get(base.replace("/graph", "/report.json")).json()
    page = client.get(base, params={"loop": report["loops"][0]["id"]}).text
    assert boxes_of(page) == {"p", "i", "one", "next", "x", "sum", "t"}
    assert 'class="node kind-collective' in page


def test_search_leads_to_instructions(shown: tuple[TestClient, str]) -> None:
    client, base = shown
    page = client.get(base, params={"module": "module_0000.jit_step", "find": "broadcast"}).text
    assert "1 instruction found." in page
    assert "instruction=broadcast.3" in page


def test_an_instruction_of_another_text_is_said_to_be_missing(
    shown: tuple[TestClient, str],
) -> None:
    client, base = shown
    where = {"module": "module_0000.jit_step", "text": 0, "instruction": "power.4"}
    page = client.get(base, params=where).text
    assert "This text has no instruction power.4 in main.4." in page
    assert "multiply.4" in boxes_of(page)


def test_hostile_names_are_text(shown: tuple[TestClient, str]) -> None:
    client, base = shown
    page = client.get(base, params={"module": "module_0001.jit_bad"}).text
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("module=nothing", 404),
        ("computation=nothing", 404),
        ("loop=nothing", 404),
        ("text=99", 404),
        ("radius=0", 422),
        ("against=x", 422),
        ("&".join(["open=x"] * 60), 422),
    ],
)
def test_wrong_questions_are_told(shown: tuple[TestClient, str], query: str, status: int) -> None:
    client, base = shown
    assert client.get(f"{base}?{query}").status_code == status
