"""Which blobs are kept and why: put down before rows name them, taken away when none does.

Two servers may work on one store. Whoever is about to name a blob pins it first, for a time of
grace; a blob goes only under the lock of its row, and only when no attachment names it and no pin
is on it. So an upload never loses its bytes to somebody who deletes or sweeps the same bytes at
that moment, and what a crash left behind goes with a sweep once its grace is over.
"""

import logging
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TypeVar

from sqlalchemy import Connection, Engine, delete, exists, insert, select

from app.store.blobs import Blobs, Incoming, KeptBlob
from app.store.database import insert_missing, reading
from app.store.faults import StoreUnavailable
from app.store.schema import attachment, blob, pin

_LOG = logging.getLogger(__name__)

DEFAULT_GRACE_S = 6 * 3600.0

_BATCH = 500

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep took away: `blobs` that nothing names, and pieces `unfinished` for long."""

    blobs: int
    unfinished: int


class Ledger:
    """The blobs of one database and one place; every method blocks."""

    def __init__(
        self,
        engine: Engine,
        blobs: Blobs,
        *,
        grace_s: float = DEFAULT_GRACE_S,
        clock: Callable[[], float] = time.time,
        is_closing: Callable[[], bool] = lambda: False,
    ) -> None:
        self._engine = engine
        self._reading = reading(engine)
        self._blobs = blobs
        self._grace_s = grace_s
        self._clock = clock
        self._is_closing = is_closing

    @contextmanager
    def keeping(self, files: Sequence[Incoming]) -> Generator[Connection]:
        """Keep `files`, then a transaction in which rows may name them.

        Once it is committed both are there; whatever of the files no row names then is gone.
        """
        digests = sorted({file.sha256 for file in files})
        holder = uuid.uuid4().hex
        try:
            self._pin(files, digests, holder)
            for file in files:
                self._blobs.keep(file)
            with self._engine.begin() as connection:
                yield connection
        finally:
            self._let_go(digests, holder)

    def drop(self, digests: Iterable[str]) -> int:
        """Forget those of the blobs that nothing holds any more; says how many."""
        return sum(self._drop(each) for each in self._until_closing(sorted(set(digests))))

    def sweep(self, *, grace_s: float | None = None) -> Swept:
        """Forget what nothing holds, and what was left half done longer ago than the grace.

        Ends early where the store is being closed; the next one goes on.
        """
        grace_s = self._grace_s if grace_s is None else grace_s
        gone = self.drop(self._unnamed(None))
        for batch in self._until_closing(_batches(self._blobs.listed(), _BATCH)):
            gone += self._sweep_unknown(batch, before=self._clock() - grace_s)
        self.drop_copies()
        return Swept(gone, self._blobs.tidy(older_than_s=grace_s))

    def drop_copies(self) -> int:
        """Remove this machine's copies of blobs that another process deleted; says how many."""
        gone = 0
        for batch in _batches(iter(self._blobs.copies()), _BATCH):
            with self._reading.connect() as connection:
                known = connection.scalars(select(blob.c.sha256).where(blob.c.sha256.in_(batch)))
                deleted = set(batch).difference(known)
            for digest in deleted:
                self._blobs.drop_copy(digest)
            gone += len(deleted)
        return gone

    def drop_pins(self) -> None:
        """Take off all pins, for a caller who knows that nobody is about to name a blob."""
        with self._engine.begin() as connection:
            connection.execute(delete(pin))

    def _until_closing(self, items: Iterable[T]) -> Iterator[T]:
        return takewhile(lambda _: not self._is_closing(), items)

    def _pin(self, files: Sequence[Incoming], digests: list[str], holder: str) -> None:
        now = self._clock()
        sizes = {file.sha256: file.bytes for file in files}
        rows = [{"sha256": digest, "bytes": sizes[digest], "created": now} for digest in digests]
        locked: Sequence[str] = ()
        with self._engine.begin() as connection:
            # A row that somebody else takes away at this moment is made again. The lock is the
            # weaker one, which does not wait for those who name a blob.
            while len(locked) < len(digests):
                insert_missing(connection, blob, rows)
                locked = connection.scalars(
                    select(blob.c.sha256)
                    .where(blob.c.sha256.in_(digests))
                    .order_by(blob.c.sha256)
                    .with_for_update(key_share=True)
                ).all()
            until = now + self._grace_s
            for digest in digests:
                connection.execute(insert(pin).values(sha256=digest, holder=holder, until=until))

    def _let_go(self, digests: Sequence[str], holder: str) -> None:
        """Take the pins off and forget what nothing holds; a sweep does it where this fails."""
        try:
            with self._engine.begin() as connection:
                connection.execute(delete(pin).where(pin.c.holder == holder))
            self.drop(self._unnamed(digests))
        except StoreUnavailable:
            _LOG.warning("blobs that nothing names are left to the next sweep", exc_info=True)

    def _unnamed(self, digests: Sequence[str] | None) -> Sequence[str]:
        """Those of the blobs, by default of all, that no attachment names."""
        is_named = exists().where(attachment.c.blob == blob.c.sha256)
        query = select(blob.c.sha256).where(~is_named)
        if digests is not None:
            query = query.where(blob.c.sha256.in_(digests))
        with self._reading.connect() as connection:
            return connection.scalars(query).all()

    def _drop(self, digest: str) -> bool:
        with self._engine.begin() as connection:
            # What is locked is about to be named, or to be dropped by another.
            found = connection.scalar(
                select(blob.c.sha256)
                .where(blob.c.sha256 == digest)
                .with_for_update(skip_locked=True)
            )
            if found is None or _is_held(connection, digest, self._clock()):
                return False
            self._blobs.delete(digest)
            connection.execute(delete(pin).where(pin.c.sha256 == digest))
            connection.execute(delete(blob).where(blob.c.sha256 == digest))
        return True

    def _sweep_unknown(self, batch: Sequence[KeptBlob], *, before: float) -> int:
        """Forget blobs that stand in the store and in no row, left by a crash."""
        old = {each.sha256: each for each in batch if each.modified <= before}
        with self._reading.connect() as connection:
            known = connection.scalars(select(blob.c.sha256).where(blob.c.sha256.in_(old))).all()
        for digest in old.keys() - set(known):
            row = {"sha256": digest, "bytes": old[digest].bytes, "created": self._clock()}
            with self._engine.begin() as connection:
                insert_missing(connection, blob, [row])
        return self.drop(old.keys() - set(known))


def _is_held(connection: Connection, digest: str, now: float) -> bool:
    named = connection.scalar(
        select(attachment.c.report_key).where(attachment.c.blob == digest).limit(1)
    )
    pinned = connection.scalar(
        select(pin.c.holder).where(pin.c.sha256 == digest, pin.c.until > now).limit(1)
    )
    return named is not None or pinned is not None


def _batches(items: Iterator[T], size: int) -> Iterator[list[T]]:
    while batch := list(islice(items, size)):
        yield batch
