"""The store in both its forms: in one folder, and on PostgreSQL with a bucket."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app.store import Store
from app.store.database import open_database
from app.store.schema import metadata
from engines import BucketServer, Postgres


@dataclass(frozen=True)
class Place:
    """Where a store stands; each `open` is another process as far as the store can tell."""

    folder: Path
    database: str
    blobs: str
    server: BucketServer | None

    def open(self, name: str = "data", **options: Any) -> Store:
        return Store(self.folder / name, database=self.database, blobs=self.blobs, **options)

    @property
    def database_file(self) -> Path | str:
        return self.database or self.folder / "data" / "hloscope.sqlite"

    def blob_names(self) -> list[str]:
        """The last part of the name of whatever stands where blobs do, whole or not."""
        if self.server is not None:
            return sorted(name.rpartition("/")[2] for name in self.server.names(self.blobs))
        folder = self.folder / "data" / "blobs"
        return sorted(path.name for path in folder.rglob("*") if path.is_file())


def all_rows(database: Path | str) -> str:
    """Whatever the tables hold, as text."""
    engine = open_database(database)
    with engine.begin() as connection:
        rows = [connection.execute(select(table)).all() for table in metadata.sorted_tables]
    engine.dispose()
    return repr(rows)


@pytest.fixture
def scaled_place(tmp_path: Path, postgres: Postgres, bucket_server: BucketServer) -> Place:
    """PostgreSQL and a bucket."""
    return Place(tmp_path, postgres.new_database(), bucket_server.new_place(), bucket_server)


@pytest.fixture(params=["folder", "scaled"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Both forms, one after the other."""
    if request.param == "folder":
        return Place(tmp_path, "", "", None)
    return request.getfixturevalue("scaled_place")


@pytest.fixture
def store(place: Place) -> Iterator[Store]:
    with place.open() as opened:
        yield opened
