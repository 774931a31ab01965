"""What whoever runs a server asks of its store: what is in it, whether it is whole, a copy of it.

A backup is itself a store in one folder, whichever engines the original stands on: it can be
served as it is, or be put back into an empty store on any engine.
"""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine, Table, distinct, func, insert, select, text

from app.errors import UsageError
from app.store.blobs import Blobs
from app.store.database import open_database, reading
from app.store.durable import put_down
from app.store.folder_lock import locked
from app.store.ledger import Ledger
from app.store.reports import Reports
from app.store.schema import attachment, blob, job, metadata, owned, pin, report, share, upload

_COPIED_AT_ONCE = 500
# A pin says that somebody is at work now, which nobody is in a copy; parts of an upload stand in
# no copy either.
_NOT_COPIED = (pin, upload)


@dataclass(frozen=True, slots=True)
class Stats:
    """What a store holds; sizes in bytes, times in Unix seconds.

    `attached` tells by role how many files reports hold and their bytes, each counted as often as
    it is held; `blobs` and `blob_bytes` count each blob once. `left_over` are blobs that nothing
    holds until the next sweep.
    """

    database: str
    reports: Mapping[str, int]
    jobs: Mapping[str, int]
    shares: int
    owners: int
    uploads: int
    attached: Mapping[str, tuple[int, int]]
    blobs: int
    blob_bytes: int
    left_over: int
    oldest: float | None
    room_bytes: int


@dataclass(frozen=True, slots=True)
class Damage:
    """A blob that is not what its row says; `reports` of them hold it."""

    sha256: str
    what: str
    reports: int


@dataclass(frozen=True, slots=True)
class Checked:
    """`blobs` that were looked at, what is wrong with them, and objects that no row knows."""

    blobs: int
    damages: tuple[Damage, ...]
    unknown: int


@dataclass(frozen=True, slots=True)
class Copied:
    """How many reports and blobs a copy has, and the blobs that could not be read for it."""

    reports: int
    blobs: int
    damages: tuple[Damage, ...]


