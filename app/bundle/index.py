"""The index of a bundle: its format, the modules and their dumps, and where the bytes of each lie.

Read once when a bundle is opened, from SQLite and nothing else; no number is believed that does not
fit the others.
"""

import sqlite3
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import msgspec

from app.bundle.layout import (
    APPLICATION_ID,
    FORMAT_VERSION,
    FRAME_BYTES,
    TABLES,
    TABLES_BEFORE,
    CorruptData,
)
from app.errors import BadArchive

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BundleDump:
    """One text of one module: `index` is its position, `bytes` its size."""

    index: int
    file: str
    bytes: int


@dataclass(frozen=True, slots=True)
class BundleModule:
    """One module and its texts, in the order of the report."""

    id: str
    dumps: tuple[BundleDump, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a dump's recipe lies: piece numbers, and the bytes the recipe makes."""

    text_bytes: int
    first_part: int
    parts: int


@dataclass(frozen=True, slots=True)
class Frame:
    """A packed frame: the number of its first piece, how many it holds, its bytes unpacked."""

    first_piece: int
    pieces: int
    raw_bytes: int


def check_format(connection: sqlite3.Connection) -> int:
    """Take nothing but the tables of a version; what a schema may run is thereby nothing.

    Gives the version.

    Raises:
        BadArchive: it is a bundle of another version (`bundle_version`).
        CorruptData: it is no bundle.
    """
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    ((kind,),) = connection.execute("PRAGMA application_id")
    ((version,),) = connection.execute("PRAGMA user_version")
    if kind != APPLICATION_ID:
        raise CorruptData("another kind of file")
    tables = TABLES if version == FORMAT_VERSION else TABLES_BEFORE.get(version)
    if tables is None:
        raise BadArchive(
            f"the bundle has format {version}, this hloscope reads {FORMAT_VERSION}",
            next_step="Analyse the dump again, or use the hloscope that made the bundle.",
            code="bundle_version",
        )
    schema = connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY rowid")
    if schema.fetchall() != [("table", name, sql) for name, sql in tables.items()]:
        raise CorruptData("its tables are not those of a bundle")
    return version


def rows_of(
    connection: sqlite3.Connection, kind: type[T], query: str, *values: int | str
) -> list[T]:
    """The rows, each column of the type that `kind` states: SQLite itself keeps to none."""
    return msgspec.convert(connection.execute(query, values).fetchall(), list[kind])


def read_frames(connection: sqlite3.Connection) -> tuple[Frame, ...]:
    """All frames, by their pieces; raises CorruptData."""
    rows = rows_of(
        connection,
        tuple[int, int, int],
        "SELECT first_piece, pieces, raw_bytes FROM frames ORDER BY first_piece",
    )
    frames = tuple(Frame(*row) for row in rows)
    expected = 0
    for frame in frames:
        credible = frame.pieces > 0 and 0 <= frame.raw_bytes <= FRAME_BYTES
        if frame.first_piece != expected or not credible:
            raise CorruptData("a frame is missing, or of no credible size")
        expected += frame.pieces
    return frames


def read_index(
    connection: sqlite3.Connection,
) -> tuple[dict[str, BundleModule], dict[str, tuple[Place, ...]]]:
    """The modules, and the places of their dumps, by module id; raises CorruptData."""
    dumps = iter(
        rows_of(
            connection,
            tuple[str, int, int, int],
            "SELECT file, text_bytes, recipe, recipe_parts FROM dumps ORDER BY position",
        )
    )
    modules: dict[str, BundleModule] = {}
    places: dict[str, tuple[Place, ...]] = {}
    for module_id, count in rows_of(
        connection, tuple[str, int], "SELECT id, dumps FROM modules ORDER BY position"
    ):
        rows = tuple(islice(dumps, max(count, 0)))
        if len(rows) != count or module_id in modules:
            raise CorruptData("the index of dumps does not fit its modules")
        modules[module_id] = BundleModule(
            module_id,
            tuple(BundleDump(index, file, size) for index, (file, size, _, _) in enumerate(rows)),
        )
        places[module_id] = tuple(Place(size, first, parts) for _, size, first, parts in rows)
    return modules, places
