"""Which file and line of a program an address means that names one the report knows nothing of.

Takes a place and the lines that texts have and gives the nearest place with what was not found, in
words. A line is kept as it is asked for: that nothing came of it is an answer, too.
"""

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches

from app.analysis.source_figures import Line
from app.report.wording import file_name, legible, shortened

_MOST_CHARACTERS = 120
_MOST_FILES = 200


@dataclass(frozen=True, slots=True)
class Nearest:
    """The file to show and what was not found ("" for nothing); `line` is the nearest, 0 for none.

    `line` is 0 too where the one that is asked for is known.
    """

    file: str
    missing: str = ""
    line: int = 0


NOTHING_MISSING = Nearest("")


def nearest_of(file: str, line: int, known: Collection[Line]) -> Nearest:
    """What stands for `file` and `line` ("" and 0 for none asked for) among the `known` lines."""
    files = tuple(sorted({each for each, _ in known}))
    if not file or not files:
        return Nearest(file)
    if file not in files:
        shown = _nearest_file(file, files)
        return Nearest(shown, legible(_missing(file, files, shown)))
    lines = [number for each, number in known if each == file]
    if not line or line in lines:
        return Nearest(file)
    nearest = min(lines, key=lambda number: (abs(number - line), number))
    name = _short(file_name(file))
    missing = f"The report knows no instruction that states line {line:,} of {name}."
    return Nearest(file, legible(missing), nearest)


def _missing(file: str, files: tuple[str, ...], shown: str) -> str:
    what = f"The report knows no instruction that states a line of {_short(file)}."
    where = f", of {len(files):,} files the nearest by name" if len(files) > 1 else ""
    name = shown if file_name(shown) == file_name(file) else file_name(shown)
    return f"{what} Shown is {_short(name)}{where}."


def _nearest_file(asked: str, files: tuple[str, ...]) -> str:
    """One with the same name in another folder, else one with a name like it, else the first."""
    name = file_name(asked)
    same = next((file for file in files if file_name(file) == name), None)
    if same is not None:
        return same
    # Likeness is reckoned letter by letter: names of any length would take any time.
    names = {file_name(file)[:_MOST_CHARACTERS]: file for file in reversed(files[:_MOST_FILES])}
    alike = get_close_matches(name[:_MOST_CHARACTERS], names, n=1, cutoff=0.0)
    return names[alike[0]] if alike else files[0]


def _short(name: str) -> str:
    return shortened(name, _MOST_CHARACTERS)
