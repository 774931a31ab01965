"""Lines of the user's program, as callers that may read files hand them to a rendering.

They are cut here as Python counts them, so that a line of a dump is that line of the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Snippet:
    """Lines around a place; `first_line` is the 1-based number of the first of them.

    `file` is the path that was read: a file of that name nearby, not surely the one compiled.
    """

    first_line: int
    lines: tuple[str, ...]
    file: str = ""


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A file of the user's program; `origin` says what was read, which bears its name at least."""

    lines: tuple[str, ...]
    origin: str


def lines_of_program(text: str) -> tuple[str, ...]:
    """The lines of a source file as Python counts them: a form feed, say, ends none.

    The ends of lines are those of cpython/Parser/tokenizer: LF, CR LF and CR.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return tuple(lines if lines[-1] else lines[:-1])


SourceLines = Mapping[tuple[str, int], Snippet]
"""Snippets by file and line, as a `Source` of the report names them."""

NO_SOURCE_LINES: SourceLines = {}
