"""Which passes exist in which release, and which pass the code of a C++ file belongs to.

The names found in XLA's sources and in real dumps are one table, what passes are for another; a
hand-written one leads from file to pass where the pass is not simply called like the file. Code
that serves every pass (verifier, shapes, literals) belongs to none.
"""

import re
from dataclasses import dataclass
from functools import cache

from app.knowledge.check_sites import condition_digest
from app.knowledge.releases import release_key
from app.knowledge.tables import read_rows

_DASHED = re.compile(r"\b[a-z]\w{1,40}(?:-\w{1,40}){1,8}\b")


@dataclass(frozen=True, slots=True)
class PassSpan:
    """Releases known to have a pass; both ends are bounds of what was seen, not of its life.

    Names that XLA builds at run time stand in no source, so a release outside may well have it.
    """

    first: str
    last: str


def pass_releases(name: str) -> PassSpan | None:
    """The releases in whose sources or dumps the pass was seen, None when in none."""
    return _spans().get(name)


def passes_named(text: str) -> tuple[str, ...]:
    """The passes that a text names, in order; of names that are one plain word none is taken."""
    found = (name.removeprefix("before_").removeprefix("after_") for name in _DASHED.findall(text))
    return tuple(name for name in found if name in _spans())


def first_release_of_pass(name: str) -> str | None:
    """The first release whose source names the pass, None where no source does.

    A pass that an older dump was seen to hold is built at run time there: then it is None, too.
    """
    span, first = _spans().get(name), _firsts().get(name)
    if span is None or first is None or release_key(span.first) < release_key(first):
        return None
    return first


def purpose_of_pass(name: str) -> str | None:
    """What a pass is for, in words that go on after its name; None where no one wrote it down."""
    bare = name.replace("_", "-").removeprefix("gpu-").removeprefix("tpu-")
    return _purposes().get(bare) or _purposes().get(_BEHIND_A_NAME.sub("", bare))


def passes_of_file(file: str, condition: str | None = None) -> tuple[str, ...]:
    """XLA's names of the passes that run the code of `file`, the likeliest first.

    Args:
        file: base name of the C++ file of a failed check.
        condition: the condition that failed; in a file that serves several passes it may tell
            which one it was (the direction of the collective pipeliner).

    Returns:
        An empty tuple for a file that belongs to no pass or is not known.
    """
    owners = _owners().get(file)
    if owners is not None:
        known = owners.get(condition_digest(condition)) if condition else None
        return owners.get("", ()) if known is None else known
    stem = file.rsplit(".", 1)[0]
    return tuple(name for name in _spellings(stem) if name in _spans())


def is_outside_passes(file: str) -> bool:
    """Whether the code of `file` runs only when all passes are over (buffer assignment)."""
    return file in _AFTER_PASSES


# Directions and numbers of passes that run several times.
_BEHIND_A_NAME = re.compile(r"-(?:forward|backward|forward-sink|\d{1,3})$")
# Other files without a pass serve all of them.
_AFTER_PASSES = frozenset({"heap_simulator.cc", "buffer_assignment.cc"})


def _spellings(stem: str) -> tuple[str, ...]:
    # Most passes are called like their file; the hardware prefix came and went.
    bare = stem.removeprefix("gpu_")
    words = (stem, bare, f"gpu_{bare}")
    spelled = (word for name in words for word in (name.replace("_", "-"), name))
    return tuple(dict.fromkeys(spelled))


@cache
def _spans() -> dict[str, PassSpan]:
    spans: dict[str, PassSpan] = {}
    for name, first_in_source, seen_in_dumps in read_rows("passes_by_release.tsv.xz"):
        seen = sorted((*first_in_source.split(), *seen_in_dumps.split()), key=release_key)
        spans[name] = PassSpan(seen[0], seen[-1])
    return spans


@cache
def _purposes() -> dict[str, str]:
    return dict(row for row in read_rows("passes_for_what.tsv"))


@cache
def _firsts() -> dict[str, str]:
    rows = read_rows("passes_by_release.tsv.xz")
    return {name: first.split()[0] for name, first, _ in rows if first.strip()}


@cache
def _owners() -> dict[str, dict[str, tuple[str, ...]]]:
    owners: dict[str, dict[str, tuple[str, ...]]] = {}
    for file, condition, passes, _ in read_rows("passes_of_files.tsv"):
        key = condition_digest(condition) if condition else ""
        owners.setdefault(file, {})[key] = tuple(passes.split())
    return owners
