"""Faults of XLA that are known upstream, and the first jaxlib release that holds the fix.

A release holds a fix when the history of its pinned XLA commit does (git ancestry); the commits
stand in the table.
"""

from dataclasses import dataclass
from functools import cache

from app.knowledge.tables import read_rows
from app.model.report import Upstream


@dataclass(frozen=True, slots=True)
class Fix:
    """One fault: public thread `ref`, XLA commit of the fix, first release with it.

    `fixed_in` is a release, or `before R`/`after R` where the table ends; `affects` says in words
    which releases have the fault and which fault it is.
    """

    ref: str
    fixed_in: str
    affects: str
    commit: str
    source: str


def upstream(*refs: str) -> tuple[Upstream, ...]:
    """What is known of public threads (`openxla/xla#14332`), for a finding; all refs are kept."""
    return tuple(_upstream(ref) for ref in refs)


def fix_of(ref: str) -> Fix | None:
    """The fix of a public thread, None when no release is known to hold one."""
    return fixes().get(ref)


@cache
def fixes() -> dict[str, Fix]:
    """All fixes by their public thread."""
    return {
        ref: Fix(ref, fixed_in, affects, commit, source)
        for ref, fixed_in, affects, commit, source in read_rows("fixes.tsv")
    }


def _upstream(ref: str) -> Upstream:
    fix = fix_of(ref)
    if fix is None:
        return Upstream(ref=ref)
    return Upstream(ref=ref, fixed_in=fix.fixed_in, affects=fix.affects)
