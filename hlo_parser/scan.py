"""Where pieces of a text begin and end, for spellings XLA does not print.

Finds instructions, computations and headers by brackets, strings and comments alone, over bytes,
in one pass: nothing is read twice but a bounded look-ahead. Does not judge what is inside; a
piece that is not closed ends where the next one plainly begins.
"""

from __future__ import annotations

import re
from string import ascii_letters, digits

from hlo_parser import patterns
from hlo_parser.comments import MOST_OPEN, Strings, blanked_bytes, braces_end
from hlo_parser.possessive import compile_pattern

_NAME = patterns.NAME.encode()
_SPACE = compile_pattern(rb"[ \t\r\n]*+")
_SPECIAL = compile_pattern(
    rb"[\n\"'(){}\[\]]|/[*/]|[ \t]=(?=[\s%a-zA-Z(/])|(?<=[ \t\n)}])%" + _NAME + rb"[ \t]*+="
)
_START = compile_pattern(
    rb"[ \t]*+(?:ROOT(?:(?:[ \t\r\n]++|/\*[^*\n]*+\*/)++|(?=%)))?+(?:%"
    + _NAME
    + rb"\s*+=|"
    + _NAME
    + rb"\s++=)"
)
_PLAIN_START = compile_pattern(
    _START.pattern + rb"\s*+(?:\(|/\*|[A-Za-z_][A-Za-z0-9_.\-]*+\s*+[\[(])"
)
_CLOSE_LINE = compile_pattern(rb"\}[ \t]*+(?:\r?\n|$|,|//)")
_BODY_KEY = compile_pattern(
    rb"(?:to_apply|calls|condition|body|select|scatter|true_computation|false_computation|"
    rb"branch_computations|called_computations)=\s*+(?:\{[^\"]*)?$"
)
_ENTRY = compile_pattern(rb"ENTRY(?=[\s%/])")
COMPUTATION_HEAD = compile_pattern(rb"(ENTRY(?:\s++|(?=%)))?+%?+(" + _NAME + rb")[ \t]*+")
_HEAD_NAME = compile_pattern(rb"%?+(" + _NAME + rb")[ \t]*+")
_ARROW = compile_pattern(rb"\s*+->\s*+")
_ARRAY = compile_pattern(rb"[a-z][a-z0-9]*+\s*+\[[^\[\]{}]*+\]\s*+(?:\{(?=\s*+[\d:])[^{}]*+\})?+")
_BUFFER = compile_pattern(rb"b\s*+(?=\()")
_FOOT = compile_pattern(
    rf"(?:\s*+,\s*+{patterns.KEY}\s*+(?:{patterns.VALUE}|'[^'\\\n]*+'))*+".encode()
)
_LONG_VALUE = compile_pattern(rf"\s*+,\s*+{patterns.KEY}\s*+(?=\{{)".encode())
# Holds whole modules as strings of many lines (hlo_parser.cc, ParseOriginalValueRecoveryTable).
_WITH_TEXTS = compile_pattern(rb"origin_recovery_table=")
_COMMENT_LINE = compile_pattern(rb"[^\n\r]*+")
_AFTER_HEADER = compile_pattern(rb"[A-Za-z_%]")
_HEADER_NAME = compile_pattern(rb"HloModule[ \t\r\n]++%?+" + _NAME + rb":?+")
_BUFFERS = (b" b", b"=b", b"\nb")
_GOES_ON = b"[{(<T-0123456789"
_OPEN_VALUE = compile_pattern(
    rb"=\s*+(?:mesh|mesh\s*+\[[^\]]*+\](?:\s*+,\s*+device_ids=[^{}=]*+)?+|"
    rb"\[[\d\s,]++\](?:\s*+<=\s*+\[[\d\s,]++\])?+|(?<=literal=)\s*+[a-z0-9]++"
    rb"(?:\s*+\[[^\]]*+\](?:\s*+\{[^{}]*+\})?+)?+)\s*+\Z"
)
_VALUE_WINDOW = 400
_LAST_ROOT = compile_pattern(rb"(?<=\s)ROOT\s*+\Z")
_MAX_SIGNATURE_LINES = 64
_CLOSERS = {b"(": b")", b"[": b"]", b"{": b"}"}
_BODY_WINDOW = 80
_MAX_CLOSED_BY_LINES = 8
_NAME_WINDOW = 4096
_NAME_CHARACTERS = f"%.-_{ascii_letters}{digits}".encode()


