"""The files a command is to write: refused before its work where they cannot be, written after it.

Given are their names as on the command line, with `-` for standard output, and what they hold.
"""

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from app.cli.complaints import complain
from app.cli.output import write_output
from app.errors import UsageError


def check_outputs(*targets: str | None) -> None:
    """Refuse files that cannot be written, before any work is done for them; writes nothing.

    Raises:
        UsageError: one of them cannot be written.
    """
    for target in targets:
        if target and target != "-" and (reason := _why_not_written(Path(target))):
            raise UsageError(
                f"cannot write: {reason}", place=target, next_step="Name another file."
            )


def _why_not_written(path: Path) -> str:
    try:
        if path.is_dir():
            return os.strerror(errno.EISDIR)
        place = path if path.exists() else path.parent
        if place != path and not place.is_dir():
            # The system's own word for what is wrong with the folder, if it has one.
            place.stat()
            return os.strerror(errno.ENOTDIR)
    except OSError as error:
        return error.strerror or str(error)
    return "" if os.access(place, os.W_OK) else f"{place} is read-only"


def write_all(outputs: Iterable[tuple[str, bytes]]) -> None:
    """Write each as `write_output` does; one that fails keeps no other from being written.

    Raises:
        UsageError: the first that cannot be written; the others are complained of.
    """
    failed: list[UsageError] = []
    for target, data in outputs:
        try:
            write_output(target, data)
        except UsageError as error:
            failed.append(error)
    for error in failed[1:]:
        complain(str(error))
    if failed:
        raise failed[0]
