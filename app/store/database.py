"""Opening the database: the engine's settings and the way to the newest schema.

SQLite and PostgreSQL run the same statements, and what is committed outlasts a power cut on both.
Two things differ. SQLite has one writer at a time; on PostgreSQL rows are locked, always the job's
first, then the report's, then blobs in the order of their digests. And what a lost connection
raises is told as `StoreUnavailable` on both.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    ExceptionContext,
    Table,
    create_engine,
    event,
    make_url,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DatabaseError, InterfaceError, OperationalError

from app.errors import UsageError
from app.store.faults import StoreUnavailable

MIGRATIONS = Path(__file__).resolve().parent / "migrations"

_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA busy_timeout = 30000",
    # With less the last transactions before a power cut are lost, and with them what was answered.
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
)

# Nobody waits longer for a row than an upload waits for the next byte.
_POSTGRESQL_SETTINGS = (
    "SET lock_timeout = '30s'",
    "SET statement_timeout = '120s'",
    "SET idle_in_transaction_session_timeout = '600s'",
)
_CONNECT_S = 5

_LASTING = (
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOTADB,
)

# Two servers that start at once migrate one after the other.
_MIGRATION_LOCK = 0x686C6F53


def open_database(place: Path | str) -> Engine:
    """An engine on the SQLite file or the address `place`, brought to the newest schema.

    Every transaction on SQLite takes the write lock at its start: readers go through connections
    of their own (`reading`), and a transaction that reads before it writes can then never find the
    database changed in between. What a statement was to store, which may be words of a dump, is in
    no error and so in no log.

    Raises:
        UsageError: the address is none of SQLite or PostgreSQL, the schema is a newer one, or the
            file cannot be opened, written or read as a database.
        StoreUnavailable: the database does not answer.
    """
    url = _url_of(place)
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, hide_parameters=True)
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", _take_write_lock)
    else:
        engine = _postgresql(url)
        event.listen(engine, "connect", _configure_postgresql)
    event.listen(engine, "handle_error", _tell_apart)
    try:
        with engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                lock = text("SELECT pg_advisory_xact_lock(:key)")
                connection.execute(lock, {"key": _MIGRATION_LOCK})
            migrate(connection)
    except CommandError as error:
        engine.dispose()
        raise UsageError(
            f"the database was made by another version of the program ({error})",
            place=url.render_as_string(hide_password=True),
            next_step="Start the newer version again, or open another database.",
            code="database_version",
        ) from error
    except (StoreUnavailable, DatabaseError) as error:
        engine.dispose()
        if (reason := _reason_of_file(error)) is None:
            raise
        raise UsageError(
            f"the database cannot be used: {reason}",
            place=str(url.database),
            next_step="Choose a folder that can be written, with --data or HLOSCOPE_DATA_DIR.",
            code="data_dir",
        ) from error
    except BaseException:
        engine.dispose()
        raise
    return engine


def _reason_of_file(error: BaseException) -> str | None:
    """What SQLite says of a file that will be no better later on."""
    said = error.__cause__
    if isinstance(said, sqlite3.Error) and getattr(said, "sqlite_errorcode", 0) & 0xFF in _LASTING:
        return str(said)
    return None


def reading(engine: Engine) -> Engine:
    """The same pool, for single statements outside any transaction."""
    return engine.execution_options(isolation_level="AUTOCOMMIT")


def insert_missing(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]
) -> None:
    """Insert those `rows` whose keys are not there yet."""
    on_sqlite = connection.dialect.name == "sqlite"
    statement = (
        sqlite.insert(table).on_conflict_do_nothing()
        if on_sqlite
        else postgresql.insert(table).on_conflict_do_nothing()
    )
    for row in rows:
        connection.execute(statement, row)


def migrate(connection: Connection) -> None:
    """Bring the schema to the newest revision, in the caller's transaction."""
    command.upgrade(migration_config(connection), "head")


def migration_config(connection: Connection) -> Config:
    """What Alembic's commands need to work on `connection`."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


def _url_of(place: Path | str) -> URL:
    if isinstance(place, Path):
        return URL.create("sqlite", database=str(place))
    try:
        url = make_url(place)
    except ArgumentError as error:
        raise _refused("(not shown)") from error
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise _refused(url.render_as_string(hide_password=True))
    if url.drivername == "sqlite" and not url.database:
        raise _refused(str(url))
    return url


def _refused(place: str) -> UsageError:
    return UsageError(
        "this is no address of a database that can be used",
        place=place,
        next_step="Write postgresql://USER:PASSWORD@HOST/NAME or sqlite:////folder/file.",
        code="database_url",
    )


def _postgresql(url: URL) -> Engine:
    arguments = {"connect_timeout": _CONNECT_S, "client_encoding": "utf8"}
    try:
        # As many connections as threads ask for: nobody waits for one without an end.
        return create_engine(
            url,
            pool_pre_ping=True,
            max_overflow=-1,
            connect_args=arguments | dict(url.query),
            hide_parameters=True,
        )
    except ModuleNotFoundError as error:
        raise UsageError(
            "the driver for PostgreSQL is not installed",
            place=url.render_as_string(hide_password=True),
            next_step="Install hloscope with its extra: pip install 'hloscope[scale]'.",
            code="database_url",
        ) from error


def _configure_sqlite(connection: Any, record: object) -> None:
    del record
    # The driver's own idea of when a transaction starts would come in between.
    connection.isolation_level = None
    _run(connection, _PRAGMAS)


def _configure_postgresql(connection: Any, record: object) -> None:
    del record
    _run(connection, _POSTGRESQL_SETTINGS)
    connection.commit()


def _run(connection: Any, statements: Sequence[str]) -> None:
    cursor = connection.cursor()
    for statement in statements:
        cursor.execute(statement)
    cursor.close()


def _take_write_lock(connection: Connection) -> None:
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _tell_apart(context: ExceptionContext) -> None:
    error = context.sqlalchemy_exception
    if context.is_disconnect or isinstance(error, OperationalError | InterfaceError):
        raise StoreUnavailable("the database does not answer") from context.original_exception
