"""Where the commands write: consoles, complaints, and files given as arguments (`-` is stdout)."""

import os
import sys
from pathlib import Path

import msgspec
from rich.console import Console

from app.errors import UsageError

# Wider than any line: rich would take 80 columns where there is no terminal.
_UNBROKEN = 100_000


class _Console(Console):
    """A console whose reader may leave: rich would end the process with 1, which means findings."""

    def on_broken_pipe(self) -> None:
        """Hand the error on, to be answered where exit codes are decided."""
        raise


def console_for_report(*, stdout_is_taken: bool) -> Console:
    """The console for the report; standard error when a machine format goes to standard output.

    A file, a pipe or the log of a CI job has no width: lines stay whole there, unless `COLUMNS`
    says where they end.
    """
    is_narrow = (sys.stderr if stdout_is_taken else sys.stdout).isatty() or "COLUMNS" in os.environ
    return _Console(
        stderr=stdout_is_taken,
        width=None if is_narrow else _UNBROKEN,
        highlight=False,
        markup=False,
        emoji=False,
    )


def write_json(target: str, value: object) -> None:
    """Write a value of the JSON contract as `write_output` does, indented."""
    data = msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=1)
    write_output(target, data + b"\n")


def write_output(target: str, data: bytes) -> None:
    """Write `data` to the file named, or to standard output for `-`.

    Raises:
        UsageError: the file cannot be written.
    """
    if target == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        Path(target).write_bytes(data)
    except OSError as error:
        raise UsageError(
            f"cannot write: {error.strerror}", place=target, next_step="Name another file."
        ) from error
