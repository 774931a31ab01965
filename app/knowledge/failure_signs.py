"""What in a log tells the class of a failure: words of messages, files, passes and frames.

The table is written by hand and read once; applying it to a log is analysis. Its order counts: of
the rows that look at the same thing the first that fits decides.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from app.knowledge.tables import read_rows

SignPlace = Literal[
    "warns",
    "says",
    "common",
    "pass",
    "file",
    "frame",
    "core",
    "hints",
    "flag",
    "state",
    "topic",
    "compared",
]


@dataclass(frozen=True, slots=True)
class FailureSign:
    """One row: where `words` fit what `on` names, the class is `class_`.

    `on`: `warns`, a warning of a run that goes on; `says`, the message of a failure; `common`, the
    same in words that other programs use, too, so that they count in messages of XLA and JAX alone;
    `pass`, the pass that the verifier names; `file`, the base name of the C++ file without its
    ending; `frame`, a symbol of the stack; `core`, a file that everything shares; `hints`, words of
    the message that do not state the class; `flag`, a flag as set (`name=value`); `state`, kind,
    status and back end; `topic`, words that only say what a status of XLA is about; `compared`, the
    labels of values that differ. `sign` tells the signs of a class apart, `tells` says in words
    what it means; of the sign `topic`, what a message is about.
    """

    class_: str
    sign: str
    on: SignPlace
    words: re.Pattern[str]
    tells: str


@cache
def failure_signs(*on: SignPlace) -> tuple[FailureSign, ...]:
    """The rows that look at any of `on`, the first to be asked first."""
    return tuple(sign for sign in _signs() if sign.on in on)


@cache
def failure_classes() -> tuple[str, ...]:
    """The classes that the table knows, by name."""
    return tuple(sorted({sign.class_ for sign in _signs()}))


@cache
def _signs() -> tuple[FailureSign, ...]:
    return tuple(
        FailureSign(class_, sign, cast(SignPlace, on), re.compile(words), tells)
        for class_, sign, on, words, tells in read_rows("failure_classes.tsv")
    )
