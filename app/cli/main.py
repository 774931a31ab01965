"""`hloscope COMMAND ...`: builds the parser from the command files and maps errors to exit codes.

Exit codes: 0 nothing at or above `--fail-on`, 1 findings, 2 wrong use, 3 input not readable or not
a dump, 4 server or network, 5 time-out, 130 interrupted.
"""

import argparse
import errno
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module, metadata
from typing import Protocol, cast

from app.cli.arguments import Commands, Parser, with_flags_attached
from app.cli.commands import COMMANDS
from app.cli.complaints import complain
from app.errors import (
    AppError,
    InputError,
    JobFailed,
    NotFound,
    ServerFault,
    ToolchainFault,
    UsageError,
)
from app.settings import BadSetting, Settings, settings_from_environment

_EXIT_CODES: tuple[tuple[type[AppError], int], ...] = (
    (UsageError, 2),
    (NotFound, 2),
    (InputError, 3),
    (ServerFault, 4),
    (ToolchainFault, 4),
    (JobFailed, 5),
)
_INTERRUPTED = 130
_BROKEN_PIPE = 141
_FULL = (errno.ENOSPC, errno.EDQUOT)

Run = Callable[[argparse.Namespace, Settings], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code and never lets an `AppError` out."""
    words = with_flags_attached(sys.argv[1:] if argv is None else argv)
    try:
        # Its modules take a second to import, which may be interrupted like all the rest.
        parser = build_parser(next((word for word in words if not word.startswith("-")), ""))
        arguments = parser.parse_args(words)
        if arguments.command is None:
            parser.print_help(sys.stderr)
            return 2
        act: Run = arguments.run
        code = act(arguments, settings_from_environment())
        # What is still to be written fails here, and not when Python ends.
        sys.stdout.flush()
        return code
    except BadSetting as error:
        complain(str(error))
        return 2
    except AppError as error:
        complain(str(error))
        return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 3)
    except KeyboardInterrupt:
        complain("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has left: nothing more can be said.
        _drop_unwritten()
        return _BROKEN_PIPE
    except OSError as error:
        if error.errno not in _FULL:
            raise
        # Standard output goes to a disk without room, or the folder of temporary files has none.
        _drop_unwritten()
        complain(f"cannot write: {error.strerror}")
        return 2


def _drop_unwritten() -> None:
    """Point standard output elsewhere: Python would complain about the unwritten rest at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def build_parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """The whole command line, also read by the tests of the documentation.

    Where the word `chosen` is known, no command but that is imported; the others then have nothing
    but their line in the list of all.
    """
    parser = Parser(
        prog="hloscope",
        description="Reads an XLA dump and the log of the failed run, and says what happened.",
        epilog="Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 wrong use, 3 input not "
        "readable or not a dump, 4 server or network, 5 time-out, 130 interrupted. Begin with: "
        "hloscope run -- python train.py",
    )
    version = f"hloscope {metadata.version('hloscope')}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, words in COMMANDS.items():
        if chosen in (None, name):
            cast(_Command, import_module(f"app.cli.{name}")).add_parser(commands)
        else:
            commands.add_parser(name, help=words)
    return parser


class _Command(Protocol):
    """The module of a command."""

    def add_parser(self, commands: Commands) -> None:
        """Declare the command, with its `run` among the defaults."""
        ...
