"""Text to module: the front door of the package.

Texts as XLA prints them are cut at blank lines, and each distinct computation is read once
(`blocks.py`); anything else is cut by its brackets (`scan.py`, `body.py`). A border found at a
blank line is trusted only because every line before it was proved closed. What is not understood
becomes `Unparsed`.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

from hlo_parser import grammar, patterns
from hlo_parser.blocks import Block, read_block
from hlo_parser.body import BARE_NAME, NO_INSTRUCTION, BodyReader, Context, Inner
from hlo_parser.comments import pairs_in
from hlo_parser.errors import HloSyntaxError, Span, Unparsed
from hlo_parser.frames import FrameTables
from hlo_parser.head_and_foot import foot_attributes
from hlo_parser.interner import Interner, Tables
from hlo_parser.lines import LineReader
from hlo_parser.module import Header, Module
from hlo_parser.pieces import TextCutter, decode
from hlo_parser.possessive import compile_pattern
from hlo_parser.scan import Scanner
from hlo_parser.stretches import lines_of, sharpened
from hlo_parser.strict import check

if TYPE_CHECKING:
    from hlo_parser.computation import Computation

_SHOWN = 200
_NO_COMPUTATION = "expected a computation"
_HEADER = compile_pattern(rf"HloModule %?+({patterns.NAME}):?+([^\n]*+)", re.ASCII)
_HEADER_NAME = compile_pattern(rf"HloModule\s++%?+({patterns.NAME})", re.ASCII)
_OPEN_COMMENT = r"/\*(?:[^*]++|\*(?!/))*+"
_COMMENT = rf"{_OPEN_COMMENT}\*/|//[^\n]*+"
# A comment that never closes is taken to the end: else each of several would be.
_TABLES = compile_pattern(
    rf"(?:\s*+(?:{_COMMENT}|(?:FileNames|FunctionNames|FileLocations|StackFrames)(?=[\s/])|"
    rf"\d++(?:\s++|{_COMMENT})*+(?:\"(?:[^\"\\\n]++|\\[^\n])*+\"|'(?:[^'\\\n]++|\\[^\n])*+'|"
    rf"\{{(?:[^{{}}/]++|{_OPEN_COMMENT}(?:\*/|\Z)|//[^\n]*+|/)*+\}})))*+".encode()
)
# Twice as fast as bytes.find with two characters of which the first is frequent.
_BLANK_LINE = compile_pattern(rb"\n\n")
_SPACE = compile_pattern(rb"[ \t\r\n]*+")
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
    reading = _Reading(data, interner or Interner())
    try:
        module = reading.module()
    except HloSyntaxError:
        if strict and reading.unparsed and reading.unparsed[0].reason != _NO_COMPUTATION:
            raise sharpened(reading.unparsed[0], lines_of(data)) from None
        raise
    if strict:
        check(module, data)
    return module


class _Reading:
    """The state of reading one text from front to back."""

    __slots__ = (
        "byte_size",
        "computations",
        "context_made",
        "cutter",
        "data",
        "first_lines",
        "instruction_count",
        "interner",
        "is_first",
        "line",
        "marked",
        "odd_until",
        "position",
        "unparsed",
    )

    def __init__(self, data: bytes, interner: Interner) -> None:
        self.byte_size = len(data)
        self.cutter = TextCutter(data, interner.between)
        self.data = self.cutter.data
        self.interner = interner
        self.is_first = interner.lines.is_empty
        if not self.is_first:
            interner.end_first_text()
        self.position = 0
        self.line = 1
        self.marked = 0
        self.odd_until = 0
        self.instruction_count = 0
        self.context_made: Context | None = None
        self.computations: list[Computation] = []
        self.first_lines: list[int] = []
        self.unparsed: list[Unparsed] = []

    def module(self) -> Module:
        header = self._header()
        self.cutter.keep_to(self.position)
        frames = self._frames()
        if header is not _NO_HEADER or not self._bare():
            self._computations()
        if not self.computations:
            raise self._refusal(header)
        self._take_gaps()
        self.interner.count(self.byte_size, len(self.computations), self.instruction_count)
        return Module(
            header=header,
            frames=frames,
            computations=tuple(self.computations),
            first_lines=tuple(self.first_lines),
            unparsed=tuple(self.unparsed),
            line_count=self._line_at(len(self.data)) - self.data.endswith(b"\n"),
            byte_size=self.byte_size,
            instruction_count=self.instruction_count,
            pieces=self.cutter.text_pieces(),
        )

    def _take_gaps(self) -> None:
        """Report what is not understood inside computations, everything in text order."""
        pairs = zip(self.computations, self.first_lines, strict=True)
        for computation, line in [pair for pair in pairs if pair[0].gaps]:
            for gap in computation.gaps:
                span = Span(line + gap.line, gap.column, line + gap.end_line, gap.end_column)
                self.unparsed.append(Unparsed(span, gap.text, gap.reason))
        self.unparsed.sort(key=lambda gap: (gap.span.line, gap.span.column))

    def _refusal(self, header: Header) -> HloSyntaxError:
        """Why nothing was read: at what is not understood first, or behind one instruction."""
        scanner, message = self.scanner, "no HLO computation in this text"
        size = len(self.data)
        line, column = 1 + self.data.count(b"\n"), self._column(size)
        span = self.unparsed[0].span if self.unparsed else Span(line, column, line, column)
        start = scanner.skip_blank(0)
        if header is _NO_HEADER and scanner.starts_instruction(start):
            behind = scanner.skip_blank(scanner.instruction_end(start))
            rest = self.data[behind:]
            if (
                rest
                and BodyReader(
                    Context(Scanner(self.data[:behind]), LineReader()), start
                ).read_bare()
            ):
                message = "expected the end of the text behind its one instruction"
                line = 1 + self.data.count(b"\n", 0, behind)
                column = self._column(behind)
                span = Span(line, column, line, column + 1)
        return HloSyntaxError(message, span, decode(self.data).split("\n")[span.line - 1])

    @property
    def scanner(self) -> Scanner:
        return self.context.scanner

    @property
    def context(self) -> Context:
        if self.context_made is None:
            self.context_made = Context(Scanner(self.data), self.interner.lines, self.computations)
        return self.context_made

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
        header = headers.get(raw) or _ordinary_header(decode(raw))
        if header is not None and not data.startswith(b",", end + 2):
            headers[raw] = header
            self.position = end + 2
            return header
        return self._odd_header()

    def _odd_header(self) -> Header:
        start = self.scanner.skip_blank(0)
        if not self.data.startswith(b"HloModule", start):
            self.position = start
            return _NO_HEADER
        end = self.scanner.header_end(start)
        self.position = self.scanner.skip_blank(end)
        text = decode(self.data[start:end]).rstrip()
        try:
            parts = grammar.read_header(text)
        except grammar.GrammarError as error:
            self._add_unparsed(start, end, error.message)
            name = _HEADER_NAME.match(text)
            return Header(text, name[1] if name else "", {})
        return Header(text, parts.name, parts.attributes)

    def _frames(self) -> FrameTables | None:
        start, data, interner = self.position, self.data, self.interner
        last = interner.tables
        if last is not None and data.startswith(last.raw, start):
            end = start + len(last.raw)
            # What follows goes on with none of the tables.
            if data.startswith((b"%", b"ENTRY"), end):
                self.cutter.keep(last.raw)
                self.line = self._line_at(start) + last.line_breaks
                self.position = self.marked = end
                return last.frames
        frames = self._other_frames()
        self.cutter.keep_to(self.position)
        if frames is not None:
            raw = self.cutter.pieces[-1]
            interner.tables = Tables(raw, frames, raw.count(b"\n"))
        return frames

    def _other_frames(self) -> FrameTables | None:
        self.position = self._behind_blank(self.position)
        if not self.data.startswith(b"FileNames", self.position):
            return None
        start, data = self.position, self.data
        end = data.find(b"\n\n\n", start)
        known = self.interner.frames.get(data[start:end]) if end >= 0 else None
        if known is not None:
            self.position = end + 3
            return known
        match = _TABLES.match(data, start)
        end = match.end() if match is not None else start
        raw = data[start:end].rstrip()
        self.position = self._behind_blank(end)
        try:
            frames = FrameTables.from_text(decode(raw))
        except grammar.GrammarError as error:
            self._add_unparsed(start, end, error.message)
            return None
        self.interner.frames[raw] = frames
        return frames

    def _behind_blank(self, position: int) -> int:
        """Behind white space and comments; few texts have the latter, which cost a whole walk."""
        space = _SPACE.match(self.data, position)
        position = space.end() if space else position
        is_mark = self.data.startswith(b"/", position)
        return self.scanner.skip_blank(position) if is_mark else position

    # ---- computations --------------------------------------------------------------------------

    def _computations(self) -> None:
        startswith, size, position = self.data.startswith, len(self.data), self.position
        guess = self.interner.first
        run: list[Block] = []
        while True:
            # Nine of ten computations are taken here: nothing but what finds the next one.
            while guess is not None and startswith(guess.raw, position):
                run.append(guess)
                position += guess.size
                guess = guess.following
            if position >= size:
                break
            if (block := self._block_at(position)) is None:
                self._take(run, position)
                position = self._odd_computation(position)
                run, guess = [], None
                continue
            if not run:
                self.cutter.keep_to(position)
            self.interner.follow(run[-1] if run else None, block, guess)
            run.append(block)
            position += block.size
            guess = block.following
        self._take(run, position)

    def _take(self, run: list[Block], end: int) -> None:
        """Add computations that stand one behind the other up to `end`."""
        if not run:
            return
        first_line = self._line_at(end - sum([block.size for block in run]))
        line_breaks = [block.line_breaks for block in run]
        self.first_lines += accumulate(line_breaks[:-1], initial=first_line)
        self.computations += [block.computation for block in run]
        self.cutter.pieces += [block.raw for block in run]
        self.instruction_count += sum([block.instruction_count for block in run])
        self.cutter.end = end
        # The last block may hold line breaks that the text does not.
        self.marked = min(end, len(self.data))
        self.line = first_line + sum(line_breaks) - (end - self.marked)

    def _block_at(self, position: int) -> Block | None:
        """The computation up to the next blank line; None when its borders are not certain."""
        if position < self.odd_until:
            return None
        data, interner = self.data, self.interner
        blank = _BLANK_LINE.search(data, position)
        end = len(data) if blank is None else blank.end()
        raw = data[position:end] if blank else data[position:].rstrip(b"\n") + b"\n\n"
        block = None if self.is_first else interner.block_of(raw)
        block = block or read_block(raw, interner.lines, interner.named)
        if block is None:
            # Nothing up to the blank line will be ordinary: look at it once only.
            self.odd_until = end
            return None
        return interner.keep(block)

    def _odd_computation(self, position: int) -> int:
        """Read one computation by its brackets, or pass over what is none; gives what is next."""
        scanner = self.scanner
        start = scanner.skip_blank(position)
        self.cutter.keep_to(start)
        if start >= scanner.size:
            return start
        head = scanner.head(start)
        if head is None:
            return self._pass_over(start)
        name, is_entry, place = head
        body = BodyReader(self.context, start)
        end = body.read(place)
        foot = scanner.foot_end(end)
        if not body.instructions:
            self._add_unparsed(start, foot, NO_INSTRUCTION)
            return scanner.skip_blank(foot)
        raw = self.data[start:foot]
        block = self.interner.block_of(raw)
        if block is None or body.has_context:
            told = dict(foot_attributes(decode(self.data[end:foot])))
            thread = told.get("execution_thread", "main")
            computation = body.computation(raw, name, is_entry, thread.strip("\"'"))
            block = Block(raw, computation, raw.count(b"\n"))
            if not body.has_context:
                block = self.interner.keep(block)
        line = self._line_at(start)
        for computation, below in (*body.inner, Inner(block.computation, 0)):
            self.computations.append(computation)
            self.first_lines.append(line + below)
            self.instruction_count += len(computation.instructions)
        self.cutter.pieces.append(block.raw)
        self.cutter.end = foot
        following = scanner.skip_blank(foot)
        self.cutter.keep_to(following)
        return following

    def _bare(self) -> bool:
        """Whether the text is one instruction and nothing else; it is read then."""
        scanner, start = self.scanner, self.position
        if start >= scanner.size or scanner.head(start) is not None:
            return False
        body = BodyReader(self.context, start)
        if not body.read_bare():
            return False
        raw = self.data[start:].rstrip()
        computation = body.computation(raw, BARE_NAME, True, "main")
        line = self._line_at(start)
        for made, below in (*body.inner, Inner(computation, 0)):
            self.computations.append(made)
            self.first_lines.append(line + below)
            self.instruction_count += len(made.instructions)
        return True

    def _pass_over(self, start: int) -> int:
        """Collect the lines up to the next computation as one unparsed stretch."""
        scanner = self.scanner
        end = scanner.line_end(start)
        while end < scanner.size and not scanner.starts_computation(end + 1):
            end = scanner.line_end(end + 1)
        self._add_unparsed(start, end, _NO_COMPUTATION)
        return end


def _ordinary_header(text: str) -> Header | None:
    """A header of one line as XLA prints it; None for any other."""
    match = _HEADER.fullmatch(text)
    if match is None or patterns.attribute_list.fullmatch(match[2]) is None:
        return None
    attributes = pairs_in(match[2], patterns.attribute)
    return Header(text, match[1], {key[:-1]: value for key, value in attributes})
