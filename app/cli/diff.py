"""`hloscope diff A B`: what differs between two modules, computation by computation."""

import argparse

from app.analysis.diff import diff_modules
from app.cli.arguments import Commands
from app.cli.commands import COMMANDS
from app.cli.inputs import module_in
from app.errors import NotADump
from app.report.diff_text import difference_lines
from app.settings import Settings
from app.views.pass_diff import diff_view
from hlo_parser import HloSyntaxError, Interner, Module


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "diff",
        help=COMMANDS["diff"],
        description="Prints what differs between two modules, as between those before and "
        "after a pass. Exits with 0 also when they differ. For whole dumps there is compare.",
    )
    parser.add_argument("before", metavar="A", help="HLO text or proto (- is stdin)")
    parser.add_argument("after", metavar="B", help="HLO text or proto")
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
        return module_in(name, interner=interner)
    except HloSyntaxError as error:
        raise NotADump(
            str(error), place=name, next_step="Give an HLO module, as text or proto."
        ) from error
