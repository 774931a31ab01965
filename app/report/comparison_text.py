"""A comparison's sheet as terminal text: badge, verdict, tables, the difference of the texts."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.report.comparison_sheet import Grid, Section, Sheet, Tone
from app.report.terminal_columns import Trimmed, indented, table_of
from app.report.terminal_tables import print_heading

_STYLES: dict[Tone, str] = {
    "clear": "bold",
    "note": "bold",
    "warning": "bold yellow",
    "error": "bold red",
}


def print_sheet(sheet: Sheet, console: Console) -> None:
    """Print all of it; text that came from a dump is printed as text, never as markup."""
    console.print(Text(f" {sheet.badge} ", style=f"{_STYLES[sheet.tone]} reverse"))
    console.print(Trimmed(Text(sheet.verdict, style="bold")))
    _print_facts(sheet.facts, console)
    for grid in sheet.grids:
        _print_grid(grid, console)
    for section in sheet.sections:
        _print_section(section, console)
    if sheet.notes:
        print_heading("Notes", console)
        for note in sheet.notes:
            console.print(indented(Text(note)))


def _print_section(section: Section, console: Console) -> None:
    print_heading(section.title, console)
    _print_facts(section.facts, console)
    for grid in section.grids:
        _print_grid(grid, console)
    if section.lines:
        console.print()
        for line in section.lines:
            console.print(indented(Text(line, overflow="fold")))


def _print_facts(facts: tuple[tuple[str, str], ...], console: Console) -> None:
    if not facts:
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in facts:
        table.add_row(Text(label), Text(value))
    console.print(indented(table))


def _print_grid(grid: Grid, console: Console) -> None:
    if not grid.rows:
        return
    console.print()
    if grid.heading:
        console.print(Text(grid.heading, style="bold"))
    rows = [tuple(map(Text, row)) for row in grid.rows]
    console.print(table_of(grid.columns, rows, console.width, numbers=grid.numbers))
    if grid.note:
        console.print(Text(f"  {grid.note}", style="dim"))
