"""The very place where a stretch of text stops being HLO.

Lenient reading keeps what it does not understand as one stretch: a header, an instruction, a
computation without a single instruction. Given such a stretch and the lines of its text, gives the
error at the place inside of it where the grammar stopped; where it cannot be told, at its first
character. Reads the stretch again, so it is for the one error that a strict reading raises.
"""

from __future__ import annotations

from hlo_parser import grammar
from hlo_parser.body import BodyReader, Context
from hlo_parser.errors import HloSyntaxError, Span, Unparsed
from hlo_parser.lines import LineReader
from hlo_parser.scan import Scanner


def lines_of(data: bytes) -> list[str]:
    """The lines of a text, without line ends and without a byte order mark."""
    text = data.decode("utf-8", errors="backslashreplace").removeprefix("\ufeff")
    return [line.removesuffix("\r") for line in text.split("\n")]


def sharpened(first: Unparsed, lines: list[str]) -> HloSyntaxError:
    """The error at the very place where reading stopped inside the stretch, if it did."""
    span = first.span
    text = _text_of(span, lines)
    gap = _first_gap(span, text)
    if gap is not None:
        return sharpened(gap, lines)
    line, column = span.line, span.column
    read = grammar.read_header if text.startswith("HloModule") else grammar.read_instruction
    try:
        read(text)
    except grammar.GrammarError as error:
        if error.message == first.reason:
            before = text[: min(error.offset, len(text.rstrip()))].split("\n")
            line += len(before) - 1
            column = len(before[-1]) + (column if len(before) == 1 else 1)
    end = max((span.end_line, span.end_column), (line, column))
    return HloSyntaxError(first.reason, Span(line, column, *end), lines[line - 1])


def _text_of(span: Span, lines: list[str]) -> str:
    stretch = lines[span.line - 1 : span.end_line]
    stretch[-1] = stretch[-1][: span.end_column - 1]
    return "\n".join(stretch)[span.column - 1 :]


def _first_gap(span: Span, text: str) -> Unparsed | None:
    """What is not understood inside of a stretch that is a computation, or its body."""
    scanner = Scanner(text.encode("utf-8", "surrogatepass"))
    head = scanner.head(0)
    if head is None and not text.startswith("{"):
        return None
    body = BodyReader(Context(scanner, LineReader()), 0)
    body.read(head[2] if head is not None else 1)
    if not body.gaps:
        return None
    gap = body.gaps[0]
    shift = span.column - 1
    place = Span(
        span.line + gap.line,
        gap.column + (0 if gap.line else shift),
        span.line + gap.end_line,
        gap.end_column + (0 if gap.end_line else shift),
    )
    return Unparsed(place, gap.text, gap.reason)
