"""`hloscope COMMAND ...`: builds the parser from the command files and maps errors to exit codes.

Exit codes: 0 nothing at or above `--fail-on`, 1 findings, 2 wrong use, 3 input not readable or not
a dump, 4 server or network, 5 time-out, 130 interrupted.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from app.cli import (
    admin,
    analyze,
    compare,
    diff,
    explain,
    parse,
    policy,
    replay,
    rules,
    run,
    serve,
    upload,
    worker,
)
from app.cli.arguments import with_flags_attached
from app.cli.output import complain
from app.errors import (
    AppError,
    InputError,
    JobFailed,
    NotFound,
    ServerFault,
    ToolchainFault,
    UsageError,
)
from app.service import tool_version
from app.settings import BadSetting, Settings, settings_from_environment

_COMMANDS = (
    analyze,
    run,
    parse,
    diff,
    compare,
    policy,
    replay,
    serve,
    admin,
    worker,
    upload,
    rules,
    explain,
)
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

Run = Callable[[argparse.Namespace, Settings], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code and never lets an `AppError` out."""
    parser = build_parser()
    words = sys.argv[1:] if argv is None else argv
    arguments = parser.parse_args(with_flags_attached(words))
    act: Run = arguments.run
    try:
        return act(arguments, settings_from_environment())
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
        # The reader (`| head`) has left: nothing more can be said. Python would complain about
        # the unwritten rest at exit, so standard output is pointed elsewhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE


def build_parser() -> argparse.ArgumentParser:
    """The whole command line, also read by the tests of the documentation."""
    parser = argparse.ArgumentParser(
        prog="hloscope",
        description="Reads an XLA dump and the log of the failed run, and says what happened.",
    )
    parser.add_argument("--version", action="version", version=f"hloscope {tool_version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add_parser(commands)
    return parser
