"""What the commands read: files named on the command line, and standard input for `-`.

Dumps are read elsewhere, member by member; these are read whole.
"""

import sys
from pathlib import Path

from app.errors import NotADump


def read_input(name: str) -> bytes:
    """The bytes of a file, or of standard input.

    Raises:
        NotADump: it cannot be read.
    """
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise NotADump(
            f"cannot read: {error.strerror}", place=name, next_step="Check the path."
        ) from error


def text_or_file(value: str) -> str:
    """The text itself, or what the file behind `@` holds; raises as `read_input`."""
    if not value.startswith("@"):
        return value
    return read_input(value[1:]).decode("utf-8", "backslashreplace")