class Scanner:
    """Positions in one text; every method takes and gives byte offsets."""

    __slots__ = ("_last_comment_end", "_open_values", "data", "raw", "size", "strings")

    raw: bytes
    """The text as it is."""
    data: bytes
    """The text with blanks in place of comments."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.data = data = blanked_bytes(raw)
        self.size: int = len(data)
        self._last_comment_end = data.rfind(b"*/")
        self._open_values = 0
        self.strings: Strings = Strings(data)

    def skip_blank(self, position: int) -> int:
        """Past white space and closed comments."""
        data = self.data
        while True:
            match = _SPACE.match(data, position)
            position = match.end() if match else position
            if data.startswith(b"//", position):
                position = _end_of(_COMMENT_LINE, data, position + 2)
            elif self._opens_comment(position):
                position = data.find(b"*/", position + 2) + 2
            else:
                return position

    def _opens_comment(self, position: int) -> bool:
        return self.data.startswith(b"/*", position) and self._last_comment_end >= position + 2

    def line_end(self, position: int) -> int:
        """The line break at or behind the position, or the end of the text."""
        end = self.data.find(b"\n", position)
        return self.size if end < 0 else end

    def starts_instruction(self, position: int) -> bool:
        """Whether `[ROOT] name =` stands here, behind blanks on the same line."""
        return _START.match(self.data, position) is not None

    def starts_computation(self, position: int) -> bool:
        """Whether the line here looks like the first of a computation."""
        line = self.data[position : self.line_end(position)].rstrip()
        match = COMPUTATION_HEAD.match(line)
        return match is not None and line.endswith(b"{") and line[match.end()] in b"({"

    def instruction_end(self, position: int) -> int:
        """Where an instruction that starts here ends (exclusive).

        Line breaks end it outside of brackets, unless a comma goes before or after or no opcode
        was seen yet; inside of brackets when the next line plainly begins something else.
        """
        return _Statement(self, position).end()

    def header_end(self, position: int) -> int:
        """Where a module header that starts here ends; line breaks end it likewise."""
        name = _HEADER_NAME.match(self.data, position)
        if name is not None:
            end = _end_of(_FOOT, self.data, name.end())
            if _WITH_TEXTS.search(self.data, end, self.line_end(end)):
                end = self.foot_end(end)
            if _AFTER_HEADER.match(self.data, self.skip_blank(end)):
                return end
        statement = _Statement(self, position)
        statement.position = name.end() if name is not None else position
        statement.called = statement.is_header = True
        return statement.end()

    def head(self, position: int) -> tuple[str, bool, int] | None:
        """Name, whether ENTRY, and the place behind `{` of a computation that starts here."""
        entry = _ENTRY.match(self.data, position)
        start = self.skip_blank(entry.end()) if entry is not None else position
        match = _HEAD_NAME.match(self.data, start)
        if match is None:
            return None
        place: int | None = self.skip_blank(match.end())
        if self.data.startswith(b"(", place):
            place = self._signature_end(place)
            if place is None:
                return None
            place = self.skip_blank(place)
        if not self.data.startswith(b"{", place):
            return None
        return match.group(1).decode("ascii"), entry is not None, place + 1

    def _signature_end(self, position: int) -> int | None:
        end = self.balanced_end(position)
        arrow = _ARROW.match(self.data, end) if end is not None else None
        if arrow is None:
            return None
        buffer = _BUFFER.match(self.data, arrow.end())
        if buffer is not None:
            return self.balanced_end(buffer.end())
        if self.data.startswith(b"(", arrow.end()):
            return self.balanced_end(arrow.end())
        shape = _ARRAY.match(self.data, arrow.end())
        return shape.end() if shape else None

    def balanced_end(self, position: int) -> int | None:
        """Behind the bracket that closes the one here, if it does within a few lines."""
        stack: list[bytes] = []
        breaks = 0
        for match in _SPECIAL.finditer(self.data, position):
            mark = match.group()
            if mark == b"\n":
                breaks += 1
                if breaks > _MAX_SIGNATURE_LINES:
                    return None
            elif mark in _CLOSERS:
                stack.append(_CLOSERS[mark])
            elif mark in (b")", b"]", b"}"):
                if not stack or stack.pop() != mark:
                    return None
                if not stack:
                    return match.end()
        return None

    def foot_end(self, position: int) -> int:
        """Behind the attributes that follow a closing brace."""
        while True:
            position = _end_of(_FOOT, self.data, position)
            value = _LONG_VALUE.match(self.data, position)
            if value is None or self._open_values >= MOST_OPEN:
                return position
            end = braces_end(self.data, value.end())
            if not end:
                self._open_values += 1
                return position
            position = end


def _end_of(pattern: re.Pattern[bytes], data: bytes, position: int) -> int:
    match = pattern.match(data, position)
    return match.end() if match else position


def is_closed_line(text: str) -> bool:
    """Whether a line is one instruction, understood or not, that ends where the line ends."""
    data = text.encode("utf-8", "surrogatepass")
    scanner = Scanner(data)
    if b"\n" in data or not scanner.starts_instruction(0):
        return False
    statement = _Statement(scanner, 0)
    return statement.end() == len(data) and not statement.stack and not statement.broken


class _Statement:
    """One walk over an instruction, from bracket to bracket."""

    __slots__ = (
        "assigned", "broken", "called", "data", "is_header", "nested",
        "parentheses", "position", "scanner", "stack", "start",
    )  # fmt: skip

    def __init__(self, scanner: Scanner, start: int) -> None:
        self.scanner = scanner
        self.data = scanner.data
        self.start = start
        self.position: int = start
        self.stack: list[bytes] = []
        self.nested = 0
        self.parentheses = 0
        self.assigned = False
        self.broken = False
        self.called = False
        self.is_header = False

    def end(self) -> int:
        while True:
            match = _SPECIAL.search(self.data, self.position)
            if match is None:
                return self.scanner.size
            mark, place = match.group(), match.start()
            self.position = match.end()
            if mark == b"\n":
                if self._ends_at(place):
                    return self._without_next(place)
            elif mark in _CLOSERS:
                self._open(mark, place)
            elif mark in (b")", b"]", b"}"):
                if mark == b"}" and not self.stack:
                    return place
                self._close(mark)
            elif mark.endswith(b"="):
                if another := self._begins_another(mark, place):
                    return another
            else:
                self._skip(mark, place)

    @property
    def _raw(self) -> bool:
        """Inside braces that hold a value, where only braces and strings count.

        Those of a literal stand in parentheses, and comments count there.
        """
        return bool(self.stack) and self.stack[-1] == b"}" and not self.parentheses

    def _open(self, mark: bytes, place: int) -> None:
        if self._raw and mark != b"{":
            return
        before = self.data[max(place - 2, 0) : place]
        if mark == b"(" and not self.stack and before[-1:].isalnum() and before not in _BUFFERS:
            self.called = True
        if mark == b"{" and not self._raw:
            before = self.data[max(self.start, place - _BODY_WINDOW) : place]
            if _BODY_KEY.search(before):
                self.stack.append(b"body")
                self.nested += 1
                return
        self.stack.append(_CLOSERS[mark])
        self.parentheses += mark == b"("

    def _close(self, mark: bytes) -> None:
        top = self.stack[-1] if self.stack else b""
        if top == mark:
            self.stack.pop()
            self.parentheses -= mark == b")"
        elif top == b"body" and mark == b"}":
            self.stack.pop()
            self.nested -= 1

    def _skip(self, mark: bytes, place: int) -> None:
        """Over a string or comment; an unclosed string runs to the end of its line."""
        if mark in (b'"', b"'"):
            if mark == b"'" and self._raw:
                return
            end = self.scanner.strings.end(place)
            self.broken |= not end
            self.position = end or self.scanner.line_end(place)
        elif not self._raw:
            end = self.scanner.skip_blank(place)
            self.broken |= end == place
            self.position = max(end, place + 2)

    def _without_next(self, place: int) -> int:
        """The line break where it ends, or where the next begins whose name stands before it."""
        if self.stack:
            return place
        equal = self.scanner.skip_blank(place)
        if self.data.startswith(b"=", equal):
            return self._begins_another(b"=", equal)
        root = _LAST_ROOT.search(self.data, max(self.start + 1, place - _NAME_WINDOW), place)
        return root.start() if root is not None else place

    def _is_value_open(self, place: int) -> bool:
        """Whether the line breaks where a literal, groups or a mesh are not whole yet."""
        window = max(self.start, place - _VALUE_WINDOW)
        return _OPEN_VALUE.search(self.data, window, place) is not None

    def _begins_another(self, mark: bytes, place: int) -> int:
        """Where a second `[ROOT] name =` on the same line begins; 0 when it is the first."""
        if self.stack:
            return 0
        if not self.assigned:
            self.assigned = True
            return 0
        name = place
        if not mark.startswith(b"%"):
            while self.data[name - 1 : name] in (b" ", b"\t", b"\r", b"\n"):
                name -= 1
            line = self.data[max(self.start, name - _NAME_WINDOW) : name]
            name -= len(line) - len(line.rstrip(_NAME_CHARACTERS))
        before = self.data[max(self.start, name - _NAME_WINDOW) : name].rstrip()
        if before.endswith(b"ROOT"):
            name = self.data.rfind(b"ROOT", self.start, name)
        return max(name, self.start + 1)

    def _closes_values(self, position: int) -> bool:
        """Whether the brace that starts a line closes an open value, not the computation.

        It does where braces enough for both follow, or where an instruction goes on or begins
        behind those of the values.
        """
        if self.is_header:
            return True
        if len(self.stack) > _MAX_CLOSED_BY_LINES or self.stack[-1] != b"}":
            return False
        following = b""
        for expected in reversed(self.stack):
            if not self.data.startswith(expected, position):
                return following in (b",", b"]")
            position = self.scanner.skip_blank(position + 1)
            following = self.data[position : position + 1]
        return following in (b"}", b",", b"]") or self.scanner.starts_instruction(position)

    def _ends_at(self, place: int) -> bool:
        data, scanner = self.data, self.scanner
        if self.stack:
            following = self.position
            return scanner.starts_computation(following) or (
                not self.nested
                and (
                    _PLAIN_START.match(data, following) is not None
                    or (
                        _CLOSE_LINE.match(data, following) is not None
                        and not self._closes_values(following)
                    )
                )
            )
        last = place - 1
        while last > self.start and data[last] in b" \t\r":
            last -= 1
        following = scanner.skip_blank(self.position)
        if following >= scanner.size:
            return True
        if data[self.start : place].strip() == b"ROOT":
            self.position = following
            return False
        self.assigned |= data.startswith(b"=", following)
        joined = (
            data[last] in b",="
            or data[following] in b","
            or not self.called
            or (data[following] in _GOES_ON and self._is_value_open(place))
        )
        if not joined or data[following] in b"}" or scanner.starts_instruction(following):
            return True
        self.position = following
        return False
