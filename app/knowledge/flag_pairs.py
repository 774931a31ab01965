"""Settings that work against each other, and the nearest names of a flag that nobody knows."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from app.knowledge.flag_spellings import flag_as_set, setting
from app.knowledge.flags import all_flags
from app.knowledge.tables import read_rows

_OFF = ("", "0", "false")


@dataclass(frozen=True, slots=True)
class FlagPair:
    """`flags` as they are set (`--name=value`), `tells` what comes of it, `source` who says so."""

    flags: tuple[str, ...]
    tells: str
    source: str


def pairs_at_odds(flags: Mapping[str, str]) -> Iterator[FlagPair]:
    """The pairs of the table that hold for `flags`, in whichever spelling these are.

    `flags` are names without dashes to values as written.
    """
    for given, other, tells, source in _rows():
        if _holds(given, flags) and (not other or _holds(other, flags)):
            named = [word.lstrip("!").partition("=")[0] for word in (given, other) if word]
            shown = (flag_as_set(flags, name) for name in named)
            yield FlagPair(tuple(filter(None, shown)), tells, source)


def nearest_flag(name: str) -> str | None:
    """The known flag that `name` was most likely meant to be, None where none is near."""
    return next(iter(difflib.get_close_matches(name, all_flags(), n=1, cutoff=0.85)), None)


def _holds(condition: str, flags: Mapping[str, str]) -> bool:
    name, _, wanted = condition.lstrip("!").partition("=")
    value = setting(flags, name)
    if condition.startswith("!"):
        return value not in (wanted, "1" if wanted == "true" else wanted)
    if value is None:
        return False
    if wanted == "*":
        return value.lower() not in _OFF
    listed = [word.strip() for word in value.split(",")]
    return wanted in listed or (wanted == "true" and value.lower() == "1")


@cache
def _rows() -> tuple[tuple[str, str, str, str], ...]:
    rows = read_rows("flag_pairs.tsv")
    return tuple((given, other, tells, source) for given, other, tells, source in rows)
