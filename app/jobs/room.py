"""What a child says when the disk is full: a reason of its own, and no fault of the analysis."""

import errno
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from app.errors import JobFailed

FULL = (errno.ENOSPC, errno.EDQUOT)

NO_ROOM = "the server's disk has no room left for the report"
NO_ROOM_NEXT = "Try again later, or tell whoever runs the server."


@contextmanager
def room_told() -> Generator[None]:
    """Raise `JobFailed` (`no_space`) in place of what a full disk raises."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise _no_room() from error
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
            raise
        raise _no_room() from error


def _no_room() -> JobFailed:
    return JobFailed(NO_ROOM, next_step=NO_ROOM_NEXT, code="no_space")
