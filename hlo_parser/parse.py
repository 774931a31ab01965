"""Text to module: the front door of the package.

Texts as XLA prints them are cut at blank lines, and each distinct computation is read once;
anything else is cut by brackets (`scan.py`). A border found at a blank line is trusted only
because every line before it was proved closed. What is not understood becomes `Unparsed`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from hlo_parser import grammar, patterns
from hlo_parser.body import BodyReader
from hlo_parser.computation import Computation
from hlo_parser.errors import HloSyntaxError, Span, Unparsed
from hlo_parser.frames import FrameTables
from hlo_parser.interner import Block, Interner
from hlo_parser.lines import LineReader, split_attributes
from hlo_parser.module import Header, Module
from hlo_parser.pieces import TextCutter
from hlo_parser.scan import Scanner

_SHOWN = 200
_HEADER = re.compile(rf"HloModule %?+({patterns.NAME}):?+([^\n]*+)", re.ASCII)
_TABLE_LINES = re.compile(
    rb"(?:FileNames|FunctionNames|FileLocations|StackFrames)[ \t]*+(?:\n|$)|"
    rb'[ \t]*+\d++[ \t]++(?:"(?:[^"\\\n]++|\\[^\n])*+"|\{[^{}\n]*+\})[ \t]*+(?:\n|$)|[ \t]*+\n'
)
_NO_HEADER = Header("", "", {})


def parse_module(
    text: str | bytes, *, strict: bool = False, interner: Interner | None = None
) -> Module:
    """Read one HLO text.

    Lenient reading keeps what it does not understand in `Module.unparsed`. With `strict`, the
    first thing that is not understood or does not fit together raises HloSyntaxError. In both
    modes a text without a single instruction raises it.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    module = _Reading(data, interner or Interner()).module()
    if strict:
        from hlo_parser.strict import check

        check(module, data)
    return module


def decode(raw: bytes) -> str:
    """Bytes of a text as a string; bytes that are not UTF-8 become visible escapes."""
    return raw.decode("utf-8", errors="backslashreplace")


