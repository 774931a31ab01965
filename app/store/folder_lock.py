"""The lock of a data folder: one process at a time has it, and the system lets go of it."""

import fcntl
from pathlib import Path
from typing import IO

from app.errors import UsageError


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
