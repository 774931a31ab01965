"""`hloscope compare A B ...`: what differs between two dumps, or between the ranks of one run."""

import argparse
from pathlib import Path

from app.analysis.ranks_numbers import rank_numbers
from app.cli.analyze import log_of
from app.cli.arguments import Commands
from app.cli.commands import COMMANDS
from app.cli.inputs import text_or_file
from app.cli.output import console_for_report, write_json
from app.cli.output_files import check_outputs
from app.errors import NotADump, UsageError
from app.model.ranks import RankComparison
from app.report.comparison import comparison_sheet
from app.report.comparison_ranks import ranks_sheet
from app.report.comparison_text import print_sheet
from app.service import Question, compare_dumps, compare_rank_dumps
from app.settings import Settings
from app.views.comparison import ComparisonView


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "compare",
        help=COMMANDS["compare"],
        description="Compares two dumps of one program: two releases, two sets of flags, two "
        "versions. Each is what analyze takes, or a report it wrote with --json. Three and more "
        "dumps are taken for the ranks of one run, numbered as in their names or in this order. "
        "Exits with 0 also when they differ.",
    )
    parser.add_argument("dumps", nargs="+", metavar="DUMP")
    parser.add_argument(
        "--rank-pattern",
        metavar="REGEX",
        help="compare as ranks; the first group finds the rank's number in a dump's path",
    )
    for side in "ab":
        parser.add_argument(
            f"--log-{side}", action="append", default=[], metavar="FILE", help="log of that run"
        )
        parser.add_argument(
            f"--flags-{side}", default="", metavar="TEXT|@FILE", help="XLA_FLAGS of that run"
        )
    parser.add_argument("--json", metavar="FILE", help="write the comparison as JSON (- is stdout)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print what differs; 0 also when the dumps differ."""
    names: list[str] = arguments.dumps
    for name in names:
        if not Path(name).exists():
            raise NotADump("no such file or folder", place=name, next_step="Check the path.")
    if len(names) < 2:
        raise UsageError("there is nothing to compare with", next_step="Give two dumps or more.")
    check_outputs(arguments.json)
    found: ComparisonView | RankComparison
    if len(names) > 2 or arguments.rank_pattern is not None:
        numbers = rank_numbers(names, arguments.rank_pattern)
        ranks = dict(zip(numbers, map(Path, names), strict=True))
        found = compare_rank_dumps(ranks, settings)
        sheet = ranks_sheet(found)
    else:
        questions = _question(arguments, "a"), _question(arguments, "b")
        a, b = map(Path, names)
        found = compare_dumps(a, b, settings, questions=questions)
        sheet = comparison_sheet(found)
    if arguments.json:
        write_json(arguments.json, found)
    print_sheet(sheet, console_for_report(stdout_is_taken=arguments.json == "-"))
    return 0


def _question(arguments: argparse.Namespace, side: str) -> Question:
    given = vars(arguments)
    logs: list[str] = given[f"log_{side}"]
    return Question(logs=tuple(map(log_of, logs)), flags=text_or_file(given[f"flags_{side}"]))
