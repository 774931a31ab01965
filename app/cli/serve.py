"""`hloscope serve`: the web app; with `--sample` a report is made at start and its link printed.

With `--check` it only says whether it could serve.
"""

import argparse
from pathlib import Path

from app.cli.arguments import Commands, add_place_options, with_places
from app.cli.commands import COMMANDS
from app.errors import ServerFault
from app.settings import Settings
from app.store import StoreUnavailable
from app.web.serve import check, serve


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser("serve", help=COMMANDS["serve"])
    parser.add_argument("--host", default="127.0.0.1", help="0.0.0.0 lets other machines in")
    parser.add_argument("--port", type=int, default=8765, help="0 takes a free one")
    add_place_options(parser)
    parser.add_argument("--sample", type=Path, metavar="PATH", help="analyse this dump at start")
    parser.add_argument(
        "--log",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="log of that dump's run, repeatable",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="serve nothing: end with 0 if the address and the data folder can be had",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Serve until interrupted, or say whether it could be done."""
    settings = with_places(settings, arguments)
    try:
        if arguments.check:
            check(settings, host=arguments.host, port=arguments.port)
            return 0
        serve(
            settings,
            host=arguments.host,
            port=arguments.port,
            sample=arguments.sample,
            logs=arguments.log,
        )
    except StoreUnavailable as error:
        raise ServerFault(str(error), next_step="Start the server again when it does.") from error
    return 0
