"""`hloscope explain CODE`: the page of one rule."""

import argparse

from app.cli.arguments import Commands
from app.cli.commands import COMMANDS
from app.errors import NotFound
from app.rules.frame import load_rules
from app.settings import Settings


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser("explain", help=COMMANDS["explain"])
    parser.add_argument("code", metavar="CODE", help="as `hloscope rules` lists them")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print the rule's page."""
    del settings
    wanted = arguments.code.upper()
    for rule in load_rules():
        if rule.code == wanted:
            print(f"{rule.code} {rule.slug}: {rule.title}\n\n{rule.page.strip()}")
            return 0
    raise NotFound("no such rule", place=arguments.code, next_step="See `hloscope rules`.")
