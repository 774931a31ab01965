"""What the commands need of argparse, whose own type for sub-commands is private."""

import argparse
from collections.abc import Sequence
from typing import Any, Protocol

_TAKE_FLAGS = frozenset({"--flags", "--flags-a", "--flags-b"})


class Commands(Protocol):
    """Where a command declares itself."""

    def add_parser(self, name: str, **kwargs: Any) -> argparse.ArgumentParser:
        """A parser for the command `name`; keywords as `argparse.ArgumentParser` takes them."""
        ...


def with_flags_attached(words: Sequence[str]) -> list[str]:
    """The words of a command line, `--flags --xla_x=1` made `--flags=--xla_x=1`.

    argparse takes a value that begins with two dashes and holds no blank for an option: a single
    flag would be refused. What stands behind `--` is somebody else's.
    """
    found: list[str] = []
    for word in words[: words.index("--")] if "--" in words else words:
        if found and found[-1] in _TAKE_FLAGS and word.startswith("--xla"):
            found[-1] += f"={word}"
        else:
            found.append(word)
    return found + list(words[words.index("--") :] if "--" in words else ())
