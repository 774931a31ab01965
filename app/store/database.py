"""Opening the database: the engine's settings and the way to the newest schema."""

from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import URL, Connection, Engine, create_engine, event

MIGRATIONS = Path(__file__).resolve().parent / "migrations"

_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA busy_timeout = 30000",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
)


def open_database(path: Path) -> Engine:
    """An engine on the SQLite file `path`, made when missing and brought to the newest schema.

    Every transaction takes the write lock at its start: readers go through connections of their
    own (`reading`), and a transaction that reads before it writes can then never find the
    database changed in between.
    """
    engine = create_engine(URL.create("sqlite", database=str(path)))
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _take_write_lock)
    with engine.begin() as connection:
        migrate(connection)
    return engine


def reading(engine: Engine) -> Engine:
    """The same pool, for single statements outside any transaction."""
    return engine.execution_options(isolation_level="AUTOCOMMIT")


def migrate(connection: Connection) -> None:
    """Bring the schema to the newest revision, in the caller's transaction."""
    command.upgrade(migration_config(connection), "head")


def migration_config(connection: Connection) -> Config:
    """What Alembic's commands need to work on `connection`."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


def _configure(connection: Any, record: object) -> None:
    del record
    # The driver's own idea of when a transaction starts would come in between.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _take_write_lock(connection: Connection) -> None:
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
