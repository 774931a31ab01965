"""`hloscope diff A B`: what differs between two module texts, computation by computation."""

import argparse

from app.analysis.diff import diff_modules
from app.cli.arguments import Commands
from app.cli.commands import COMMANDS
from app.cli.inputs import read_input
from app.errors import NotADump
from app.report.diff_text import difference_lines
from app.settings import Settings
from app.views.pass_diff import diff_view
from hlo_parser import HloSyntaxError, Interner, Module, parse_module


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "diff",
        help=COMMANDS["diff"],
        description="Prints what differs between two module texts, as between those before and "
        "after a pass. Exits with 0 also when they differ. For whole dumps there is compare.",
    )
    parser.add_argument("before", metavar="A", help="HLO text (- is stdin)")
    parser.add_argument("after", metavar="B", help="HLO text")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print the difference; 0 also when the modules differ."""
    del settings
    interner = Interner()
    before = _module(arguments.before, interner)
    after = _module(arguments.after, interner)
    for line in difference_lines(diff_view(before, after, diff_modules(before, after))):
        print(line)
    return 0


def _module(name: str, interner: Interner) -> Module:
    try:
        return parse_module(read_input(name), interner=interner)
    except HloSyntaxError as error:
        raise NotADump(
            str(error), place=name, next_step="Give an HLO module in text form."
        ) from error
