"""`hloscope rules`: every rule with its code and title."""

import argparse

from app.cli.arguments import Commands
from app.cli.commands import COMMANDS
from app.rules.frame import load_rules
from app.settings import Settings


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    commands.add_parser("rules", help=COMMANDS["rules"]).set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print one line a rule."""
    del arguments, settings
    for rule in load_rules():
        print(f"{rule.code}  {rule.slug:34}  {rule.title}")
    return 0
