"""Who is let in: tokens and their scopes, persons behind a proxy, strangers at every door."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from app.settings import BadSetting, settings_from_environment
from app.store import NewShare, Scope
from web.asking import app_of, small_dump
from web.test_hostile_requests import address_of, methods_of, routes_of

REPORTS = "/api/v1/reports"
SECRET = "s" * 32
LOGIN = {"login_header": "X-Forwarded-User", "login_secret": SECRET}
Start = Callable[..., TestClient]


def make_token(client: TestClient, *scopes: Scope, expires: float | None = None) -> dict[str, str]:
    """The header that carries a new token."""
    tokens = app_of(client).state.services.store.tokens
    secret, _ = tokens.create("test", frozenset(scopes), now=time.time(), expires=expires)
    return {"authorization": f"Bearer {secret}"}


def code_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def send(client: TestClient, headers: dict[str, str] | None = None) -> dict[str, Any]:
    answer = client.put(REPORTS, content=small_dump(), headers=headers or {})
    assert answer.status_code == 201, answer.text
    return answer.json()


def share_of(client: TestClient, report_id: str) -> str:
    """The id of a share of a report."""
    reports = app_of(client).state.services.store.reports
    key = reports.find(report_id).key
    return reports.create_share(
        NewShare(key, "a", {"redact": True}, None), now=time.time()
    ).report_id


def from_proxy(client: TestClient) -> TestClient:
    """The same application, asked by a proxy on this machine."""
    return TestClient(
        app_of(client),
        base_url="http://localhost",
        raise_server_exceptions=False,
        client=("127.0.0.1", 5000),
    )


@pytest.mark.parametrize(
    ("scopes", "uploads", "reads"),
    [(("upload",), 201, 403), (("read",), 403, 200), (("upload", "read"), 201, 200)],
)
def test_a_token_does_what_its_scopes_say(
    start: Start, scopes: tuple[Scope, ...], uploads: int, reads: int
) -> None:
    client = start(members_only=True)
    made = send(client, make_token(client, "upload"))
    headers = make_token(client, *scopes)
    answer = client.put(REPORTS, content=small_dump(), headers=headers)
    assert answer.status_code == uploads
    assert client.get(f"{REPORTS}/{made['id']}", headers=headers).status_code == reads
    if 403 in (uploads, reads):
        refused = answer if uploads == 403 else client.get("/", headers=headers)
        assert code_of(refused) == (403, "scope")


@pytest.mark.parametrize("members_only", [False, True])
def test_a_token_that_is_no_good_is_told_so(start: Start, members_only: bool) -> None:
    client = start(members_only=members_only)
    old = make_token(client, "read", expires=time.time() - 1)
    taken_back = make_token(client, "read")
    tokens = app_of(client).state.services.store.tokens
    assert tokens.revoke(tokens.all()[0].handle, now=time.time())
    for headers in (old, taken_back, {"authorization": "Bearer hloscope_nothing"}):
        answer = client.get(REPORTS, headers=headers)
        assert code_of(answer) == (401, "bad_token")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_what_a_token_sent_it_may_list_and_delete(client: TestClient) -> None:
    mine, other = make_token(client, "read", "upload"), make_token(client, "read", "upload")
    made = send(client, mine)
    assert [item["id"] for item in client.get(REPORTS, headers=mine).json()["items"]] == [
        made["id"]
    ]
    assert client.get(REPORTS, headers=other).json()["items"] == []
    path = f"{REPORTS}/{made['id']}"
    assert code_of(client.delete(path, headers=other)) == (401, "bad_token")
    assert client.delete(path, headers=mine).status_code == 204
    assert code_of(client.get(path, headers=mine)) == (410, "gone")
    assert code_of(client.get(path, headers=other)) == (404, "not_found")
    assert code_of(client.get(path)) == (404, "not_found")


def test_whoever_had_a_share_or_report_is_told_that_it_is_gone(client: TestClient) -> None:
    made = send(client)
    shared = share_of(client, made["id"])
    token = {"authorization": f"Bearer {made['delete_token']}"}
    assert client.delete(f"{REPORTS}/{made['id']}", headers=token).status_code == 204
    for path in (f"{REPORTS}/{made['id']}", f"/r/{made['id']}"):
        assert code_of(client.get(path, headers=token)) == (410, "gone")
        assert code_of(client.get(path)) == (404, "not_found")
    cookie = {"cookie": f"owner={made['delete_token']}"}
    assert client.get(f"/r/{made['id']}", headers=cookie).status_code == 410
    assert client.get(f"/r/{shared}").status_code == 404
    unknown = client.get(f"/r/{'x' * 32}", headers=token)
    assert unknown.json() == client.get(f"/r/{made['id']}").json()


def test_the_upload_token_still_uploads_where_members_alone_may_read(start: Start) -> None:
    client = start(members_only=True, upload_token="secret")
    held = {"authorization": "Bearer secret"}
    made = send(client, held)
    assert code_of(client.get(f"{REPORTS}/{made['id']}", headers=held)) == (403, "scope")
    assert code_of(client.put(REPORTS, content=small_dump())) == (401, "login_needed")


class TestStrangers:
    """Somebody without a token, at every address of a server for members."""

    def test_are_refused_everywhere_and_told_of_no_report(self, start: Start) -> None:
        client = start(members_only=True)
        made = send(client, make_token(client, "upload"))
        asked = 0
        for route in routes_of(client):
            for method in methods_of(route):
                real, unknown = (
                    client.request(method, address_of(route, report_id=report_id))
                    for report_id in (made["id"], "x" * 32)
                )
                assert_same(real, unknown, method)
                if route.path in ("/healthz", "/readyz", "/api", "/rules", "/rules/{code}"):
                    assert real.status_code in (200, 404), route.path
                else:
                    assert real.status_code in (401, 404), (method, route.path)
                asked += 1
        assert asked > 60

    def test_without_members_know_no_report_by_guessing(self, client: TestClient) -> None:
        send(client)
        asked = 0
        for route in routes_of(client):
            if "{report_id}" in route.path and route.name != "create_report":
                for method in methods_of(route):
                    answer = client.request(method, address_of(route, report_id="x" * 32))
                    assert answer.status_code in (404, 422), (method, route.path)
                    asked += 1
        assert asked > 40

    def test_may_change_nothing_of_a_report_they_read(self, client: TestClient) -> None:
        made = send(client)
        before = app_of(client).state.services.store.reports.find(made["id"])
        asked = 0
        for route in routes_of(client):
            if "{report_id}" not in route.path or route.name == "create_report":
                continue
            for method in methods_of(route, safe=False):
                answer = client.request(method, address_of(route, report_id=made["id"]))
                assert code_of(answer) == (401, "bad_token"), (method, route.path)
                asked += 1
        assert asked >= 5
        assert app_of(client).state.services.store.reports.find(made["id"]) == before

    def test_read_what_is_shared(self, start: Start) -> None:
        client = start(members_only=True)
        made = send(client, make_token(client, "upload"))
        shared = share_of(client, made["id"])
        assert client.get(f"{REPORTS}/{shared}").status_code == 200
        assert client.get(f"/r/{shared}").status_code == 200
        assert client.get(f"/r/{made['id']}").status_code == 404

    def test_with_the_secret_of_their_report_keep_it(self, start: Start) -> None:
        client = start(members_only=True)
        made = send(client, make_token(client, "upload"))
        token = {"authorization": f"Bearer {made['delete_token']}"}
        assert client.get(f"{REPORTS}/{made['id']}", headers=token).status_code == 200
        assert client.delete(f"{REPORTS}/{made['id']}", headers=token).status_code == 204


def assert_same(one: Any, other: Any, method: str) -> None:
    """Nothing tells the answers apart."""
    assert one.status_code == other.status_code, (method, one.url)
    assert one.content == other.content, (method, one.url)
    names = one.headers.keys() - {"x-request-id"}
    assert names == other.headers.keys() - {"x-request-id"}
    assert {each: one.headers[each] for each in names} == {
        each: other.headers[each] for each in names
    }


class TestPersons:
    """Signed in by a proxy that is trusted to say so."""

    @pytest.fixture
    def app(self, start: Start) -> TestClient:
        return start(members_only=True, trusted_proxies="127.0.0.0/8, ::1", **LOGIN)

    def test_are_believed_from_the_proxy_alone(self, app: TestClient) -> None:
        named = {"x-forwarded-user": "ada@example.org"}
        assert code_of(app.get(REPORTS, headers=named)) == (401, "login_needed")
        assert from_proxy(app).get(REPORTS, headers=named).status_code == 200
        assert code_of(from_proxy(app).get(REPORTS)) == (401, "login_needed")

    def test_have_their_own_reports_from_any_browser(self, app: TestClient) -> None:
        proxy = from_proxy(app)
        ada, ben = {"x-forwarded-user": "ada"}, {"x-forwarded-user": "ben"}
        made = send(proxy, ada)
        listed = proxy.get(REPORTS, headers=ada).json()["items"]
        assert [item["id"] for item in listed] == [made["id"]]
        assert proxy.get(REPORTS, headers=ben).json()["items"] == []
        assert proxy.get(f"{REPORTS}/{made['id']}", headers=ben).status_code == 200
        assert proxy.delete(f"{REPORTS}/{made['id']}", headers=ben).status_code == 401
        assert proxy.post(f"/r/{made['id']}/delete", headers=ada).status_code == 200
        assert code_of(proxy.get(f"/r/{made['id']}", headers=ada)) == (410, "gone")

    def test_do_nothing_from_a_page_that_hides_where_it_stands(self, app: TestClient) -> None:
        proxy, ada = from_proxy(app), {"x-forwarded-user": "ada"}
        made = send(proxy, ada)
        delete = f"/r/{made['id']}/delete"
        hidden = ada | {"origin": "null"}
        assert proxy.post(delete, headers=hidden).status_code == 403
        assert proxy.get(f"/r/{made['id']}", headers=hidden).status_code == 200
        ours = hidden | {"sec-fetch-site": "same-origin"}
        assert proxy.post(delete, headers=ours).status_code == 200

    def test_are_nobody_else_for_a_while(self, start: Start) -> None:
        app = start(members_only=True, owner_max_reports=1, trusted_proxies="127.0.0.1", **LOGIN)
        proxy, ada = from_proxy(app), {"x-forwarded-user": "ada"}
        send(proxy, ada)
        again = ada | {"hloscope-owner": "0123456789abcdef" * 3}
        answer = proxy.put(REPORTS, content=small_dump(), headers=again)
        assert code_of(answer) == (429, "quota")

    def test_see_what_they_may_do_with_theirs(self, app: TestClient) -> None:
        proxy = from_proxy(app)
        made = send(proxy, {"x-forwarded-user": "ada"})
        pages = {
            name: proxy.get(f"/r/{made['id']}", headers={"x-forwarded-user": name}).text
            for name in ("ada", "ben")
        }
        assert f"/r/{made['id']}/delete" in pages["ada"]
        assert f"/r/{made['id']}/delete" not in pages["ben"]

    def test_the_address_before_the_proxy_counts_for_limits(self, start: Start) -> None:
        proxy = from_proxy(start(trusted_proxies="127.0.0.1", max_requests_per_minute=2, **LOGIN))
        one, two = {"x-forwarded-for": "203.0.113.7"}, {"x-forwarded-for": "203.0.113.8"}
        statuses = [proxy.get("/api", headers=each).status_code for each in (one, one, one, two)]
        assert statuses == [200, 200, 429, 200]

    @pytest.mark.parametrize(
        ("values", "said"),
        [
            ({"LOGIN_HEADER": "X-User"}, "believed from nobody"),
            ({"LOGIN_HEADER": "X-User", "TRUSTED_PROXIES": "10.0.0.1"}, "32 characters or more"),
            ({"TRUSTED_PROXIES": "the-proxy"}, "the-proxy"),
        ],
    )
    def test_settings_that_would_let_anybody_in_are_refused(
        self, values: dict[str, str], said: str
    ) -> None:
        with pytest.raises(BadSetting, match=said):
            settings_from_environment({f"HLOSCOPE_{name}": text for name, text in values.items()})


def test_a_sender_may_have_only_so_many_uploads_in_parts(start: Start) -> None:
    client = start(max_open_uploads=3)
    headers = {"tus-resumable": "1.0.0", "upload-length": "10"}
    answers = [client.post("/api/v1/uploads", headers=headers) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [201, 201, 201, 429]
    assert int(answers[-1].headers["retry-after"]) > 0
    mine = headers | make_token(client, "upload")
    assert client.post("/api/v1/uploads", headers=mine).status_code == 201
    gone = client.delete(answers[0].headers["location"], headers={"tus-resumable": "1.0.0"})
    assert gone.status_code == 204
    assert client.post("/api/v1/uploads", headers=headers).status_code == 201


def test_many_at_once_begin_no_more_uploads_than_a_sender_may_have(start: Start) -> None:
    client = start(max_open_uploads=2)
    begin = {"tus-resumable": "1.0.0", "upload-length": "10"}
    with ThreadPoolExecutor(12) as senders:
        answers = senders.map(
            lambda _: client.post("/api/v1/uploads", headers=begin).status_code, range(12)
        )
        assert set(answers) <= {201, 429}
    assert app_of(client).state.services.store.upkeep.stats().uploads <= 2


def test_a_sample_needs_no_token_to_send(start: Start) -> None:
    client = start(upload_token="secret")
    answer = client.post("/samples/pipeliner_crash", follow_redirects=False)
    assert answer.status_code == 303
    assert code_of(start_members(client).post("/samples/pipeliner_crash"))[0] == 401


def start_members(client: TestClient) -> TestClient:
    """The same application, for members only."""
    services = app_of(client).state.services
    app_of(client).state.services = replace(
        services, settings=replace(services.settings, members_only=True)
    )
    return client


def test_every_route_is_walked(client: TestClient) -> None:
    app = app_of(client)
    walked = {(route.path, *methods_of(route, safe=True)) for route in routes_of(client)}
    served = {
        (route.path, *methods_of(route, safe=True))
        for route in app.state.routes
        if isinstance(route, APIRoute)
    }
    assert walked == served
    assert len(app.state.routes) == len(routes_of(client))
