"""The computations of one dump: what a reader jumps by."""

from app.model.report import Struct
from app.views.cut import Cut, shown_name
from hlo_parser import Module

MAX_COMPUTATIONS = 2_000


class ComputationRow(Struct, frozen=True, kw_only=True):
    """One computation: where it starts (1-based), how long it is, and who calls it how often."""

    name: str
    first_line: int
    lines: int
    instructions: int
    is_entry: bool = False
    callers: int = 0


class Outline(Struct, frozen=True, kw_only=True):
    """The computations in text order; `total` counts those left out too."""

    total: int
    computations: tuple[ComputationRow, ...]
    cut: Cut | None = None


def outline(module: Module, *, containing: str = "") -> Outline:
    """The computations whose name contains `containing`, whatever its case."""
    needle = containing.lower()
    matching = [item for item in module.computations if needle in item.name.lower()]
    rows = tuple(
        ComputationRow(
            name=shown_name(item.name),
            first_line=module.first_line(item),
            lines=item.line_count,
            instructions=len(item.instructions),
            is_entry=item.is_entry,
            callers=len(module.callers(item.name)),
        )
        for item in matching[:MAX_COMPUTATIONS]
    )
    cut = None
    if len(rows) < len(matching):
        cut = Cut(
            shown=len(rows), total=len(matching), next_step="Narrow it to a part of the name."
        )
    return Outline(total=len(matching), computations=rows, cut=cut)
