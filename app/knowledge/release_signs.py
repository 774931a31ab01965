"""What the form of a dump or of a message says of the release that wrote it.

The table is written by hand from dumps of known releases; finding the signs is analysis.
`PUBLISHED` holds more releases than the tables of sources cover: what is true of a neighbour of
such a release may be true of it.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from app.knowledge.check_sites import releases_of_check
from app.knowledge.flags import flag_releases
from app.knowledge.passes import first_release_of_pass
from app.knowledge.releases import ALL_RELEASES, PUBLISHED
from app.knowledge.tables import read_rows

Weight = Literal["strong", "fair", "weak"]


@dataclass(frozen=True, slots=True)
class ReleaseSign:
    """The sign holds in `releases` and in no other; `tells` says in words what was seen."""

    sign: str
    releases: frozenset[str]
    weight: Weight
    tells: str


@cache
def release_signs() -> dict[str, ReleaseSign]:
    """All signs by name."""
    return {
        sign: ReleaseSign(sign, _between(first, last), cast(Weight, weight), tells)
        for sign, first, last, weight, tells in read_rows("release_signs.tsv")
    }


def published_with_flag(flag: str, *, only_from: bool = False) -> frozenset[str] | None:
    """The published releases that may know `flag`, None where the tables do not hold it.

    With `only_from` a flag that was taken away counts as known for ever after.
    """
    span = flag_releases(flag)
    if span is None:
        return None
    known = _around(span.releases)
    newest = known[-1] if not only_from and span.last != ALL_RELEASES[-1] else PUBLISHED[-1]
    return _between(known[0], newest)


def published_without_flag(flag: str) -> frozenset[str] | None:
    """The published releases that may refuse `flag`, None where the tables do not hold it."""
    span = flag_releases(flag)
    if span is None:
        return None
    newer = PUBLISHED[PUBLISHED.index(ALL_RELEASES[-1]) :]
    return frozenset(_around(tuple(r for r in ALL_RELEASES if r not in span.releases))) | {
        *newer[1:]
    }


def published_with_pass(name: str) -> frozenset[str] | None:
    """The published releases that may have a pass: those from its first on."""
    first = first_release_of_pass(name)
    return None if first is None else _between(_around((first,))[0], "")


def published_with_check(file: str, condition: str, line: int | None) -> frozenset[str]:
    """The published releases that may hold a check, at `line` where given; empty if unknown."""
    return frozenset(_around(releases_of_check(file, condition, line)))


def _between(first: str, last: str) -> frozenset[str]:
    start = PUBLISHED.index(first) if first else 0
    end = PUBLISHED.index(last) + 1 if last else len(PUBLISHED)
    return frozenset(PUBLISHED[start:end])


def _around(releases: tuple[str, ...]) -> tuple[str, ...]:
    """`releases` and those without a column beside them, oldest first."""
    kept: set[int] = set()
    for release in releases:
        place = PUBLISHED.index(release)
        kept.add(place)
        for step in (-1, 1):
            beside = place + step
            while 0 <= beside < len(PUBLISHED) and PUBLISHED[beside] not in ALL_RELEASES:
                kept.add(beside)
                beside += step
    return tuple(PUBLISHED[place] for place in sorted(kept))
