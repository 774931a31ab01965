"""`hloscope policy DUMP --file FILE`: holds a dump against limits and expectations, for CI."""

import argparse
from pathlib import Path

from app.analysis.policy_file import read_policy
from app.cli.arguments import Commands
from app.cli.commands import COMMANDS
from app.cli.inputs import read_input
from app.cli.output import console_for_report, write_json, write_output
from app.cli.output_files import check_outputs
from app.errors import NotADump, UsageError
from app.report.comparison_policy import policy_markdown, policy_sheet
from app.report.comparison_text import print_sheet
from app.service import check_policy
from app.settings import Settings


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "policy",
        help=COMMANDS["policy"],
        description="Holds a dump, or a report written by analyze --json, against the checks of a "
        "TOML file: limits on collectives, memory, copies, time waited for and products, alone or "
        "against a baseline; loops that stay pipelined; lines that may not reshard. Exits with 1 "
        "when a check fails or cannot be told.",
    )
    parser.add_argument("dump", metavar="DUMP")
    parser.add_argument("--file", required=True, metavar="FILE", help="the policy, as TOML")
    parser.add_argument("--baseline", metavar="DUMP", help="a dump or report to compare with")
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON (- is stdout)")
    parser.add_argument("--markdown", metavar="FILE", help="write the table as Markdown")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print the table; 1 when a check fails."""
    if arguments.json == arguments.markdown == "-":
        raise UsageError("only one output can go to standard output")
    check_outputs(arguments.json, arguments.markdown)
    checks = read_policy(_text(arguments.file), arguments.file)
    baseline = Path(arguments.baseline) if arguments.baseline else None
    result = check_policy(Path(arguments.dump), checks, settings, baseline=baseline)
    if arguments.json:
        write_json(arguments.json, result)
    if arguments.markdown:
        text = "\n".join(policy_markdown(result))
        write_output(arguments.markdown, f"{text}\n".encode("utf-8", "backslashreplace"))
    taken = "-" in (arguments.json, arguments.markdown)
    print_sheet(policy_sheet(result), console_for_report(stdout_is_taken=taken))
    return 0 if result.passed else 1


def _text(name: str) -> str:
    try:
        return read_input(name).decode()
    except UnicodeDecodeError as error:
        raise NotADump("it is not UTF-8", place=name, next_step="Give a TOML file.") from error
