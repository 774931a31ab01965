"""Which XLA flags exist in which jaxlib release.

The table comes from the flag definitions in XLA's sources (`xla/debug_options_flags.cc` and its
kin); libtpu's own flags are closed and not in it.
"""

from dataclasses import dataclass
from functools import cache

from app.knowledge.releases import ALL_RELEASES, POSITIONS
from app.knowledge.tables import read_rows

_CLOSED_PREFIXES = ("xla_tpu_", "xla_jf_", "xla_msa_", "xla_sc_", "xla_vf_", "xla_mosaic_")


@dataclass(frozen=True, slots=True)
class FlagSpan:
    """The releases that define a flag: from `first` to `last`, without `gaps`.

    A flag whose `last` is the newest release of the table may live on after it.
    """

    first: str
    last: str
    gaps: tuple[str, ...] = ()

    @property
    def releases(self) -> tuple[str, ...]:
        """Every listed release that knows the flag, oldest first."""
        listed = ALL_RELEASES[POSITIONS[self.first] : POSITIONS[self.last] + 1]
        return tuple(release for release in listed if release not in self.gaps)


def flag_releases(flag: str) -> FlagSpan | None:
    """The span of a flag, with or without its dashes; None when no listed release defines it."""
    return _spans().get(flag.lstrip("-"))


def flag_known_in(flag: str, release: str) -> bool | None:
    """Whether XLA_FLAGS of `release` may hold `flag`; an unknown flag there ends the process.

    None when the table cannot say: a release it does not cover, or a flag of libtpu.
    """
    if release not in POSITIONS:
        return None
    span = flag_releases(flag)
    if span is not None:
        return release in span.releases
    return None if flag.lstrip("-").startswith(_CLOSED_PREFIXES) else False


def all_flags() -> tuple[str, ...]:
    """The names of all flags that some listed release defines."""
    return tuple(_spans())


@cache
def _spans() -> dict[str, FlagSpan]:
    return {
        flag: FlagSpan(first, last, tuple(gaps.split()))
        for flag, first, last, gaps in read_rows("flags_by_release.tsv.xz")
    }
