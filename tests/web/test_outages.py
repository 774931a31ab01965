"""A database or a bucket that goes away: told as such, nothing half there, and work goes on."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import pytest
from starlette.testclient import TestClient

from app.settings import Settings
from app.web import create_app
from web.asking import IdleRunner, app_of, small_dump, until_over

REPORTS = "/api/v1/reports"


class Engine(Protocol):
    """What may go away, and come back with what it held."""

    def kill(self) -> None: ...

    def start(self) -> None: ...


@contextmanager
def gone(engine: Engine) -> Iterator[None]:
    engine.kill()
    try:
        yield
    finally:
        engine.start()


@pytest.fixture
def idle(scaled_settings: Settings) -> Iterator[TestClient]:
    app = create_app(scaled_settings, runner_for=IdleRunner)
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def working(scaled_settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(scaled_settings), base_url="http://localhost") as client:
        yield client


def sent(client: TestClient) -> str:
    answer = upload(client)
    assert answer.is_success, answer.text
    return answer.json()["id"]


def upload(client: TestClient) -> Any:
    return client.post(f"{REPORTS}?name=dump.tar.gz", content=small_dump())


def check_refusal(answer: Any) -> None:
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "store_unavailable"
    assert int(answer.headers["retry-after"]) > 0


def test_a_database_that_goes_away_is_told_and_comes_back(
    idle: TestClient, postgres: Engine
) -> None:
    before = sent(idle)
    with gone(postgres):
        check_refusal(upload(idle))
        check_refusal(idle.get(f"{REPORTS}/{before}"))
    assert idle.get(f"{REPORTS}/{before}").json()["state"] == "queued"
    assert sent(idle) != before
    assert app_of(idle).state.services.store.upkeep.check(digests=True).damages == ()


def test_a_bucket_that_goes_away_is_told_and_comes_back(
    idle: TestClient, bucket_server: Engine
) -> None:
    with gone(bucket_server):
        check_refusal(upload(idle))
    store = app_of(idle).state.services.store
    assert store.upkeep.stats().reports == {}
    assert sent(idle)
    assert store.upkeep.stats().reports == {"queued": 1}
    assert store.upkeep.check(digests=True).damages == ()


def test_no_row_is_made_when_the_bucket_goes_between(
    idle: TestClient, bucket_server: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = app_of(idle).state.services.store
    keep = store.blobs.keep

    def keep_too_late(incoming: object) -> None:
        with gone(bucket_server):
            keep(incoming)

    monkeypatch.setattr(store.blobs, "keep", keep_too_late)
    check_refusal(upload(idle))
    stats = store.upkeep.stats()
    assert (stats.reports, stats.blobs) == ({}, 0)
    monkeypatch.setattr(store.blobs, "keep", keep)
    assert sent(idle)


def test_nothing_is_half_there_when_the_database_goes_between(
    idle: TestClient, postgres: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = app_of(idle).state.services.store
    keep = store.blobs.keep

    def keep_and_lose(incoming: object) -> None:
        keep(incoming)
        postgres.kill()

    monkeypatch.setattr(store.blobs, "keep", keep_and_lose)
    try:
        check_refusal(upload(idle))
    finally:
        postgres.start()
    monkeypatch.setattr(store.blobs, "keep", keep)
    stats = store.upkeep.stats()
    assert (stats.reports, stats.blobs, stats.left_over) == ({}, 1, 1)
    # Its pin guards it until its grace is over; whoever sends it again takes it over.
    assert store.ledger.sweep(grace_s=0).blobs == 0
    assert sent(idle)
    assert store.upkeep.stats().left_over == 0


def test_an_analysis_outlives_an_outage_of_both(
    working: TestClient, postgres: Engine, bucket_server: Engine
) -> None:
    first, second = sent(working), sent(working)
    with gone(postgres), gone(bucket_server):
        time.sleep(1.5)
    for report_id in (first, second):
        assert until_over(working, report_id, within_s=120)["state"] == "done"
    assert working.get(f"{REPORTS}/{first}/report.json").status_code == 200
    assert app_of(working).state.services.store.upkeep.check(digests=True).damages == ()
