"""Sharing from the browser that sent the report, without a script."""

import pytest
from starlette.testclient import TestClient

from web.asking import app_of, until_over
from web.planted import ARCHIVE_NAME, LOG, USER, WORDS, leaks, planted_dump

HTML = {"accept": "text/html"}


@pytest.fixture
def sent(working: TestClient) -> str:
    """The path of a finished report that this browser sent."""
    answer = working.post(
        "/",
        files=[("dump", (ARCHIVE_NAME, planted_dump())), ("log", ("run.log", LOG.encode()))],
        data=WORDS,
        headers={"accept": "application/json"},
    )
    path = answer.json()["url"]
    until_over(working, path.rpartition("/")[2])
    return path


def share(client: TestClient, path: str, **fields: str) -> str:
    form = {"redact": "1", "expire_days": "30", **fields}
    answer = client.post(f"{path}/share", data=form, headers=HTML, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    shared = answer.headers["location"]
    assert "httponly" in answer.headers["set-cookie"].lower()
    until_over(client, shared.rpartition("/")[2])
    return shared


def test_the_owner_finds_the_way_and_the_label(working: TestClient, sent: str) -> None:
    page = working.get(sent, headers=HTML).text
    assert f'href="{sent}/share"' in page
    assert "takeover of numbat" in page
    assert 'href="https://ci.numbat.example/7" rel="noreferrer noopener nofollow"' in page
    working.cookies.clear()
    assert f"{sent}/share" not in working.get(sent, headers=HTML).text


def test_what_goes_is_shown_before_anything_is_made(working: TestClient, sent: str) -> None:
    form = working.get(f"{sent}/share", headers=HTML).text
    assert 'name="redact" value="1" checked' in form
    assert 'name="op_names" value="1">' in form
    page = working.get(f"{sent}/share?look=1&redact=1&op_names=1&expire_days=7", headers=HTML).text
    assert f"/home/{USER}/skunkworks" in page
    assert 'value="7" selected' in page
    assert 'name="op_names" value="1" checked' in page
    assert "<code>falcon</code>" in page
    assert "Shared so far" not in page


def test_the_owner_looks_at_the_copy_first(working: TestClient, sent: str) -> None:
    shared = share(working, sent)
    page = working.get(shared, headers=HTML).text
    assert "This is what others see" in page
    assert "Revoke for good" in page
    assert leaks(page) == {}
    working.cookies.clear()
    page = working.get(shared, headers=HTML)
    assert "This is what others see" not in page.text
    assert "A copy made for sharing" in page.text
    assert leaks(page.text) == {}
    assert page.headers["x-robots-tag"] == "noindex, nofollow"
    assert page.headers["referrer-policy"] == "no-referrer"


def test_it_is_revoked_from_the_copy_and_from_the_list(working: TestClient, sent: str) -> None:
    first, second = share(working, sent), share(working, sent, op_names="1")
    assert working.post(f"{first}/delete", headers=HTML).status_code == 200
    assert working.get(first).status_code == 404
    listed = working.get(f"{sent}/share", headers=HTML).text
    assert "redacted, without names, ends" in listed
    handle = listed.partition('name="handle" value="')[2].partition('"')[0]
    answer = working.post(f"{sent}/share/revoke", data={"handle": handle}, headers=HTML)
    assert answer.status_code == 200
    assert "Shared so far" not in answer.text
    # The browser that made it is told so, others are told of nothing.
    assert working.get(second).status_code == 410
    assert working.get(sent).status_code == 200
    working.cookies.clear()
    assert working.get(second).status_code == 404


def test_a_full_queue_takes_no_share(
    working: TestClient, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_of(working).state.services.store.jobs, "count_open", lambda: 1 << 30)
    answer = working.post(f"{sent}/share", data={"redact": "1"}, headers=HTML)
    assert answer.status_code == 503
    assert "are waiting already" in answer.text


@pytest.mark.parametrize("way", ["GET share", "POST share", "POST share/revoke"])
def test_only_the_sender_may(working: TestClient, sent: str, way: str) -> None:
    working.cookies.clear()
    method, part = way.split()
    answer = working.request(method, f"{sent}/{part}", headers=HTML)
    assert answer.status_code == 401
    assert "Open it in the browser it was sent from" in answer.text
    assert "<code>Authorization: Bearer</code>" in answer.text
    assert leaks(answer.text) == {}


@pytest.mark.parametrize("days", ["0", "x", "99999999", "0000000019"])
def test_days_must_be_days(working: TestClient, sent: str, days: str) -> None:
    form = {"redact": "1", "expire_days": days}
    assert working.post(f"{sent}/share", data=form, headers=HTML).status_code == 400
    assert working.get(f"{sent}/share?look=1&expire_days={days}", headers=HTML).status_code == 400


def test_the_card_holds_counts_and_rules_only(working: TestClient, sent: str) -> None:
    page = working.get(share(working, sent), headers=HTML).text
    card = [line for line in page.splitlines() if 'property="og:' in line]
    assert any("og:title" in line and "XLA dump:" in line for line in card)
    assert "jit_step" not in "".join(card)
