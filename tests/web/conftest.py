"""An application over a fresh data folder."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.settings import Settings
from app.web import create_app
from web.asking import IdleRunner


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", job_workers=1, min_free_bytes=0)


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
