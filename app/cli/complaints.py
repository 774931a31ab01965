"""What is said on standard error: one complaint, with control characters made visible.

It needs nothing but Python's own modules, for it must also be said when a command ends early.
"""

import re
import shlex
import shutil
import sys
from pathlib import Path

from app.cli.commands import COMMANDS

_PROGRAM = "hloscope"
_COMMAND = re.compile(rf"\b{_PROGRAM} (?:{'|'.join(COMMANDS)})\b")


def complain(message: str) -> None:
    """One error on standard error; where a command in it is not on PATH, with its place."""
    safe = "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in message)
    print(f"{_PROGRAM}: {safe}", file=sys.stderr)
    started_as = Path(sys.argv[0])
    if _COMMAND.search(message) and started_as.name == _PROGRAM and shutil.which(_PROGRAM) is None:
        place = shlex.quote(str(started_as))
        print(f"{_PROGRAM}: the command is not on PATH; it is {place}", file=sys.stderr)
