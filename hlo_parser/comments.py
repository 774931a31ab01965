"""Comments of a text as blanks, so that everything else keeps its place.

XLA's lexer passes over comments between any two tokens (hlo_lexer.cc, LexToken), but not inside
of strings, nor in JSON, where only braces and double quotes count (LexJsonDict). Given a text,
gives one as long, with the same line breaks. The comments that XLA itself prints (`/*index=5*/`,
`/*i0=1*/`) stay, since ordinary lines keep theirs; one that never closes stays, too.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from hlo_parser import patterns
from hlo_parser.possessive import compile_pattern

_MARK = compile_pattern(
    rb"//[^\n\r]*+|/\*(?:index|i\d)=\d++\*/|/\*|[\"']|"
    rb"(?<![\w.\-])(?:backend_config|frontend_attributes)="
)
_PRINTED = compile_pattern(rb"/\*(?:index|i\d)=\d++\*/")
_LINE_COMMENT = compile_pattern(rb"//[^\n\r]*+")
_SPACE = compile_pattern(rb"\s*+")
# A string that never closes is taken to the end: else each of its quotes would be tried again.
_JSON_MARK = compile_pattern(rb'[{}]|"(?:[^"\\]++|\\.)*+(?:"|\\?+\Z)', re.S)
_KEY = compile_pattern(patterns.KEY.encode())
_SHOWN = compile_pattern(r"[^\n\r]")
_SHOWN_BYTE = compile_pattern(rb"[^\n\r]")
_LINE_STRINGS = {
    b'"': compile_pattern(rb'"(?:[^"\\\n]++|\\[^\n])*+"'),
    b"'": compile_pattern(rb"'(?:[^'\\\n]++|\\[^\n])*+'"),
}
_LONG_STRINGS = {
    b'"': compile_pattern(rb'"(?:[^"\\]|\\.){0,65536}+("?+)', re.S),
    b"'": compile_pattern(rb"'(?:[^'\\]|\\.){0,65536}+('?+)", re.S),
}
_AFTER_STRING = compile_pattern(rb"[ \t]*+(?:[,})\r\n]|/[/*]|\Z)")
_LINE_START = compile_pattern(
    rb"\n[ \t]*+(?:ROOT[ \t]++)?+%?+"
    + patterns.NAME.encode()
    + rb"[ \t]*+=[ \t]*+(?:\(|[a-z][a-z0-9]*+\[)"
)
_BLANKS = compile_pattern(r"\s++")
_OPENERS = frozenset("{[(,:=<")
_CLOSERS = frozenset("}]),:=<>")
_MOST_MARKS = 65_536
MOST_OPEN: Final = 8
"""How often one walk over a text looks for the end of braces that have none."""


def _may_hold_comments(data: bytes) -> bool:
    """Whether there is a mark of a comment other than those that XLA prints, if only in a string.

    From mark to mark at the speed of memory: the walk from string to string takes thirty times as
    long, and few texts hold comments.
    """
    if b"//" in data:
        return True
    place = data.find(b"/*")
    while place >= 0:
        printed = _PRINTED.match(data, place)
        if printed is None:
            return True
        place = data.find(b"/*", printed.end())
    return False


def blanked(text: str) -> str:
    """The text with blanks in place of comments."""
    if "//" not in text and "/*" not in text:
        return text
    # One byte for each character, so that places are those of the text.
    data = text.encode("ascii", "replace")
    if not _may_hold_comments(data):
        return text
    pieces: list[str] = []
    position = 0
    for start, end in _Comments(data).spans():
        pieces += (text[position:start], _SHOWN.sub(" ", text[start:end]))
        position = end
    return "".join((*pieces, text[position:])) if pieces else text


def blanked_bytes(data: bytes) -> bytes:
    """As `blanked`, with as many blanks as a comment has bytes."""
    if not _may_hold_comments(data):
        return data
    pieces: list[bytes] = []
    position = 0
    for start, end in _Comments(data).spans():
        pieces += (data[position:start], _SHOWN_BYTE.sub(b" ", data[start:end]))
        position = end
    return b"".join((*pieces, data[position:])) if pieces else data


def braces_end(data: bytes, place: int) -> int:
    """Behind the brace that closes the one here; 0 when none does so within 65,536 of them.

    Only braces and double-quoted strings count, as in JSON.
    """
    depth = 0
    for match in islice(_JSON_MARK.finditer(data, place), _MOST_MARKS):
        mark = match.group()
        depth += (mark == b"{") - (mark == b"}")
        if not depth:
            return match.end()
    return 0


def pairs_in(text: str, pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """The two groups of each match in the text, the second as printed but for its comments."""
    plain = blanked(text)
    if plain is text:
        return pattern.findall(text)
    return [
        (found[1], uncommented(text, plain, *found.span(2))) for found in pattern.finditer(plain)
    ]


def uncommented(text: str, plain: str, start: int, end: int) -> str:
    """A stretch of the text without comments; `plain` is the text with blanks in their places.

    A comment and the blanks around it leave one blank where there were any, or where it parts two
    words; else nothing.
    """
    if plain is text or text[start:end] == plain[start:end]:
        return plain[start:end]
    pieces: list[str] = []
    position = start
    for found in _BLANKS.finditer(plain, start, end):
        first, last = found.span()
        if text[first:last] != plain[first:last]:
            is_apart = text[first].isspace() or text[last - 1].isspace()
            is_tight = plain[first - 1] in _OPENERS or plain[last : last + 1] in _CLOSERS
            pieces += (plain[position:first], " " if is_apart or not is_tight else "")
            position = last
    return "".join((*pieces, plain[position:end]))


class Strings:
    """Where the strings of one text end.

    A stretch that was looked through for an end in vain is kept: all quotes in it are escaped,
    and looking on from any of them stops where the first look did.
    """

    __slots__ = ("_data", "_open")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._open: dict[bytes, range] = {}

    def end(self, place: int) -> int:
        """Behind the string that opens here; 0 when it does not close.

        Nor does one of several lines do so in which instructions stand, up to where the next
        string opens.
        """
        data = self._data
        mark = data[place : place + 1]
        if place in self._open.get(mark, ()):
            return 0
        line = _LINE_STRINGS[mark].match(data, place)
        if line is not None:
            return line.end()
        match = _LONG_STRINGS[mark].match(data, place)
        if match is None:
            return 0
        text, end = match.group(), match.end()
        if not match[1]:
            self._open[mark] = range(place, end)
            return 0
        is_closed = not text.endswith(b"=" + mark) and _AFTER_STRING.match(data, end)
        if is_closed or (last := _last_line_start(text)) < 0:
            return end
        self._open[mark] = range(place, place + last)
        return 0


def _last_line_start(text: bytes) -> int:
    return max((found.start() for found in _LINE_START.finditer(text)), default=-1)


class _Comments:
    """One walk over a text, from string to comment to JSON."""

    __slots__ = ("_data", "_found", "_last_end", "_open_json", "_strings")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._found: list[tuple[int, int]] = []
        self._last_end = data.rfind(b"*/")
        self._open_json = 0
        self._strings = Strings(data)

    def spans(self) -> list[tuple[int, int]]:
        """Where comments begin and end, in order."""
        data, position = self._data, 0
        while (match := _MARK.search(data, position)) is not None:
            mark, place, position = match.group(), match.start(), match.end()
            if mark in (b'"', b"'"):
                position = self._behind_string(place)
            elif mark == b"backend_config=":
                position = self._behind_value(self._behind_comments(position))
            elif mark == b"frontend_attributes=":
                position = self._behind_frontend(position)
            elif mark == b"/*" or mark.startswith(b"//"):
                position = self._behind_comment(place)
        return self._found

    def _behind_string(self, place: int) -> int:
        """Behind a string; one that does not close runs to the end of its line."""
        end = self._strings.end(place)
        if not end:
            end = self._data.find(b"\n", place)
        return end if end > 0 else len(self._data)

    def _behind_comment(self, place: int) -> int:
        """Behind the comment here, which is noted; behind its mark when it never closes."""
        line = _LINE_COMMENT.match(self._data, place)
        if line is not None:
            end = line.end()
        elif place + 2 <= self._last_end:
            end = self._data.find(b"*/", place + 2) + 2
        else:
            return place + 2
        self._found.append((place, end))
        return end

    def _behind_comments(self, position: int) -> int:
        """Behind white space and comments."""
        data = self._data
        while True:
            space = _SPACE.match(data, position)
            position = space.end() if space else position
            if not data.startswith((b"//", b"/*"), position):
                return position
            behind = self._behind_comment(position)
            if not self._found or self._found[-1][1] != behind:
                return position
            position = behind

    def _behind_value(self, position: int) -> int:
        """Behind JSON or a string; the same place where neither stands."""
        data = self._data
        if data.startswith((b'"', b"'"), position):
            return self._behind_string(position)
        if not data.startswith(b"{", position) or self._open_json >= MOST_OPEN:
            return position
        end = braces_end(data, position)
        self._open_json += not end
        return end or position

    def _behind_frontend(self, position: int) -> int:
        """Behind `{key=JSON or string, ...}`, as far as it has this form."""
        position = self._behind_comments(position)
        if not self._data.startswith(b"{", position):
            return position
        while True:
            position = self._behind_comments(position + 1)
            key = _KEY.match(self._data, position)
            if key is None:
                return position
            position = self._behind_value(self._behind_comments(key.end()))
            position = self._behind_comments(position)
            if not self._data.startswith(b",", position):
                return position
