"""The experiments of a replay as terminal text: one table a question, notes below their rows."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.model.experiments import Replay
from app.report.experiments import ExperimentGroup, ExperimentRow, replay_view
from app.report.terminal_columns import Trimmed, indented

_STYLES = {"compiles": "green", "same-signature": "red"}

_LEAST_WIDTH_OF_FIGURES = 130


def print_replay(replay: Replay, console: Console) -> None:
    """Print all that was tried; the texts are legible already and printed as text."""
    view = replay_view(replay)
    console.print()
    console.print(Text(view.heading, style="bold underline"))
    for line in view.lines:
        console.print(indented(Text(line, overflow="fold")))
    for group in view.groups:
        _print_group(group, console)
    if view.reduced:
        console.print(indented(Text(f"{view.reduced}: {view.reduced_name}")))
    for command in view.commands:
        # On one line of its own, however long: it is there to be copied.
        console.print(Text(f"    {command}", style="green"), soft_wrap=True)
    console.print(indented(Text(view.limits, style="dim")))


def _figures(row: ExperimentRow) -> str:
    peak = f", peak {row.peak}" if row.peak else ""
    return f"{row.work}, collectives {row.collectives}{peak}"


def _print_group(group: ExperimentGroup, console: Console) -> None:
    # Where the terminal is narrow the figures stand below the name, so that a flag stays whole.
    is_wide = console.width >= _LEAST_WIDTH_OF_FIGURES
    is_weighed = is_wide and group.is_weighed
    table = Table(box=SIMPLE_HEAD, title=group.title, title_justify="left", pad_edge=True)
    for heading in ("change", "outcome", *(("work", "sends", "peak") if is_weighed else ())):
        table.add_column(heading, overflow="fold")
    for row in group.rows:
        name = Text(row.name, style="bold")
        figures = "" if is_wide or not row.work else _figures(row)
        for words in (row.words, figures, *row.notes):
            if words:
                name.append(f"\n{words}", style="none")
        cells = [name, Text(row.outcome, style=_STYLES.get(row.outcome_kind, ""))]
        if is_weighed:
            cells += [Text(cell) for cell in (row.work, row.collectives, row.peak)]
        table.add_row(*cells)
    console.print(Trimmed(table))
