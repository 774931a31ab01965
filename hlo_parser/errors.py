"""Places in a text, what was not understood there, and the one error of this package.

Holds no parsing. `Span` and `Unparsed` are what a lenient reading reports; `HloSyntaxError` is
what a strict reading (or a text that is no HLO at all) raises.
"""

from __future__ import annotations

from dataclasses import dataclass

_SHOWN_WIDTH = 200
_LEAD = 120


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text; lines and columns count from 1, the end column is one past the last."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A stretch of text that was not understood; `text` is cut to 200 characters."""

    span: Span
    text: str
    reason: str


class HloSyntaxError(ValueError):
    """Raised for text that is no HLO, and in strict mode for the first thing that is wrong.

    `str()` is "line L, column C: message", the line (a window of it when long) and a caret.
    """

    def __init__(self, message: str, span: Span, line_text: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.line_text = line_text

    def __reduce__(self) -> tuple[type[HloSyntaxError], tuple[str, Span, str]]:
        return (HloSyntaxError, (self.message, self.span, self.line_text))

    def __str__(self) -> str:
        head = f"line {self.span.line}, column {self.span.column}: {self.message}"
        if not self.line_text:
            return head
        start = max(0, self.span.column - 1 - _LEAD)
        shown = self.line_text[start : start + _SHOWN_WIDTH].replace("\t", " ")
        caret = " " * (self.span.column - 1 - start) + "^"
        return f"{head}\n{shown}\n{caret}"


class HloProtoError(HloSyntaxError):
    """Raised for bytes that are no HloProto, or one that is cut off or damaged.

    Bytes have no lines: `span` is the first place and `str()` the message alone.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, Span(1, 1, 1, 1))

    def __reduce__(self) -> tuple[type[HloProtoError], tuple[str]]:  # pyright: ignore[reportIncompatibleMethodOverride] -- made from its message alone
        return (HloProtoError, (self.message,))

    def __str__(self) -> str:
        return self.message
