"""The user's program as the report shows it: its lines, and what a compile made of each.

The field names are keys of the JSON contract, as in `report.py`. Sizes are bytes; positions are
those of the module's dumps.
"""

from app.model.source import Struct


class SourceLine(Struct, frozen=True, kw_only=True):
    """What one line became in the text at position `dump` of its `ProgramLines`.

    `instructions` state the line themselves, of `inferred` ones it is inferred. Figures are of one
    execution of the module: `flops` of products, `bytes` read and written by what is not inside a
    fusion, `collectives` begun and the `collective_bytes` they send. With `at_least` a loop around
    has no known trip count and counts as one iteration. `texts` says how many instructions state
    the line in the texts: pairs of a position and the count from there on, where that changes.
    """

    line: int
    function: str | None = None
    instructions: int = 0
    inferred: int = 0
    flops: int = 0
    bytes: int = 0
    collectives: int = 0
    collective_bytes: int = 0
    at_least: bool = False
    texts: tuple[tuple[int, int], ...] = ()


class SourceFile(Struct, frozen=True, kw_only=True):
    """A file of the program as the dump names it, with the lines that became something."""

    file: str
    lines: tuple[SourceLine, ...]


class ProgramLines(Struct, frozen=True, kw_only=True):
    """The program behind one module, the files with most instructions first, lines in order.

    `lines_left_out` are those of very many with the fewest instructions; `unplaced` are
    instructions that no line is known of.
    """

    module: str
    dump: int
    files: tuple[SourceFile, ...] = ()
    lines_left_out: int = 0
    unplaced: int = 0
