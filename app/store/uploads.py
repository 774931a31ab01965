"""Dumps that arrive in parts: a row each, and bytes that grow until all of them are there.

An upload's id is a secret like a report's, and only its hash is stored.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, delete, func, insert, select

from app.store.blobs import Incoming
from app.store.database import reading
from app.store.parts import Parts
from app.store.schema import upload
from app.store.secret import hash_of, new_secret


@dataclass(frozen=True, slots=True)
class UploadRow:
    """An upload of `length` bytes, of which `offset` are there; `wish` is what its sender said.

    `expires` is when it is dropped if it is not complete, in Unix seconds.
    """

    key: str
    length: int
    offset: int
    expires: float
    wish: dict[str, Any]


class Uploads:
    """All uploads of one database, with their bytes in `parts`; every method blocks."""

    def __init__(self, engine: Engine, parts: Parts) -> None:
        self._engine = engine
        self._reading = reading(engine)
        self._parts = parts

    @property
    def piece_bytes(self) -> int:
        """How much is best added at once."""
        return self._parts.piece_bytes

    def create(self, length: int, wish: dict[str, Any], *, expires: float, sender: str = "") -> str:
        """Begin an upload of `sender`, of whom a hash is stored; gives its id."""
        upload_id = new_secret()
        key = hash_of(upload_id)
        self._parts.begin(key)
        with self._engine.begin() as connection:
            connection.execute(
                insert(upload).values(
                    key=key, length=length, expires=expires, wish=wish, sender=hash_of(sender)
                )
            )
        return upload_id

    def count_open(self, sender: str) -> int:
        """How many uploads of `sender` have begun and not ended."""
        theirs = select(func.count()).where(upload.c.sender == hash_of(sender))
        with self._reading.connect() as connection:
            return connection.scalar(theirs) or 0

    def find(self, upload_id: str) -> UploadRow | None:
        """The upload of this id, unless it never was or is gone."""
        key = hash_of(upload_id)
        with self._reading.connect() as connection:
            row = connection.execute(select(upload).where(upload.c.key == key)).one_or_none()
        offset = None if row is None else self._parts.size(key)
        if row is None or offset is None:
            return None
        return UploadRow(key, row.length, offset, row.expires, row.wish)

    def append(self, key: str, data: bytes, *, at: int) -> bool:
        """Add what begins at the byte `at`; False where the end is elsewhere by now.

        Raises:
            NoSpace: the disk is full.
        """
        return self._parts.append(key, data, at)

    def first_bytes(self, key: str, most: int) -> bytes:
        """The beginning of an upload."""
        return self._parts.first_bytes(key, most)

    def take(self, key: str) -> Incoming:
        """All of an upload as received bytes; it stays until it is deleted."""
        return self._parts.take(key)

    def delete(self, key: str) -> None:
        """Forget an upload; does nothing where it is not."""
        with self._engine.begin() as connection:
            connection.execute(delete(upload).where(upload.c.key == key))
        self._parts.delete(key)

    def expire(self, *, now: float) -> int:
        """Drop what was not completed in time; says how many."""
        with self._reading.connect() as connection:
            due = connection.scalars(select(upload.c.key).where(upload.c.expires <= now)).all()
        for key in due:
            self.delete(key)
        return len(due)

    def unfinished(self) -> tuple[str, ...]:
        """The keys under which bytes stand, in order; those of a dead upload among them."""
        return tuple(sorted(self._parts.keys()))

    def drop_orphans(self, *, older_than_s: float = 0.0) -> int:
        """Remove bytes of no upload, left by a crash so long ago; says how many uploads."""
        left = set(self._parts.keys(older_than_s=older_than_s))
        with self._reading.connect() as connection:
            left -= set(connection.scalars(select(upload.c.key)).all())
        for key in left:
            self._parts.delete(key)
        return len(left)
