"""What stands around a computation's body: its signature, and the attributes behind its brace.

Given the text of a computation that was read, gives these as text. XLA reads a signature and does
not use it, so reading passes over it; only strict reading looks into it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hlo_parser import patterns
from hlo_parser.possessive import compile_pattern
from hlo_parser.scan import COMPUTATION_HEAD, FOOT, Scanner

if TYPE_CHECKING:
    from hlo_parser.computation import Computation

_FOOT_ATTRIBUTE = compile_pattern(
    rf",\s*+({patterns.KEY})({patterns.VALUE}|'[^'\\\n]*+')", re.ASCII
)
_LAST_FOOT = compile_pattern(rb"\}(" + FOOT.pattern + rb")\s*+(?://[^\n]*+)?+\Z")


def foot_attributes(text: str) -> list[tuple[str, str]]:
    """Keys and values of what stands behind a closing brace, in order."""
    return [(key[:-1], value) for key, value in _FOOT_ATTRIBUTE.findall(text)]


def foot_of(text: str) -> list[tuple[str, str]]:
    """The attributes behind a computation's closing brace; none for a text of one instruction."""
    raw = text.encode("utf-8", "surrogatepass")
    foot = _LAST_FOOT.search(raw) if Scanner(raw).head(0) is not None else None
    return foot_attributes(foot[1].decode(errors="backslashreplace")) if foot is not None else []


def signature_of(computation: Computation) -> str | None:
    """`(names and shapes) -> shape` of a computation's first line; None when it has none."""
    raw = computation.text.encode("utf-8", "surrogatepass")
    head = Scanner(raw).head(0)
    opening = raw.find(b"(", 0, head[2]) if head is not None else -1
    if head is None or opening < 0:
        return None
    return raw[opening : head[2] - 1].decode("utf-8", errors="backslashreplace")


def is_odd_head(computation: Computation) -> bool:
    """Whether a computation's first line opens a signature that does not close before the body."""
    raw = computation.text.encode("utf-8", "surrogatepass")
    match = COMPUTATION_HEAD.match(raw)
    opens = match is not None and raw.startswith(b"(", match.end())
    return opens and b"=" not in raw[: raw.find(b"{")] and Scanner(raw).head(0) is None
