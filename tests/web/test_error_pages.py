"""Pages of what went wrong inside a report: plain words, a way back, and slashes too many."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from app.web import create_app
from web.asking import HLO, Placed, tar_of

A_PAGE = {"accept": "text/html"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, placed: Placed) -> Iterator[TestClient]:
    settings = placed(tmp_path_factory.mktemp("data"))
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        yield client


@pytest.fixture(scope="module")
def base(client: TestClient) -> str:
    """The report of one text without a loop."""
    body = tar_of({"module_0000.jit_step.before_optimizations.txt": HLO.encode()})
    return client.put("/api/v1/reports/d.tar.gz?wait=60", content=body).json()["url"]


def test_an_address_that_was_cut_or_typed_is_told_in_words(client: TestClient, base: str) -> None:
    odd = client.get(f"{base}/diff?a=x", headers=A_PAGE).text
    assert "&#39;a&#39; in the address is no value that this page knows" in odd
    assert "pattern" not in odd
    assert f'href="{base}">Back to the report</a>' in odd
    cut = client.get(f"{base}/history?module=module_0000.jit_step", headers=A_PAGE).text
    assert "The address lacks" in cut
    assert f'href="{base}">Back to the report</a>' in cut


@pytest.mark.parametrize(
    "path",
    ["diff?module=nothing", "diff?a=99", "history?module=m&text=9&computation=c&instruction=i"],
)
def test_what_a_report_does_not_hold_leads_back_to_it(
    client: TestClient, base: str, path: str
) -> None:
    page = client.get(f"{base}/{path}", headers=A_PAGE)
    assert page.status_code == 404
    assert f'href="{base}">Back to the report</a>' in page.text


@pytest.mark.parametrize("path", ["", "/diff?a=x", "/diff?module=nothing"])
def test_a_report_that_is_not_there_is_no_way_back(client: TestClient, path: str) -> None:
    page = client.get(f"/r/nothinghere{path}", headers=A_PAGE)
    assert "To the start" in page.text
    assert page.status_code == 422 or "Back to the report" not in page.text


def test_a_slash_at_the_end_leads_to_the_page(client: TestClient, base: str) -> None:
    for page in (base, f"{base}/diff", "/rules", "/compare"):
        answer = client.get(f"{page}/?a=1", headers=A_PAGE, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (308, f"{page}?a=1")
    for path in (f"{base}/nothing/", "/r/", f"/api/v1{base}/"):
        assert client.get(path, headers=A_PAGE, follow_redirects=False).status_code in (404, 405)
    assert client.get(f"{base}/", follow_redirects=False).status_code == 404
