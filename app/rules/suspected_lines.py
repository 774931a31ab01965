"""What stands on the line of the program that XLA itself suspects, where a message names nothing.

From 0.10 on XLA prints such a line below many errors (`Suspected Python Code Location`).
"""

from collections.abc import Iterator, Sequence
from heapq import nsmallest

from app.analysis.printed import suspected_place
from app.analysis.sources import source_of
from app.analysis.suspects import Place, instructions
from app.model.facts import Facts
from app.model.report import Culprit, Source
from app.rules.cited import Named, suspects
from hlo_parser import Module

_MOST = 3
_ROLE = "on the line that XLA suspects"
# What does the work of a line stands before what only makes or hands on its operands.
_MORE = frozenset(
    (
        *("all-gather", "all-reduce", "conditional", "convolution", "custom-call", "dot", "fusion"),
        *("reduce", "reduce-window", "scatter", "sort", "while"),
    )
)
_LESS = frozenset(
    (
        *("bitcast", "broadcast", "compare", "constant", "convert", "copy", "get-tuple-element"),
        *("iota", "parameter", "reshape", "select", "transpose", "tuple"),
    )
)


def on_suspected_line(facts: Facts, texts: Sequence[str]) -> tuple[Named, ...]:
    """The instructions of that line, three at most, else the line alone; empty without one."""
    place = next(filter(None, map(suspected_place, texts)), None)
    if place is None:
        return ()

    def standing_there(module: Module) -> Iterator[Place]:
        found = [one for one in instructions(module) if _is_at(source_of(module, one[1]), place)]
        yield from nsmallest(_MOST, found, key=lambda one: _rank(one[1].opcode))

    found = suspects(facts, standing_there, role=_ROLE)
    alone = Named(Culprit(source=place, stated=True, source_how="stated", role=_ROLE), None)
    return found or (alone,)


def _rank(opcode: str) -> int:
    return 0 if opcode in _MORE else 2 if opcode in _LESS else 1


def _is_at(source: Source | None, place: Source) -> bool:
    return source is not None and (source.file, source.line) == (place.file, place.line)
