"""One instruction as the printers of attributes see it.

Holds what an attribute may depend on beyond the message itself, and what all printers share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from hlo_parser.proto.schema import HloInstructionProto
from hlo_parser.proto.shared_text import SharedTexts

Attributes = Iterable[str]
"""`key=value` texts."""


class Line(NamedTuple):
    """An instruction and what of its surroundings its attributes depend on."""

    proto: HloInstructionProto
    opcode: str
    operand_type: str
    """The type word of the first operand; empty where nothing depends on it, and for tuples."""
    callees: tuple[str, ...]
    """With `%`."""
    texts: SharedTexts
    notes: list[str]


Printer = Callable[[Line], Attributes]


def enumerated(line: Line, key: str, words: tuple[str, ...], number: int) -> Attributes:
    """An attribute whose value is a word; left out and noted when the number has none."""
    if 0 <= number < len(words):
        yield f"{key}={words[number]}"
    else:
        line.notes.append(f"{key} {number} is not known")


def word(raw: bytes) -> str:
    """A word of an enumeration that the proto keeps as a string."""
    text = raw.decode("ascii", errors="replace")
    return "".join(c if c.isalnum() or c in "_-." else "_" for c in text[:100])
