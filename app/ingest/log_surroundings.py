"""Takes down what a log says by the way of a run's surroundings: flags, releases, platforms.

Lines come in, whatever they are about; each thing is kept once, and so many of them.
"""

import re

from app.ingest.flags import flags_in_line

# No log says more than this in earnest.
_MOST_FLAGS = 1 << 12
_MOST_OTHERS = 100
_RELEASE = re.compile(
    r"\bjaxlib[\"']?(?:==|: | version |-| +|: ?[\"'])[\"']?"
    r"(?P<release>0\.\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)\b"
)
_PLATFORM = re.compile(r"XLA service \S{1,40} initialized for platform (?P<name>\w{1,40})")


class Surroundings:
    """What was read so far: `flags` by name, the last value; the others in the order of the log."""

    def __init__(self) -> None:
        self.flags: dict[str, str] = {}
        self.releases: dict[str, None] = {}
        self.platforms: dict[str, None] = {}

    def feed(self, text: str) -> None:
        """Take a line."""
        if "xla_" in text and len(self.flags) < _MOST_FLAGS:
            self.flags.update(flags_in_line(text))
        if "jaxlib" in text and (found := _RELEASE.search(text)):
            _keep(self.releases, found["release"])
        if "for platform" in text and (found := _PLATFORM.search(text)):
            _keep(self.platforms, found["name"])


def _keep(known: dict[str, None], name: str) -> None:
    if len(known) < _MOST_OTHERS:
        known[name] = None
