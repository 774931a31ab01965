"""The lower part of the terminal text: loops, collectives, memory, passes, environment.

Takes a report whose texts are already legible. Tables are cut to what a reader scrolls through;
what is left out is counted.
"""

import itertools

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.model.report import Collective, Coverage, Loop, Module, Report
from app.report.inventory import all_was_read
from app.report.loops import loop_story
from app.report.passes import events_by_dump
from app.report.program_facts import (
    axes_text,
    heaviest,
    kind_text,
    line_text,
    meshes_text,
    of_the_program,
    sends_text,
    total_text,
)
from app.report.terminal_columns import indented, table_of
from app.report.terminal_memory import print_memory
from app.report.verdict import (
    is_beside_the_failure,
    main_module,
    releases_text,
    target_text,
)
from app.report.wording import (
    counted,
    counts_text,
    file_name,
    numbered_pass,
    place_text,
    size_text,
)

_MAX_LOOPS = 20
_MAX_COLLECTIVES = 10
_MAX_PASSES = 30
_MAX_LISTED = 5


def print_tables(report: Report, console: Console) -> None:
    """Print what stands below the findings."""
    _print_loops(report, console)
    _print_collectives(report, console)
    module = main_module(report)
    if not is_beside_the_failure(report, module):
        print_memory(report, module, console)
    if module is not None:
        _print_passes(module, report.loops, console)
    _print_environment(report, module, console)
    _print_input(report, console)


def print_heading(text: str, console: Console) -> None:
    """A heading with a blank line before it."""
    console.print()
    console.print(Text(text, style="bold underline"))


def _print_loops(report: Report, console: Console) -> None:
    if not report.loops:
        return
    loops = of_the_program(report, report.loops)
    print_heading(f"Loops ({len(loops):,})", console)
    rows = [
        (
            Text(loop.name, style="bold"),
            Text(place_text(loop.source) if loop.source else "-"),
            Text("?" if loop.trip_count is None else f"{loop.trip_count:,}"),
            Text(counts_text(loop.collectives) or "-"),
            Text(loop_story(loop)),
        )
        for loop in loops[:_MAX_LOOPS]
    ]
    if rows:
        columns = ("loop", "line", "trips", "collectives", "what happened")
        console.print(table_of(columns, rows, console.width))
    _print_left_out(len(loops), _MAX_LOOPS, "loops", console)
    _print_small(len(report.loops) - len(loops), "loop", console)


def _print_collectives(report: Report, console: Console) -> None:
    if not report.collectives:
        return
    collectives = of_the_program(report, report.collectives)
    print_heading(f"Collectives ({len(collectives):,})", console)
    rows = [
        (
            Text(_named(item), style="bold"),
            Text(axes_text(item) or "-"),
            Text(sends_text(item)),
            Text(total_text(item)),
            Text(line_text(item) or "-"),
        )
        for item in heaviest(collectives)[:_MAX_COLLECTIVES]
    ]
    if rows:
        columns = ("collective", "mesh axis", "sends", "in one run", "line")
        console.print(table_of(columns, rows, console.width))
    _print_left_out(len(collectives), _MAX_COLLECTIVES, "collectives", console)
    _print_small(len(report.collectives) - len(collectives), "collective", console)


def _named(item: Collective) -> str:
    """The name, of a fusion with what runs inside."""
    return f"{item.instruction}, {kind_text(item)}" if item.fused else item.instruction