class _Reading:
    """The state of reading one text from front to back."""

    __slots__ = (
        "byte_size",
        "computations",
        "cutter",
        "data",
        "first_lines",
        "interner",
        "line",
        "marked",
        "position",
        "scanner_made",
        "unparsed",
    )

    def __init__(self, data: bytes, interner: Interner) -> None:
        self.byte_size = len(data)
        self.cutter = TextCutter(data, interner.between)
        self.data = self.cutter.data
        self.interner = interner
        self.position = 0
        self.line = 1
        self.marked = 0
        self.scanner_made: Scanner | None = None
        self.computations: list[Computation] = []
        self.first_lines: list[int] = []
        self.unparsed: list[Unparsed] = []

    def module(self) -> Module:
        header = self._header()
        self.cutter.keep_to(self.position)
        frames = self._frames()
        self.cutter.keep_to(self.position)
        self._body()
        if not self.computations:
            raise HloSyntaxError("no HLO computation in this text", *self._first_place())
        module = Module(
            header,
            frames,
            tuple(self.computations),
            tuple(self.first_lines),
            tuple(self.unparsed),
            self._line_at(len(self.data)) - self.data.endswith(b"\n"),
            self.byte_size,
            self.cutter.pieces(),
        )
        self.interner.count(self.byte_size, len(self.computations), module.instruction_count)
        return module

    def _first_place(self) -> tuple[Span, str]:
        if self.unparsed:
            first = self.unparsed[0]
            return first.span, first.text
        line_text = decode(self.data[: min(self.scanner.line_end(0), 4 * _SHOWN)])
        return Span(1, 1, 1, 1), line_text

    @property
    def scanner(self) -> Scanner:
        if self.scanner_made is None:
            self.scanner_made = Scanner(self.data)
        return self.scanner_made

    # ---- places ------------------------------------------------------------------------------

    def _line_at(self, position: int) -> int:
        """1-based line of a position not before the last one asked for."""
        self.line += self.data.count(b"\n", self.marked, position)
        self.marked = position
        return self.line

    def _column(self, position: int) -> int:
        start = self.data.rfind(b"\n", 0, position) + 1
        return len(decode(self.data[start:position])) + 1

    def _add_unparsed(self, start: int, end: int, reason: str) -> None:
        line, column = self._line_at(start), self._column(start)
        raw = self.data[start:end]
        end_line = line + raw.count(b"\n")
        span = Span(line, column, end_line, self._column(end))
        self.unparsed.append(Unparsed(span, decode(raw[: 4 * _SHOWN])[:_SHOWN], reason))

    # ---- header and tables ---------------------------------------------------------------------

    def _header(self) -> Header:
        data, headers = self.data, self.interner.headers
        end = data.find(b"\n\n")
        raw = data[:end] if end >= 0 else b""
        header = headers.get(raw)
        if header is None and raw.startswith(b"HloModule "):
            text = decode(raw)
            match = _HEADER.fullmatch(text)
            attributes = split_attributes(match.group(2)) if match is not None else None
            if match is not None and attributes is not None:
                header = headers[raw] = Header(text, match.group(1), attributes)
        if header is not None:
            self.position = end + 2
            return header
        return self._odd_header()

    def _odd_header(self) -> Header:
        start = self.scanner.skip_blank(0)
        if not self.data.startswith(b"HloModule", start):
            self.position = start
            return _NO_HEADER
        end = self.scanner.statement_end(start)
        self.position = self.scanner.skip_blank(end)
        text = decode(self.data[start:end]).rstrip()
        try:
            parts = grammar.read_header(text)
        except grammar.GrammarError as error:
            self._add_unparsed(start, end, error.message)
            return Header(text, _name_in(text), {})
        return Header(text, parts.name, parts.attributes)

    def _frames(self) -> FrameTables | None:
        if not self.data.startswith(b"FileNames", self.position):
            return None
        start, data = self.position, self.data
        end = data.find(b"\n\n\n", start)
        known = self.interner.frames.get(data[start:end]) if end >= 0 else None
        if known is not None:
            self.position = end + 3
            return known
        end = start
        while (match := _TABLE_LINES.match(data, end)) is not None and match.end() > end:
            end = match.end()
        raw = data[start:end].rstrip()
        self.position = self.scanner.skip_blank(end)
        try:
            frames = FrameTables.from_text(decode(raw))
        except grammar.GrammarError as error:
            self._add_unparsed(start, end, error.message)
            return None
        self.interner.frames[raw] = frames
        return frames

    # ---- computations --------------------------------------------------------------------------

    def _body(self) -> None:
        data, size = self.data, len(self.data)
        position = self.position
        odd_until = 0
        previous: Block | None = None
        guess = self.interner.first
        while position < size:
            if guess is not None and data.startswith(guess.raw, position):
                block = guess
            else:
                block = self._block_at(position) if position >= odd_until else None
                if block is None:
                    # Up to the next blank line nothing will be ordinary: look at it once only.
                    odd_until = max(odd_until, self._blank_line(position))
                    position = self._odd_computation(position)
                    previous, guess = None, None
                    continue
                if previous is None:
                    self.interner.first = block
                else:
                    previous.following = block
                if block.following is None and guess is not None:
                    block.following = guess.following
            self._take(block, position)
            position += len(block.raw)
            previous, guess = block, block.following

    def _blank_line(self, position: int) -> int:
        """Behind the next blank line, or the end of the text."""
        end = self.data.find(b"\n\n", position)
        return len(self.data) if end < 0 else end + 2

    def _block_at(self, position: int) -> Block | None:
        """The computation up to the next blank line; None when it is not in XLA's spelling."""
        blocks = self.interner.blocks
        raw = self.data[position : self._blank_line(position)]
        if not raw.endswith(b"\n\n"):
            raw = raw.rstrip(b"\n") + b"\n\n"
        block = blocks.get(raw)
        if block is None:
            computation = _ordinary_computation(raw, self.interner.lines)
            if computation is not None:
                block = blocks[raw] = Block(raw, computation)
        return block

    def _take(self, block: Block, position: int) -> None:
        computation = block.computation
        line = self._line_at(position)
        self.cutter.keep_computation(block.raw, position)
        self.computations.append(computation)
        self.first_lines.append(line)
        if computation.gaps:
            self._take_gaps(computation, line)
        self.line += block.line_breaks
        self.marked = position + len(block.raw)

    def _take_gaps(self, computation: Computation, line: int) -> None:
        for gap in computation.gaps:
            span = Span(line + gap.line, gap.column, line + gap.end_line, gap.end_column)
            self.unparsed.append(Unparsed(span, gap.text, gap.reason))

    def _odd_computation(self, position: int) -> int:
        """Read one computation by its brackets, or pass over what is none; gives what is next."""
        scanner = self.scanner
        start = scanner.skip_blank(position)
        if start >= scanner.size:
            return start
        head = scanner.head(start)
        if head is None:
            return self._pass_over(start)
        name, is_entry, place = head
        body = BodyReader(scanner, start, self.interner.lines)
        end = body.read(place)
        foot = scanner.foot_end(end)
        raw = self.data[start:foot]
        if not body.instructions:
            self._add_unparsed(start, foot, "a computation without an instruction")
            return scanner.skip_blank(foot)
        block = self.interner.blocks.get(raw)
        if block is None:
            thread = _attributes_of_foot(decode(self.data[end:foot])).get(
                "execution_thread", "main"
            )
            block = self.interner.blocks[raw] = Block(
                raw, body.computation(raw, name, is_entry, thread.strip('"'))
            )
        self._take(block, start)
        return scanner.skip_blank(foot)

    def _pass_over(self, start: int) -> int:
        """Collect the lines up to the next computation as one unparsed stretch."""
        scanner = self.scanner
        end = scanner.line_end(start)
        while end < scanner.size and not scanner.starts_computation(end + 1):
            end = scanner.line_end(end + 1)
        self._add_unparsed(start, end, "expected a computation")
        return end