class Upkeep:
    """Looks over one database and its blobs; every method blocks."""

    def __init__(self, engine: Engine, blobs: Blobs) -> None:
        self._engine = engine
        self._reading = reading(engine)
        self._blobs = blobs

    def stats(self) -> Stats:
        """What there is, counted now."""
        held = select(attachment.c.blob)
        with self._reading.connect() as connection:
            roles = connection.execute(
                select(attachment.c.role, func.count(), func.sum(attachment.c.bytes))
                .group_by(attachment.c.role)
                .order_by(attachment.c.role)
            ).all()
            blobs, blob_bytes = connection.execute(
                select(func.count(), func.coalesce(func.sum(blob.c.bytes), 0)).select_from(blob)
            ).one()
            return Stats(
                database=connection.dialect.name,
                reports=_by_state(connection, report),
                jobs=_by_state(connection, job),
                shares=_count(connection, share),
                owners=connection.scalar(select(func.count(distinct(owned.c.owner)))) or 0,
                uploads=_count(connection, upload),
                attached={role: (count, int(size)) for role, count, size in roles},
                blobs=blobs,
                blob_bytes=int(blob_bytes),
                left_over=connection.scalar(
                    select(func.count()).select_from(blob).where(blob.c.sha256.not_in(held))
                )
                or 0,
                oldest=connection.scalar(select(func.min(report.c.created))),
                room_bytes=self._blobs.room(),
            )

    def check(self, *, digests: bool = False) -> Checked:
        """Hold every blob against its row: that it is there and of its size, and its digest too.

        What comes or goes meanwhile is no damage.
        """
        listed = {each.sha256: each.bytes for each in self._blobs.listed()}
        with self._reading.connect() as connection:
            rows = connection.execute(select(blob.c.sha256, blob.c.bytes)).all()
        damages = [
            Damage(digest, what, held)
            for digest, size in rows
            if (what := self._fault_of(digest, size, listed.get(digest), digests=digests))
            and (held := self._holders(digest))
        ]
        known = {digest for digest, _ in rows}
        return Checked(len(rows), tuple(damages), len(listed.keys() - known))

    def backup(self, folder: Path) -> Copied:
        """Make `folder` a store with all that is here; what it has already is not copied again.

        Until it is whole, what was there before stays as it was.

        Raises:
            UsageError: a server has the folder open (`data_dir_in_use`).
            OSError: the folder cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            return self._backup(folder.resolve())

    def restore(self, folder: Path) -> Copied:
        """Fill this store, which must be empty, from a backup.

        Raises:
            UsageError: there is no backup in the folder (`no_backup`), or the store has reports
                already (`not_empty`).
        """
        place = folder / "hloscope.sqlite"
        if not place.is_file():
            raise UsageError("there is no backup", place=str(folder), code="no_backup")
        with self._reading.connect() as connection:
            if _count(connection, report):
                raise UsageError(
                    "the store has reports already",
                    next_step="Restore into an empty one.",
                    code="not_empty",
                )
        source = open_database(place)
        try:
            damages = Upkeep(source, Blobs(folder / "blobs"))._copy_blobs(source, self._blobs)
            with source.begin() as rows, self._engine.begin() as target:
                _copy_rows(rows, target)
                _advance_numbers(target)
                reports, kept = _count(target, report), _count(target, blob)
        finally:
            source.dispose()
        return Copied(reports, kept, damages)

    def _backup(self, folder: Path) -> Copied:
        place = folder / "hloscope.sqlite"
        unfinished = folder / "hloscope.part.sqlite"
        unfinished.unlink(missing_ok=True)
        copy = open_database(unfinished)
        try:
            with _snapshot(self._engine) as source, copy.begin() as target:
                _copy_rows(source, target)
            blobs = Blobs(folder / "blobs")
            ledger = Ledger(copy, blobs)
            damages = self._copy_blobs(copy, blobs)
            self._forget_deleted(copy, ledger, damages)
            ledger.sweep(grace_s=0)
            with copy.begin() as target:
                reports, kept = _count(target, report), _count(target, blob)
        except BaseException:
            copy.dispose()
            unfinished.unlink(missing_ok=True)
            raise
        # The last connection takes the journal into the file.
        copy.dispose()
        for suffix in ("-wal", "-shm"):
            place.with_name(place.name + suffix).unlink(missing_ok=True)
        unfinished.replace(place)
        put_down(folder)
        return Copied(reports, kept, tuple(each for each in damages if each.reports))

    def _fault_of(self, digest: str, size: int, found: int | None, *, digests: bool) -> str:
        if found is None:
            # It may have been put down after the list was made.
            found = self._blobs.size(digest)
        if found is None:
            return "missing"
        if found != size:
            return f"{found} bytes in place of {size}"
        if digests and not self._is_true(digest):
            return "other bytes than its digest says"
        return ""

    def _is_true(self, digest: str) -> bool:
        found = hashlib.sha256()
        try:
            for piece in self._blobs.pieces(digest):
                found.update(piece)
        except FileNotFoundError:
            return False
        return found.hexdigest() == digest

    def _holders(self, digest: str) -> int:
        query = select(func.count(distinct(attachment.c.report_key)))
        with self._reading.connect() as connection:
            return connection.scalar(query.where(attachment.c.blob == digest)) or 0

    def _copy_blobs(self, rows: Engine, target: Blobs) -> tuple[Damage, ...]:
        """Copy the blobs that `rows` know; gives those that cannot be read from here."""
        with reading(rows).connect() as connection:
            digests = connection.scalars(select(blob.c.sha256).order_by(blob.c.sha256)).all()
        faults = ((digest, self._copy_blob(digest, target)) for digest in digests)
        return tuple(Damage(digest, what, self._holders(digest)) for digest, what in faults if what)

    def _copy_blob(self, digest: str, target: Blobs) -> str:
        if target.has(digest):
            return ""
        with target.receive() as writer:
            try:
                for piece in self._blobs.pieces(digest):
                    writer.write(piece)
            except FileNotFoundError:
                return "missing"
            incoming = writer.finish()
        if incoming.sha256 != digest:
            target.discard(incoming)
            return "other bytes than its digest says"
        target.keep(incoming)
        return ""

    def _forget_deleted(self, copy: Engine, ledger: Ledger, damages: Iterable[Damage]) -> None:
        """Take reports out of a copy that were deleted here while it was made."""
        reports = Reports(copy, ledger)
        gone = [damage.sha256 for damage in damages if not damage.reports]
        with reading(copy).connect() as connection:
            keys = connection.scalars(
                select(attachment.c.report_key).where(attachment.c.blob.in_(gone)).distinct()
            ).all()
        for key in keys:
            reports.delete(key)


def _snapshot(engine: Engine) -> AbstractContextManager[Connection]:
    # On SQLite a transaction is one as it is.
    if engine.dialect.name != "sqlite":
        engine = engine.execution_options(isolation_level="REPEATABLE READ")
    return engine.begin()


def _copy_rows(source: Connection, target: Connection) -> None:
    for table in metadata.sorted_tables:
        if table in _NOT_COPIED:
            continue
        found = source.execution_options(yield_per=_COPIED_AT_ONCE).execute(select(table))
        for rows in found.mappings().partitions():
            target.execute(insert(table), [dict(row) for row in rows])


def _advance_numbers(connection: Connection) -> None:
    """Have PostgreSQL number new jobs after those that were copied with theirs."""
    if connection.dialect.name == "postgresql":
        last = "(SELECT max(id) FROM job)"
        sequence = "pg_get_serial_sequence('job', 'id')"
        connection.execute(text(f"SELECT setval({sequence}, {last}) WHERE {last} IS NOT NULL"))


def _by_state(connection: Connection, table: Table) -> dict[str, int]:
    query = select(table.c.state, func.count()).group_by(table.c.state).order_by(table.c.state)
    return {state: count for state, count in connection.execute(query).all()}


def _count(connection: Connection, table: Table) -> int:
    return connection.scalar(select(func.count()).select_from(table)) or 0
