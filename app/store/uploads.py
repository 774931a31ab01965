"""Dumps that arrive in parts: a row each, and a file that grows until all of it is there.

How much has come is the size of the file, so nothing that is written down can disagree with it. An
upload's id is a secret like a report's, and only its hash is stored.
"""

import errno
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, delete, func, insert, select

from app.store.database import reading
from app.store.faults import NoSpace
from app.store.schema import upload
from app.store.secret import hash_of, new_secret

_KEY = re.compile(r"[0-9a-f]{64}")


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
    """All uploads of one database, with their files in `folder`; every method blocks."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._engine = engine
        self._reading = reading(engine)
        self._folder = folder

    def create(self, length: int, wish: dict[str, Any], *, expires: float, sender: str = "") -> str:
        """Begin an upload of `sender`, of whom a hash is stored; gives its id."""
        upload_id = new_secret()
        key = hash_of(upload_id)
        self.path(key).touch()
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
        if row is None or not self.path(key).is_file():
            return None
        return UploadRow(key, row.length, self.path(key).stat().st_size, row.expires, row.wish)

    def path(self, key: str) -> Path:
        """The file of an upload."""
        return self._folder / f"{key}.part"

    def append(self, key: str, data: bytes) -> None:
        """Add to the end of an upload; does nothing where it is gone.

        Raises:
            NoSpace: the disk is full.
        """
        try:
            # Not by mode "a", which would make the file of an upload that was dropped anew.
            with self.path(key).open("r+b") as file:
                file.seek(0, os.SEEK_END)
                file.write(data)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise NoSpace("no space left on the disk") from error
            raise

    def delete(self, key: str) -> None:
        """Forget an upload; does nothing where it is not."""
        with self._engine.begin() as connection:
            connection.execute(delete(upload).where(upload.c.key == key))
        self.path(key).unlink(missing_ok=True)

    def expire(self, *, now: float) -> int:
        """Drop what was not completed in time; says how many."""
        with self._reading.connect() as connection:
            due = connection.scalars(select(upload.c.key).where(upload.c.expires <= now)).all()
        for key in due:
            self.delete(key)
        return len(due)

    def drop_orphans(self) -> int:
        """Remove files of no upload, left by a crash; says how many."""
        with self._reading.connect() as connection:
            known = set(connection.scalars(select(upload.c.key)).all())
        left = [
            path
            for path in self._folder.glob("*.part")
            if _KEY.fullmatch(path.stem) and path.stem not in known
        ]
        for path in left:
            path.unlink(missing_ok=True)
        return len(left)
