"""A report's page is rendered once for all who see the same, and is bounded in bytes."""

import pytest
from starlette.testclient import TestClient

from app.web import kept_pages
from app.web.kept_pages import KeptPages
from web.asking import until_over
from web.planted import ARCHIVE_NAME, planted_dump

HTML = {"accept": "text/html"}


def test_the_lately_read_ones_are_kept_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_pages, "MAX_KEPT_BYTES", 10)
    monkeypatch.setattr(kept_pages, "_MOST_OF_ONE", 5)
    pages, made = KeptPages(), list[str]()

    def get(key: str, size: int = 5) -> bytes:
        def make() -> str:
            made.append(key)
            return key * size

        return pages.get(key, make)

    assert [get("a"), get("b"), get("a")] == [b"aaaaa", b"bbbbb", b"aaaaa"]
    assert made == ["a", "b"]
    # "b" was read longest ago.
    assert get("c") == b"ccccc"
    get("a")
    get("b")
    assert made == ["a", "b", "c", "b"]
    # One that would drive out the others is not kept.
    get("d", 6)
    get("d", 6)
    assert made[4:] == ["d", "d"]


def test_who_sent_it_and_who_did_not_see_their_own_page(
    working: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = working.post(
        "/",
        files=[("dump", (ARCHIVE_NAME, planted_dump()))],
        headers={"accept": "application/json"},
    )
    path = answer.json()["url"]
    until_over(working, path.rpartition("/")[2])
    own = working.get(path, headers=HTML).text
    cookies = dict(working.cookies)
    working.cookies.clear()
    others = working.get(path, headers=HTML).text
    assert f"{path}/delete" in own
    assert f"{path}/delete" not in others
    monkeypatch.setattr("app.web.pages.report_page", lambda *_, **__: pytest.fail("rendered again"))
    assert working.get(path, headers=HTML).text == others
    working.cookies.update(cookies)
    assert working.get(path, headers=HTML).text == own
