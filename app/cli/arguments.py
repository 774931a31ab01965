"""What several commands need of argparse, whose own type for sub-commands is private."""

import argparse
import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, Protocol

from app.settings import Settings

_TAKE_FLAGS = frozenset({"--flags", "--flags-a", "--flags-b"})


_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from ([^()]*)\)")
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")

# Of two words that share 70 % of their letters one is probably the other mistyped.
_LIKENESS = 0.7


class Parser(argparse.ArgumentParser):
    """A parser, of all or of one command, that refuses by itself and says what may be meant."""

    def parse_known_args(self, *args: Any, **named: Any) -> Any:
        """As argparse does; what a command does not know is refused with that command's usage."""
        found, unknown = super().parse_known_args(*args, **named)
        if unknown:
            known = _OPTION.findall(self.format_usage())
            words = (word.partition("=")[0] for word in unknown if word.startswith("-"))
            meant = _meant(words, known)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """As argparse does; a word that none of the choices is like gets no proposal."""
        if choice := _CHOICE.search(message):
            message += _meant([choice[1]], re.findall(r"[\w-]+", choice[2]))
        super().error(message)


def _meant(words: Iterable[str], known: Sequence[str]) -> str:
    found = [difflib.get_close_matches(word, known, n=1, cutoff=_LIKENESS) for word in words]
    names = ", ".join(dict.fromkeys(name for names in found for name in names))
    return f"; did you mean {names}?" if names else ""


class Commands(Protocol):
    """Where a command declares itself."""

    def add_parser(self, name: str, **kwargs: Any) -> argparse.ArgumentParser:
        """A parser for the command `name`; keywords as `argparse.ArgumentParser` takes them."""
        ...


def seconds(text: str) -> float:
    """The value of an option that takes a time; argparse tells what is wrong with it."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError("must be a number of seconds, more than 0")
    return value


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
