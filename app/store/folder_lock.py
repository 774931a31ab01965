"""A data folder: whether it can be one, and its lock, which one process at a time has."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from app.errors import UsageError


@contextmanager
def usable(folder: Path) -> Generator[None]:
    """What the system says in the block of `folder` is told as a wrong choice of it.

    Raises:
        UsageError: it cannot be made or written (`data_dir`).
    """
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise UsageError(
            f"it cannot be used as the data folder: {reason}",
            place=str(folder),
            next_step="Choose a folder that can be written, with --data or HLOSCOPE_DATA_DIR.",
            code="data_dir",
        ) from error


def locked(folder: Path) -> IO[bytes]:
    """Take the lock of `folder`; closing what is given lets go of it.

    Raises:
        UsageError: another process has it (`data_dir_in_use`).
    """
    file = (folder / "lock").open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise UsageError(
            "it is in use by another server",
            place=str(folder),
            next_step="Stop that one, or choose another folder with HLOSCOPE_DATA_DIR.",
            code="data_dir_in_use",
        ) from None
    return file
