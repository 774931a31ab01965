"""What stands around a computation's body: its signature, and the attributes behind its brace.

Given the text of a computation that was read, gives these as text. XLA reads a signature and does
not use it, so reading passes over it; only strict reading looks into it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hlo_parser import patterns
from hlo_parser.comments import pairs_in
from hlo_parser.instruction_forms import split_list
from hlo_parser.literal_forms import shape_fault
from hlo_parser.possessive import compile_pattern
from hlo_parser.scan import COMPUTATION_HEAD, Scanner
from hlo_parser.value_forms import braces, squeezed

if TYPE_CHECKING:
    from hlo_parser.computation import Computation

_FOOT_ATTRIBUTE = compile_pattern(
    rf",\s*+({patterns.KEY})\s*+({patterns.VALUE}|'[^'\\\n]*+'|{braces(patterns.JSON_DEPTH)})",
    re.ASCII | re.S,
)
# Up to a brace that a comma follows, or a string that does not close on its line.
_BEFORE_FOOT = compile_pattern(rf"(?:[^\"'}}]++|{patterns.STRING}|\}}(?!\s*+,))*+".encode())
_LOOSE_COLON = compile_pattern(rf"%{patterns.NAME}\s*+:|[(,]\s*+{patterns.NAME}\s++:")
_PARAMETER = compile_pattern(rf"%?+{patterns.NAME}(?:[: ]|(?=\())(.*)", re.S)


def foot_attributes(text: str) -> list[tuple[str, str]]:
    """Keys and values of what stands behind a closing brace, in order."""
    return [(key[:-1], value) for key, value in pairs_in(text, _FOOT_ATTRIBUTE)]


def foot_of(text: str) -> list[tuple[str, str]]:
    """The attributes behind a computation's closing brace; none for a text of one instruction."""
    raw = text.encode("utf-8", "surrogatepass")
    scanner = Scanner(raw)
    if scanner.head(0) is None:
        return []
    return foot_attributes(raw[_foot_start(scanner) :].decode(errors="backslashreplace"))


def _foot_start(scanner: Scanner) -> int:
    """Where the attributes behind the last brace of a text begin; its end when it has none."""
    data = scanner.data.rstrip()
    position, size = 0, len(data)
    while (found := _BEFORE_FOOT.match(data, position)) is not None and found.end() < size:
        place = found.end()
        if data.startswith(b"}", place):
            position = max(scanner.foot_end(place + 1), place + 1)
            if position >= size:
                return place + 1
        else:
            position = scanner.strings.end(place) or place + 1
    return size


def signature_of(computation: Computation) -> str | None:
    """`(names and shapes) -> shape` of a computation's first line; None when it has none."""
    return signature_in(computation.text)


def signature_in(text: str) -> str | None:
    """As `signature_of`, of a text that begins as a computation does."""
    scanner = Scanner(text.encode("utf-8", "surrogatepass"))
    head = scanner.head(0)
    opening = scanner.data.find(b"(", 0, head[2]) if head is not None else -1
    if head is None or opening < 0:
        return None
    return scanner.data[opening : head[2] - 1].decode("utf-8", errors="backslashreplace")


def is_odd_head(computation: Computation) -> bool:
    """Whether a computation's first line opens a signature that does not close before the body."""
    raw = computation.text.encode("utf-8", "surrogatepass")
    match = COMPUTATION_HEAD.match(raw)
    opens = match is not None and raw.startswith(b"(", match.end())
    return opens and b"=" not in raw[: raw.find(b"{")] and Scanner(raw).head(0) is None


def signature_fault(text: str) -> str | None:
    """Why `(names and shapes) -> shape` is not sound."""
    head, _, result = squeezed(text).rpartition("->")
    if _LOOSE_COLON.search(text):
        return "the ':' of a signature is part of a name without '%'"
    for piece in split_list(head[1:-1]):
        parameter = _PARAMETER.fullmatch(piece)
        if parameter is None:
            return "a signature takes names with shapes"
        fault = shape_fault(parameter[1])
        if fault is not None:
            return fault
    return shape_fault(result)
