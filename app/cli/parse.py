"""`hloscope parse FILE...`: what each module holds, and what was not understood in it."""

import argparse

import msgspec

from app.cli.arguments import Commands
from app.cli.commands import COMMANDS
from app.cli.complaints import complain
from app.cli.inputs import module_in
from app.cli.output import write_output
from app.settings import Settings
from hlo_parser import HloSyntaxError, Module


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "parse",
        help=COMMANDS["parse"],
        description="Reads modules, as text or proto, and prints a line of each. Exits with 3 if "
        "one is no HLO.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="HLO text or proto (- is stdin)")
    parser.add_argument("--strict", action="store_true", help="refuse what XLA refuses as syntax")
    parser.add_argument("--json", metavar="FILE", help="write the modules as JSON (- is stdout)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print one line a file; 3 when a file is no HLO or, with --strict, has a syntax error."""
    del settings
    modules: list[tuple[str, Module]] = []
    failed = False
    for name in arguments.files:
        try:
            modules.append((name, module_in(name, strict=arguments.strict)))
        except HloSyntaxError as error:
            complain(f"{name}: {error}")
            failed = True
    if arguments.json:
        described = [_described(name, module) for name, module in modules]
        data = msgspec.json.format(msgspec.json.encode(described), indent=1)
        write_output(arguments.json, data + b"\n")
    if arguments.json != "-":
        for name, module in modules:
            _print_module(name, module)
    return 3 if failed else 0


def _print_module(name: str, module: Module) -> None:
    print(
        f"{name}: module {module.name}, {len(module.computations)} computations, "
        f"{module.instruction_count} instructions, entry {module.entry.name}, "
        f"{len(module.unparsed)} places not understood"
    )
    for place in module.unparsed:
        print(f"  {place.span.line}:{place.span.column}: {place.reason}: {place.text!a}")


def _described(name: str, module: Module) -> dict[str, object]:
    return {
        "file": name,
        "name": module.name,
        "entry": module.entry.name,
        "is_scheduled": module.header.is_scheduled,
        "num_partitions": module.header.num_partitions,
        "replica_count": module.header.replica_count,
        "computations": [
            {
                "name": computation.name,
                "line": module.first_line(computation),
                "instructions": [
                    {
                        "name": i.name,
                        "opcode": i.opcode,
                        "shape": i.shape.text,
                        "operands": list(i.operands),
                        "line": module.line_of(computation, i),
                    }
                    for i in computation.instructions
                ],
            }
            for computation in module.computations
        ],
        "unparsed": [
            {"line": u.span.line, "column": u.span.column, "text": u.text, "reason": u.reason}
            for u in module.unparsed
        ],
    }
