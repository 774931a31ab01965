"""The very place where a stretch of text stops being HLO.

Lenient reading keeps what it does not understand as one stretch: a header, an instruction, a
computation without a single instruction. Given such a stretch and the lines of its text, gives the
error at the place inside of it where the grammar stopped; where it cannot be told, at its first
character. Reads the stretch again, so it is for the one error that a strict reading raises.
"""

from __future__ import annotations

from hlo_parser import grammar
from hlo_parser.body import NO_INSTRUCTION, TOO_DEEP, BodyReader, Context
from hlo_parser.comments import blanked
from hlo_parser.computation import Gap
from hlo_parser.errors import HloSyntaxError, Span, Unparsed
from hlo_parser.head_and_foot import signature_fault, signature_in
from hlo_parser.lines import LineReader
from hlo_parser.possessive import compile_pattern
from hlo_parser.scan import Scanner
from hlo_parser.values import holds_body

_NAME = compile_pattern(r"(?:ENTRY\s*+)?+%?+([A-Za-z_])")


def lines_of(data: bytes) -> list[str]:
    """The lines of a text, without line ends and without a byte order mark."""
    text = data.decode("utf-8", errors="backslashreplace").removeprefix("\ufeff")
    return [line.removesuffix("\r") for line in text.split("\n")]


_MOST_STEPS = 4
"""Stretches in stretches that are read again; each reads the bodies in it, one in another."""


def sharpened(first: Unparsed, lines: list[str], steps: int = _MOST_STEPS) -> HloSyntaxError:
    """The error at the very place where reading stopped inside the stretch, if it did.

    What stands deeper than in so many other stretches is told at the innermost of these.
    """
    span = first.span
    text = _text_of(span, lines)
    if text.startswith("FileNames"):
        return _in_tables(span, lines) or HloSyntaxError(first.reason, span, lines[span.line - 1])
    error = _in_signature(span, text, lines)
    if error is not None:
        return error
    gap = _first_gap(first, text) if first.reason != TOO_DEEP else None
    if gap is not None and gap.span != span and steps:
        return sharpened(gap, lines, steps - 1)
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


def _in_tables(span: Span, lines: list[str]) -> HloSyntaxError | None:
    """Where tables of frames stop being such; what follows them is at hand, too."""
    text = "\n".join(lines[span.line - 1 :])[: grammar.MAX_TEXT]
    try:
        grammar.read_frames(text)
    except grammar.GrammarError as error:
        before = text[: error.offset].split("\n")
        line, column = span.line + len(before) - 1, len(before[-1]) + 1
        return HloSyntaxError(error.message, Span(line, column, line, column + 1), lines[line - 1])
    return None


def _in_signature(span: Span, text: str, lines: list[str]) -> HloSyntaxError | None:
    """Why the signature of a computation is not sound, at the computation's name."""
    signature = signature_in(text)
    fault = signature_fault(signature) if signature is not None else None
    if fault is None:
        return None
    name = _NAME.match(text)
    before = text[: name.start(1) if name is not None else 0].split("\n")
    line = span.line + len(before) - 1
    column = len(before[-1]) + (span.column if len(before) == 1 else 1)
    return HloSyntaxError(fault, Span(line, column, line, column + 1), lines[line - 1])


def _text_of(span: Span, lines: list[str]) -> str:
    stretch = lines[span.line - 1 : span.end_line]
    stretch[-1] = stretch[-1][: span.end_column - 1]
    return "\n".join(stretch)[span.column - 1 :]


def _first_gap(first: Unparsed, text: str) -> Unparsed | None:
    """What is not understood inside of a stretch that is a computation, its body, or holds bodies.

    Another stretch that opens a brace, a line of nothing but braces say, is looked at no further.
    """
    span = first.span
    scanner = Scanner(text.encode("utf-8", "surrogatepass"))
    head = scanner.head(0)
    body = BodyReader(Context(scanner, LineReader()), 0)
    gap: Gap | None = None
    if head is not None or (text.startswith("{") and first.reason == NO_INSTRUCTION):
        body.read(head[2] if head is not None else 1)
        gap = body.gaps[0] if body.gaps else None
    elif holds_body(blanked(text)):
        body.read(0)
        gap = _first_inner_gap(body)
    if gap is None:
        return None
    shift = span.column - 1
    place = Span(
        span.line + gap.line,
        gap.column + (0 if gap.line else shift),
        span.line + gap.end_line,
        gap.end_column + (0 if gap.end_line else shift),
    )
    return Unparsed(place, gap.text, gap.reason)


def _first_inner_gap(body: BodyReader) -> Gap | None:
    """What is not understood first in the bodies that stand inside of others."""
    gaps = (
        gap._replace(line=gap.line + below, end_line=gap.end_line + below)
        for computation, below in body.inner
        for gap in computation.gaps
    )
    return min(gaps, key=lambda gap: (gap.line, gap.column), default=None)
