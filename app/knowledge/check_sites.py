"""Looks up which releases hold a CHECK, RET_CHECK or LOG(FATAL), and at which lines.

The table holds digests, not code: the first 12 hex digits of the SHA-1 of the condition as a log
prints it, white space folded to one blank. A release is known by file, condition and line together;
a line alone gives false hits, since the same number stands in every file.
"""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache

from app.knowledge.releases import ALL_RELEASES, expand_span
from app.knowledge.tables import read_rows


def condition_digest(condition: str) -> str:
    """The key of a condition: `a == b` for CHECK_EQ(a, b), the values in brackets left out."""
    folded = " ".join(condition.split())
    return hashlib.sha1(folded.encode(), usedforsecurity=False).hexdigest()[:12]


def check_site_lines(file: str, condition: str) -> Mapping[str, tuple[int, ...]]:
    """Release to the lines at which `condition` is checked, oldest release first.

    Args:
        file: base name of the C++ file; moved files keep it.
        condition: as the log prints it, without values in brackets.
    """
    spans = _sites().get(file, {}).get(condition_digest(condition))
    if spans is None:
        return {}
    lines = {release: numbers for span in spans for release, numbers in _lines_of_span(span)}
    return {release: lines[release] for release in ALL_RELEASES if release in lines}


def releases_of_check(file: str, condition: str, line: int | None = None) -> tuple[str, ...]:
    """The releases in which `file` checks `condition`, at `line` where given; oldest first.

    Empty when the table does not know the check: a closed file, a newer or vendor build, a release
    between two columns. Vendor patches shift lines a little.
    """
    sites = check_site_lines(file, condition)
    return tuple(release for release, lines in sites.items() if line is None or line in lines)


def is_file_of_checks(file: str) -> bool:
    """Whether XLA has a C++ file of this base name, in any release, with a check in it."""
    return file in _sites()


def find_condition(file: str, text: str) -> str | None:
    """The condition of a check of `file` that `text` starts with, the longest if several.

    A log runs condition and message together with a blank between them
    (`!IsCublasLtGemm(*instruction) Gemm rewriting should run ...`); the table tells them apart.
    """
    known = _sites().get(file)
    if known is None:
        return None
    words = text.split()[:_MOST_WORDS]
    for end in range(len(words), 0, -1):
        candidate = " ".join(words[:end])
        if condition_digest(candidate) in known:
            return candidate
    return None


def files_with_check(text: str, shortest: int = 0) -> tuple[str, ...]:
    """The files that check what `text` starts with, the longest condition that any knows.

    A condition of fewer characters than `shortest` counts as none.
    """
    words = text.split()[:_MOST_WORDS]
    for end in range(len(words), 0, -1):
        condition = " ".join(words[:end])
        if len(condition) < shortest:
            break
        if files := _files_by_digest().get(condition_digest(condition)):
            return tuple(files)
    return ()


# The longest conditions are spread over four lines of 80 columns.
_MOST_WORDS = 64


@cache
def _sites() -> dict[str, dict[str, list[str]]]:
    # One condition may stand in a CHECK and a RET_CHECK of one file: its spans are joined.
    sites: dict[str, dict[str, list[str]]] = {}
    for file, _, digest, spans in read_rows("check_sites.tsv.xz"):
        sites.setdefault(file, {}).setdefault(digest, []).extend(spans.split(" "))
    return sites


@cache
def _files_by_digest() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for file, conditions in _sites().items():
        for digest in conditions:
            found.setdefault(digest, []).append(file)
    return found


def _lines_of_span(span: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    # `0.4.14=840/1192` or `0.4.29..0.4.30=675`
    releases, _, numbers = span.partition("=")
    lines = tuple(int(number) for number in numbers.split("/"))
    return ((release, lines) for release in expand_span(releases))
