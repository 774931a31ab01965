"""`hloscope diff A B`: what differs between two module texts, computation by computation."""

import argparse
from pathlib import Path

from app.analysis.diff import diff_modules
from app.cli.arguments import Commands
from app.errors import NotADump
from app.model.facts import ComputationDiff, ModuleDiff
from app.settings import Settings
from hlo_parser import HloSyntaxError, Interner, Module, parse_module

_MAX_LINES = 40


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser("diff", help="compare two module texts")
    parser.add_argument("before", metavar="A")
    parser.add_argument("after", metavar="B")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print the difference; 0 also when the modules differ."""
    del settings
    interner = Interner()
    before = _module(arguments.before, interner)
    after = _module(arguments.after, interner)
    for line in difference_lines(diff_modules(before, after)):
        print(line)
    return 0


def difference_lines(diff: ModuleDiff) -> list[str]:
    """The difference as lines of text; long lists are cut and the rest is counted."""
    lines = [f"{diff.unchanged} computations unchanged, {len(diff.computations)} differ"]
    for pair in diff.computations:
        lines += ["", f"{pair.before or '(none)'} -> {pair.after or '(none)'}  [{pair.how}]"]
        lines += _capped(_changes(pair))
    return lines


def _changes(pair: ComputationDiff) -> list[str]:
    return [
        *(f"  - {name}" for name in pair.removed),
        *(f"  + {name}" for name in pair.added),
        *(f"  ~ {c.before} -> {c.after}: {', '.join(c.what)}  [{c.how}]" for c in pair.changed),
        *(f"  = {old} -> {new}" for old, new in pair.renamed),
    ]


def _capped(lines: list[str]) -> list[str]:
    if len(lines) <= _MAX_LINES:
        return lines
    return [*lines[:_MAX_LINES], f"  ... and {len(lines) - _MAX_LINES} more"]


def _module(name: str, interner: Interner) -> Module:
    try:
        return parse_module(Path(name).read_bytes(), interner=interner)
    except OSError as error:
        raise NotADump(
            f"cannot read: {error.strerror}", place=name, next_step="Check the path."
        ) from error
    except HloSyntaxError as error:
        raise NotADump(
            str(error), place=name, next_step="Give an HLO module in text form."
        ) from error
