"""The jaxlib releases that the tables cover, and the order of releases.

Pure values: no file is read here. The tables were made from XLA's sources as pinned by each of
these releases; a release that is missing (0.4.37, 0.5.2, ...) was not examined, which says nothing
about it.
"""

import re

ALL_RELEASES: tuple[str, ...] = (
    *(f"0.4.{patch}" for patch in range(9, 37)),
    *("0.4.38", "0.5.0", "0.5.1", "0.5.3", "0.6.0", "0.7.1", "0.8.0", "0.8.2", "0.9.0"),
    *("0.9.1", "0.9.2", "0.10.0", "0.10.1", "0.10.2", "0.11.0", "0.11.1"),
)
"""Every release with a column in the tables, oldest first."""

PUBLISHED: tuple[str, ...] = (
    *(f"0.4.{patch}" for patch in range(9, 37)),
    *("0.4.38", "0.5.0", "0.5.1", "0.5.2", "0.5.3", "0.6.0", "0.6.1", "0.6.2", "0.7.0", "0.7.1"),
    *("0.7.2", "0.8.0", "0.8.1", "0.8.2", "0.8.3", "0.9.0", "0.9.1", "0.9.2", "0.10.0", "0.10.1"),
    *("0.10.2", "0.11.0", "0.11.1", "0.11.2", "0.12.0"),
)
"""Every release that is known to exist, those without a column too, oldest first."""

POSITIONS = {release: position for position, release in enumerate(ALL_RELEASES)}

_NUMBERS = re.compile(r"\d{1,9}(?:\.\d{1,9})*")


def release_key(release: str) -> tuple[int, ...]:
    """Sort key of a release; what follows the numbers (`rc1`, `.dev20240701`) is left out.

    Text that starts with no number sorts before every release.
    """
    found = _NUMBERS.match(release.strip())
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def expand_span(span: str) -> tuple[str, ...]:
    """The releases of `0.4.9` or `0.4.9..0.4.12` (both ends included) as the tables write them."""
    first, _, last = span.partition("..")
    return ALL_RELEASES[POSITIONS[first] : POSITIONS[last or first] + 1]
