"""Text to module: the front door of the package.

Texts as XLA prints them are cut at blank lines, and each distinct computation is read once;
anything else is cut by brackets (`scan.py`). A border found at a blank line is trusted only
because every line before it was proved closed. What is not understood becomes `Unparsed`.
"""

from __future__ import annotations

import re

from hlo_parser import grammar, patterns
from hlo_parser.body import BodyReader
from hlo_parser.computation import Computation
from hlo_parser.errors import HloSyntaxError, Span, Unparsed
from hlo_parser.frames import FrameTables
from hlo_parser.interner import Block, Interner
from hlo_parser.module import Header, Module
from hlo_parser.pieces import TextCutter
from hlo_parser.scan import Scanner

_SHOWN = 200
_HEADER = re.compile(rf"HloModule %?+({patterns.NAME}):?+({patterns.ATTRIBUTE_LIST})", re.ASCII)
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
            self.data.count(b"\n") + (not self.data.endswith(b"\n")),
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
            if match is not None:
                header = headers[raw] = Header(text, match.group(1), _attributes(match.group(2)))
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
        data, interner = self.data, self.interner
        blocks, get = interner.blocks, interner.blocks.get
        size = len(data)
        previous: Block | None = None
        guess = interner.first
        position = self.position
        while position < size:
            block = guess
            if block is None or not data.startswith(block.raw, position):
                end = data.find(b"\n\n", position)
                raw = data[position : end + 2] if end >= 0 else data[position:] + b"\n\n"
                block = get(raw)
                if block is None:
                    computation = _ordinary_computation(raw, interner)
                    if computation is None:
                        position = self._odd_computation(position)
                        previous, guess = None, None
                        continue
                    block = blocks[raw] = Block(raw, computation)
                if previous is None:
                    interner.first = block
                else:
                    previous.following = block
            self._take(block, position)
            position += len(block.raw)
            previous, guess = block, block.following

    def _take(self, block: Block, position: int) -> None:
        computation = block.computation
        line = self._line_at(position)
        self.cutter.keep_computation(block.raw, position)
        self.computations.append(computation)
        self.first_lines.append(line)
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


def _attributes(tail: str) -> dict[str, str]:
    return {key[:-1]: value for key, value in patterns.attribute.findall(tail)}


def _attributes_of_foot(text: str) -> dict[str, str]:
    found = re.findall(rf",\s*+({patterns.KEY})({patterns.VALUE})", text, re.ASCII)
    return {key[:-1]: value for key, value in found}


def _ordinary_computation(raw: bytes, interner: Interner) -> Computation | None:
    """Read a block in XLA's own spelling; None when any line of it is not."""
    text = decode(raw[:-2])
    head, _, rest = text.partition("\n  ")
    body, _, foot_text = rest.rpartition("\n}")
    foot = patterns.computation_foot.fullmatch(foot_text)
    if not head.endswith(" {") or foot is None or not body:
        return None
    match = patterns.computation_head.fullmatch(head, 0, len(head) - 2)
    if match is None or (match.end(2) < len(head) - 2 and ") -> " not in head):
        return None
    lines = body.split("\n  ")
    reader = interner.lines
    found = list(map(reader.instructions.get, lines))
    if None in found:
        for index, instruction in enumerate(found):
            if instruction is None:
                known = reader.instructions.get(lines[index]) or reader.ordinary(lines[index])
                if known is None:
                    return None
                found[index] = known
    instructions = tuple(instruction for instruction in found if instruction is not None)
    offsets = _offsets(lines) if "\n" in body and any("\n" in line for line in lines) else None
    return Computation(
        raw,
        match.group(2),
        match.group(1) is not None,
        foot.group(1) or "main",
        instructions,
        text.count("\n") + 1,
        offsets,
    )


def _offsets(lines: list[str]) -> tuple[int, ...]:
    offsets: list[int] = []
    line = 1
    for text in lines:
        offsets.append(line)
        line += 1 + text.count("\n")
    return tuple(offsets)
