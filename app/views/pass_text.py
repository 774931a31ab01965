"""The text of one dump, a window of numbered lines at a time."""

from app.errors import NotFound
from app.model.report import Struct
from app.views.cut import Cut, shown_text
from hlo_parser import Module

MAX_LINES = 5_000
MAX_LINE_CHARACTERS = 4_000
MAX_CHARACTERS = 2_000_000


class TextLine(Struct, frozen=True, kw_only=True):
    """One line: `number` is 1-based, `left_out` the characters cut from its end."""

    number: int
    text: str
    left_out: int = 0


class PassText(Struct, frozen=True, kw_only=True):
    """Lines `first` to `first + len(lines) - 1` of `total_lines`.

    `first` may be smaller than asked for, where the text ends before; `cut` is there only when
    the window itself was larger than the limits.
    """

    first: int
    total_lines: int
    lines: tuple[TextLine, ...]
    cut: Cut | None = None


def pass_text(text: str, *, first: int = 1, count: int = 1_000) -> PassText:
    """The window of `count` lines from line `first` on, as far as the text and the limits go.

    Only a line feed ends a line, as for the parser, so that line numbers agree everywhere.
    """
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    total = len(lines)
    first = max(1, min(first, total))
    wanted = lines[first - 1 : first - 1 + max(0, count)]
    shown: list[TextLine] = []
    room = MAX_CHARACTERS
    for number, line in enumerate(wanted[:MAX_LINES], first):
        kept, left_out = shown_text(line, MAX_LINE_CHARACTERS)
        room -= len(kept)
        if room < 0:
            break
        shown.append(TextLine(number=number, text=kept, left_out=left_out))
    cut = None
    if len(shown) < len(wanted):
        cut = Cut(
            shown=len(shown),
            total=len(wanted),
            next_step=f"Ask for lines from {first + len(shown)} on.",
        )
    return PassText(first=first, total_lines=total, lines=tuple(shown), cut=cut)


def line_of(module: Module, computation: str, instruction: str | None = None) -> int:
    """The 1-based line where a computation starts, or where one of its instructions stands.

    Raises:
        NotFound: the module has no such computation, or that no such instruction.
    """
    found = module.get(computation)
    if found is None:
        raise NotFound(f"there is no computation {computation!r}", place=module.name)
    if instruction is None:
        return module.first_line(found)
    line = found.get(instruction)
    if line is None:
        raise NotFound(f"there is no instruction {instruction!r}", place=computation)
    return module.line_of(found, line)
