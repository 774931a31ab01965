"""`hloscope compare A B`: what differs between two dumps, and which pass parts them."""

import argparse
from pathlib import Path

import msgspec

from app.cli.arguments import Commands
from app.cli.output import console_for_report, write_output
from app.report.comparison import comparison_sheet
from app.report.comparison_text import print_sheet
from app.service import compare_dumps
from app.settings import Settings


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "compare",
        help="compare two dumps",
        description="Compares two dumps of one program: two releases, two sets of flags, two "
        "versions. A and B are what analyze takes, or reports it wrote with --json.",
    )
    parser.add_argument("dumps", nargs="+", metavar="DUMP")
    parser.add_argument("--json", metavar="FILE", help="write the comparison as JSON (- is stdout)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print what differs; 0 also when the dumps differ."""
    a, b = map(Path, arguments.dumps)
    view = compare_dumps(a, b, settings)
    if arguments.json:
        data = msgspec.json.format(msgspec.json.encode(view, order="deterministic"), indent=1)
        write_output(arguments.json, data + b"\n")
    print_sheet(comparison_sheet(view), console_for_report(stdout_is_taken=arguments.json == "-"))
    return 0