def _name_in(text: str) -> str:
    match = re.match(rf"HloModule\s++%?+({patterns.NAME})", text, re.ASCII)
    return match.group(1) if match else ""


def _attributes_of_foot(text: str) -> dict[str, str]:
    found = re.findall(rf",\s*+({patterns.KEY})({patterns.VALUE})", text, re.ASCII)
    return {key[:-1]: value for key, value in found}


def _ordinary_computation(raw: bytes, reader: LineReader) -> Computation | None:
    """Read a block in XLA's own spelling; None when any line of it is not."""
    text = decode(raw)
    head_end, foot_start = text.find("\n  "), text.rfind("\n}")
    foot = patterns.computation_foot.fullmatch(text, foot_start + 2, len(text) - 2)
    if foot is None or not 0 < head_end < foot_start:
        return None
    head = patterns.computation_head.fullmatch(text, 0, head_end)
    if head is None:
        return None
    lines = text[head_end + 3 : foot_start].split("\n  ")
    found = list(map(reader.instructions.get, lines))
    if None in found:
        for index, instruction in enumerate(found):
            if instruction is None:
                instruction = found[index] = reader.ordinary(lines[index])
                if instruction is None:
                    return None
    instructions = cast("tuple[Instruction, ...]", tuple(found))
    line_count = text.count("\n") - 1
    return Computation(
        raw,
        head.group(2),
        head.group(1) is not None,
        foot.group(1) or "main",
        instructions,
        line_count,
        None if line_count == len(lines) + 2 else _offsets(lines),
    )


def _offsets(lines: list[str]) -> tuple[int, ...]:
    offsets: list[int] = []
    line = 1
    for text in lines:
        offsets.append(line)
        line += 1 + text.count("\n")
    return tuple(offsets)
