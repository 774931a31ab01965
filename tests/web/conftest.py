"""An application over a fresh data folder, and a server with a browser for each file of tests."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from starlette.testclient import TestClient

from app.settings import Settings
from app.web import create_app
from web.asking import IdleRunner, Placed
from web.visiting import ScaledServers, Server, chromium, visitors


@pytest.fixture
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    embedded = Settings(data_dir=tmp_path / "data", job_workers=1, min_free_bytes=0)
    return scaled(embedded, request) if request.config.getoption("--scaled") else embedded


@pytest.fixture
def scaled_settings(request: pytest.FixtureRequest, settings: Settings) -> Settings:
    """The same on PostgreSQL and a bucket."""
    return settings if settings.database_url else scaled(settings, request)


def scaled(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    database = request.getfixturevalue("postgres").new_database()
    blobs = request.getfixturevalue("bucket_server").new_place()
    return replace(settings, database_url=database, blobs_url=blobs)


@pytest.fixture
def start(settings: Settings) -> Iterator[Callable[..., TestClient]]:
    """`start(**changes)`: a client of an idle application with changed settings."""
    clients: list[TestClient] = []

    def start_app(**changes: Any) -> TestClient:
        app = create_app(replace(settings, **changes), runner_for=IdleRunner)
        client = TestClient(app, base_url="http://localhost", raise_server_exceptions=False)
        client.__enter__()
        clients.append(client)
        return client

    yield start_app
    for client in clients:
        client.__exit__(None, None, None)


@pytest.fixture
def client(start: Callable[..., TestClient]) -> TestClient:
    return start()


@pytest.fixture
def working(settings: Settings) -> Iterator[TestClient]:
    """A client of an application that really analyses."""
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        yield client


@pytest.fixture(scope="session")
def placed(request: pytest.FixtureRequest) -> Placed:
    """`placed(folder, **changes)`: settings for an application that a file of tests shares."""

    def settings_in(folder: Path, **changes: Any) -> Settings:
        embedded = Settings(data_dir=folder, min_free_bytes=0, **changes)
        return scaled(embedded, request) if request.config.getoption("--scaled") else embedded

    return settings_in


@pytest.fixture(scope="session")
def scaled_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScaledServers]:
    """Two servers, two workers and their engines, for the whole run."""
    running = ScaledServers(tmp_path_factory.mktemp("set"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server in a process of its own, or with `--scaled` the whole set."""
    if request.config.getoption("--scaled"):
        yield request.getfixturevalue("scaled_servers")
        return
    running = Server(tmp_path_factory.mktemp("server"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium."""
    with chromium() as running:
        yield running


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Callable[..., Page]]:
    """`visit(**options)`: a page of a new visitor, who must see no error of script or policy."""
    with visitors(browser, server.base) as visit:
        yield visit
