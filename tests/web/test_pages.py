"""The pages: the form without a script, the way to the report, what its sender may do."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.rules.pages import rule_pages
from app.settings import template_dir
from app.web import create_app
from web.asking import HLO, Placed, app_of, kept_files, small_dump, tar_of, until_over

HTML = {"accept": "text/html"}
ROOT = Path(__file__).resolve().parents[2]
Start = Callable[..., TestClient]


def send_form(client: TestClient, **data: str) -> str:
    """The path of the report that the plain form leads to."""
    answer = client.post(
        "/",
        files={"dump": ("dump.tar.gz", small_dump()), "log": ("", b"")},
        data=data,
        headers=HTML,
        follow_redirects=False,
    )
    assert answer.status_code == 303
    path = answer.headers["location"]
    assert re.fullmatch(r"/r/[\w-]{32}", path)
    return path


def test_the_form_works_without_a_script(working: TestClient) -> None:
    path = send_form(working, flags="--xla_gpu_enable_x=true", release="", hung="")
    until_over(working, path.rpartition("/")[2])
    page = working.get(path, headers=HTML)
    assert page.status_code == 200
    assert "report-nav" in page.text
    assert "jit_step" in page.text


def test_the_upload_page_says_what_it_takes(start: Start) -> None:
    page = start(max_upload_bytes=3 << 20).get("/").text
    assert "Up to 3 MiB" in page
    assert 'enctype="multipart/form-data"' in page
    assert "data-token" not in page


def test_the_upload_page_asks_for_the_token_where_one_is_needed(start: Start) -> None:
    client = start(upload_token="secret")
    page = client.get("/").text
    assert "data-token" in page
    assert "secret" not in page


def test_a_script_gets_the_address_as_json(client: TestClient) -> None:
    answer = client.post(
        "/",
        files={"dump": ("dump.tar.gz", small_dump())},
        headers={"accept": "application/json"},
    )
    assert answer.status_code == 201
    assert set(answer.json()) == {"url"}
    assert "owner=" in answer.headers["set-cookie"]


def test_the_page_of_a_waiting_report_says_so(client: TestClient) -> None:
    path = send_form(client)
    page = client.get(path, headers=HTML).text
    assert "Waiting for a free worker" in page
    assert '<noscript><meta http-equiv="refresh" content="3"></noscript>' in page
    assert f"/api/v1{path.replace('/r/', '/reports/')}/events" in page


def test_the_cookie_of_the_sender_is_bound_to_the_report(client: TestClient) -> None:
    answer = client.post("/", files={"dump": ("d.tar.gz", small_dump())}, follow_redirects=False)
    cookie = answer.headers["set-cookie"]
    assert f"Path={answer.headers['location']}" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


def test_only_the_sender_sees_and_may_use_the_way_to_delete(client: TestClient) -> None:
    path = send_form(client)
    assert f'action="{path}/delete"' in client.get(path, headers=HTML).text
    client.cookies.clear()
    assert "/delete" not in client.get(path, headers=HTML).text
    answer = client.post(f"{path}/delete", headers=HTML)
    assert answer.status_code == 401
    client.cookies.set("owner", "wrong" * 8)
    assert client.post(f"{path}/delete", headers=HTML).status_code == 401
    assert client.get(path).status_code == 200


def test_the_sender_deletes_it(client: TestClient) -> None:
    path = send_form(client)
    page = client.post(f"{path}/delete", headers=HTML)
    assert page.status_code == 200
    assert "The report is deleted" in page.text
    assert client.get(path).status_code == 404
    assert kept_files(client) == []


def test_the_report_comes_as_json_and_markdown(working: TestClient) -> None:
    path = send_form(working)
    until_over(working, path.rpartition("/")[2])
    assert working.get(f"{path}/report.json").json()["schema_version"] == 1
    markdown = working.get(f"{path}/report.md")
    assert markdown.headers["content-type"] == "text/plain; charset=utf-8"
    assert markdown.text.startswith("#")


def test_every_client_gets_the_same_page(working: TestClient) -> None:
    path = send_form(working)
    until_over(working, path.rpartition("/")[2])
    working.cookies.clear()
    pages = {
        working.get(path, headers={**HTML, "user-agent": agent}).text
        for agent in ("Mozilla/5.0", "Slackbot-LinkExpanding 1.0", "Twitterbot/1.0", "curl/8")
    }
    assert len(pages) == 1
    head = working.head(path)
    assert (head.status_code, head.text) == (200, "")


def test_hostile_names_are_shown_as_text(working: TestClient) -> None:
    hlo = HLO.replace("multiply.4", '"x<script>alert(1)</script>"').replace(
        "dimensions={}", 'dimensions={}, metadata={op_name="</script><img src=x onerror=1>"}'
    )
    body = tar_of({"module_0000.<b>.before_optimizations.txt": hlo.encode()})
    answer = working.post(
        "/",
        files={"dump": ("<i>.tar.gz", body)},
        headers={"accept": "application/json"},
    )
    path = answer.json()["url"]
    until_over(working, path.rpartition("/")[2])
    page = working.get(path, headers=HTML).text
    for raw in ("<i>.tar", "<b>.before", "<img src=x", "<script>alert"):
        assert raw not in page


@pytest.fixture(scope="module")
def shown(
    tmp_path_factory: pytest.TempPathFactory, placed: Placed
) -> Iterator[tuple[TestClient, str]]:
    """A report with two texts of one module, and the address its texts hang below."""
    settings = placed(tmp_path_factory.mktemp("data"))
    second = HLO.replace("multiply.4", "power.4").replace("multiply(", "power(")
    body = tar_of(
        {
            "module_0000.jit_step.before_optimizations.txt": HLO.encode(),
            "module_0000.jit_step.0001.simplify.after_algsimp.before_dce.txt": second.encode(),
        }
    )
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        state = client.put("/api/v1/reports/d.tar.gz?wait=60", content=body).json()
        report = client.get(f"{state['url']}/report.json").json()
        yield client, f"{state['url']}/modules/{report['modules'][0]['id']}"


class TestTexts:
    def test_two_texts_are_compared(self, shown: tuple[TestClient, str]) -> None:
        client, base = shown
        diff = client.get(f"{base}/diff/0/1").json()
        assert diff["totals"]["computations_changed"] == 1
        (change,) = diff["computations"]
        assert change["before"] == change["after"] == "main.4"
        same = client.get(f"{base}/diff/1/1").json()
        assert same["computations"] == []
        one = client.get(f"{base}/diff/0/1", params={"computation": "main.4"}).json()
        assert len(one["computations"]) == 1

    def test_large_texts_are_compared_alike_in_a_child(
        self, shown: tuple[TestClient, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        client, base = shown
        in_place = client.get(f"{base}/diff/0/1").content
        monkeypatch.setattr("app.web.texts.MAX_BYTES_IN_PLACE", 0)
        monkeypatch.setattr("app.web.texts.difference", None)
        assert client.get(f"{base}/diff/0/1").content == in_place
        monkeypatch.setattr("app.web.texts.MAX_BYTES_IN_PLACE", -1)
        answer = client.get(f"{base}/diff/0/7")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
        folder = app_of(client).state.services.store.folder / "work"
        assert list(folder.iterdir()) == []

    def test_a_text_comes_in_windows(self, shown: tuple[TestClient, str]) -> None:
        client, base = shown
        window = client.get(f"{base}/texts/0", params={"first": 3, "count": 2}).json()
        assert (window["first"], window["total_lines"]) == (3, 8)
        assert [line["number"] for line in window["lines"]] == [3, 4]
        assert window["lines"][0]["text"] == "ENTRY main.4 {"

    def test_a_text_is_outlined_and_searched(self, shown: tuple[TestClient, str]) -> None:
        client, base = shown
        outline = client.get(f"{base}/texts/0/outline").json()
        assert [row["name"] for row in outline["computations"]] == ["main.4"]
        hits = client.get(f"{base}/texts/0/search", params={"query": "broadcast"}).json()
        assert hits["hits"][0]["instruction"] == "broadcast.3"

    def test_what_surrounds_an_instruction(self, shown: tuple[TestClient, str]) -> None:
        client, base = shown
        around = client.get(
            f"{base}/texts/0/neighbourhood",
            params={"computation": "main.4", "instruction": "multiply.4", "radius": 1},
        ).json()
        assert around["centre"] == "multiply.4"
        assert len(around["nodes"]) == 3

    def test_a_raw_text_is_a_download_and_nothing_else(self, shown: tuple[TestClient, str]) -> None:
        client, base = shown
        answer = client.get(f"{base}/texts/0/raw")
        assert answer.text == HLO
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.headers["content-disposition"] == (
            "attachment; filename*=UTF-8''module_0000.jit_step.before_optimizations.txt"
        )
        assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"

    @pytest.mark.parametrize(
        ("path", "status"),
        [
            ("diff/0/9", 404),
            ("diff/0/-1", 422),
            ("diff/0/99999999999999999999", 422),
            ("diff/0/x", 422),
            ("texts/9", 404),
            ("texts/0?count=999999", 422),
            ("texts/0/search", 422),
            ("texts/0/search?query=", 400),
            ("texts/0/neighbourhood?computation=x&instruction=y", 404),
            ("texts/0/nothing", 404),
            ("../../loops/nothing", 404),
        ],
    )
    def test_what_is_not_there_is_told(
        self, shown: tuple[TestClient, str], path: str, status: int
    ) -> None:
        client, base = shown
        answer = client.get(f"{base}/{path}")
        assert answer.status_code == status
        assert set(answer.json()) == {"error"}

    def test_deleting_closes_what_was_open(self, shown: tuple[TestClient, str]) -> None:
        client, base = shown
        assert client.get(f"{base}/diff/0/1").status_code == 200
        for _ in range(6):
            client.put("/api/v1/reports/d.tar.gz?wait=60", content=small_dump())
        assert client.get(f"{base}/diff/0/1").status_code == 200


def templates() -> list[Path]:
    return sorted(template_dir().glob("*.html"))


@pytest.mark.parametrize("path", templates(), ids=lambda path: path.name)
def test_templates_hold_nothing_the_policy_forbids(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "|safe" not in text.replace(" ", "")
    assert "autoescape" not in text
    assert re.findall(r"\son[a-z]+=", text) == []
    assert re.findall(r"(?:src|href|action)=\"(?:https?:)?//", text) == []
    if path.name != "report_offline.html":  # carries its own policy, with a digest of each
        assert re.findall(r"<style|\sstyle=", text) == []
        for tag in re.findall(r"<script[^>]*>", text):
            assert 'type="application/json"' in tag or 'src="/static/' in tag, tag


def test_the_reference_describes_every_operation(client: TestClient) -> None:
    page = client.get("/api").text
    description = client.get("/api/v1/openapi.json").json()
    for path, methods in description["paths"].items():
        assert f"<code>{path}</code>" in page
        for operation in methods.values():
            assert operation["summary"].replace("'", "&#39;") in page
    assert "`" not in page.partition("<main")[2]


def test_pages_ask_for_nothing_from_elsewhere(client: TestClient) -> None:
    for path in ("/", "/api", "/r/x"):
        page = client.get(path, headers=HTML).text
        for address in re.findall(r"(?:src|href)=\"([^\"]*)\"", page):
            assert address.startswith(("/", "#")), address
            if address.startswith("/static/"):
                assert client.get(address).status_code == 200, address


def test_the_pages_of_rules_hold_their_six_parts(client: TestClient) -> None:
    listed = client.get("/rules").text
    for page in rule_pages():
        assert f'href="/rules/{page.code}"' in listed
    shown = client.get("/rules/pip001")
    assert shown.status_code == 200
    assert re.findall(r"<h2 [^>]*>([^<]+)</h2>", shown.text) == [
        part.heading for part in next(p for p in rule_pages() if p.code == "PIP001").parts
    ]
    missing = client.get("/rules/NON001", headers=HTML)
    assert missing.status_code == 404
    assert "no such rule" in missing.text.lower()
