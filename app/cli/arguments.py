"""What several commands need of argparse, whose own type for sub-commands is private."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from app.settings import Settings

_TAKE_FLAGS = frozenset({"--flags", "--flags-a", "--flags-b"})


class Commands(Protocol):
    """Where a command declares itself."""

    def add_parser(self, name: str, **kwargs: Any) -> argparse.ArgumentParser:
        """A parser for the command `name`; keywords as `argparse.ArgumentParser` takes them."""
        ...


def add_place_options(parser: argparse.ArgumentParser) -> None:
    """Declare where a store stands; `with_places` reads what was given."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of reports")
    parser.add_argument("--database", metavar="URL", help="database in place of that folder's")
    parser.add_argument("--blobs", metavar="URL", help="place of dumps and reports in place of it")


def with_places(settings: Settings, arguments: argparse.Namespace) -> Settings:
    """The settings with what the options say of the store."""
    return replace(
        settings,
        data_dir=arguments.data or settings.data_dir,
        database_url=arguments.database or settings.database_url,
        blobs_url=arguments.blobs or settings.blobs_url,
    )


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