def _print_passes(module: Module, loops: tuple[Loop, ...], console: Console) -> None:
    events = {
        position: telling
        for position, found in sorted(events_by_dump(module.id, loops).items())
        if position and (telling := [event for event in found if event.group != "minor"])
    }
    total = counted(len(module.dumps), "text")
    if not events:
        print_heading(f"Passes of {module.name} ({total})", console)
        console.print(indented(Text("No pass changed the structure of a loop.")))
        return
    print_heading(f"Passes of {module.name} that changed loops ({total})", console)
    rows: list[tuple[Text, Text, Text]] = []
    for position, found in itertools.islice(events.items(), _MAX_PASSES):
        dump = module.dumps[position]
        what = Text("\n").join(
            Text.assemble(
                f"{event.word} ", (event.loops, "bold"), f": {event.detail}" if event.detail else ""
            )
            for event in found
        )
        rows.append((Text(numbered_pass(dump)), Text(f"{dump.instructions:,}"), what))
    columns = ("after", "instructions", "what it did")
    console.print(table_of(columns, rows, console.width, numbers=("instructions",)))
    _print_left_out(len(events), _MAX_PASSES, "passes", console)


def _print_environment(report: Report, module: Module | None, console: Console) -> None:
    print_heading("Environment", console)
    environment = report.environment
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(overflow="fold")
    jaxlib = environment.jaxlib
    releases = releases_text(jaxlib.releases) or "unknown"
    rows.add_row("jaxlib", Text(f"{releases}: {jaxlib.how}" if jaxlib.how else releases))
    rows.add_row("target", Text(target_text(environment) or "unknown"))
    meshes = meshes_text(report.meshes, module.id) if module else ""
    if meshes:
        rows.add_row("devices", Text(meshes))
    flags = [f"{name}={value}" for name, value in sorted(environment.flags.items())]
    source = f" ({', '.join(environment.flags_from)})" if environment.flags_from else ""
    rows.add_row("flags", Text(f"{counted(len(flags), 'flag')} known{source}"))
    console.print(indented(rows))


def _print_input(report: Report, console: Console) -> None:
    coverage = report.coverage
    print_heading("Input", console)
    console.print(
        indented(
            Text(
                f"{report.input.name}: {counted(coverage.files, 'file')}, "
                f"{size_text(coverage.bytes)}, {counted(coverage.hlo_files, 'HLO text')}, "
                f"{counted(coverage.lines, 'line')}"
            )
        )
    )
    roles = [module.role for module in report.modules]
    folded = {"helper": "small module", "autotuning": "autotuning fragment"}
    for role, noun in folded.items():
        if role in roles:
            plural = noun.replace("module", "modules") if role == "helper" else ""
            console.print(indented(Text(counted(roles.count(role), noun, plural))))
    for remark in coverage.remarks:
        console.print(indented(Text(f"remark: {remark}")))
    _print_not_understood(coverage, console)


def _print_not_understood(coverage: Coverage, console: Console) -> None:
    unparsed = coverage.unparsed_lines
    skipped = coverage.skipped_count
    if not unparsed and not skipped:
        console.print(indented(Text(all_was_read(coverage))))
        return
    if unparsed:
        console.print(indented(Text(f"{counted(unparsed, 'line')} not understood:")))
        for line in coverage.unparsed[:_MAX_LISTED]:
            place = f"{file_name(line.file)}:{line.line}:{line.column}"
            console.print(indented(Text(f"{place}: {line.reason}", overflow="fold"), 4))
        _print_left_out(unparsed, min(_MAX_LISTED, len(coverage.unparsed)), "lines", console)
    if skipped:
        console.print(indented(Text(f"{counted(skipped, 'file')} left out or read in part:")))
        for item in coverage.skipped[:_MAX_LISTED]:
            console.print(indented(Text(f"{item.name}: {item.reason}", overflow="fold"), 4))
        _print_left_out(skipped, min(_MAX_LISTED, len(coverage.skipped)), "files", console)


def _print_left_out(total: int, shown: int, noun: str, console: Console) -> None:
    if total > shown:
        console.print(indented(Text(f"and {total - shown:,} more {noun}", style="dim"), 4))


def _print_small(count: int, noun: str, console: Console) -> None:
    if count:
        where = "in small modules"
        console.print(indented(Text(f"{counted(count, noun)} more {where}", style="dim"), 4))
