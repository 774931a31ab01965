"""The body of one computation in a spelling XLA does not print, piece by piece.

Given the place behind the opening brace, reads instructions by their brackets and keeps what it
does not understand as gaps, up to the closing brace or to where the next computation begins.
"""

from __future__ import annotations

from hlo_parser import grammar, values
from hlo_parser.computation import Computation, Gap
from hlo_parser.instruction import Instruction
from hlo_parser.lines import LineReader
from hlo_parser.scan import Scanner

_SHOWN = 200


class BodyReader:
    """Reads one body; `instructions` and `gaps` hold what came of it."""

    __slots__ = (
        "_marked",
        "_offset",
        "gaps",
        "instructions",
        "offsets",
        "reader",
        "scanner",
        "start",
    )

    def __init__(self, scanner: Scanner, start: int, reader: LineReader) -> None:
        self.scanner = scanner
        self.reader = reader
        self.start = start
        self.instructions: list[Instruction] = []
        self.offsets: list[int] = []
        self.gaps: list[Gap] = []
        self._marked = start
        self._offset = 0

    def read(self, position: int) -> int:
        """Read from behind the opening brace; gives the place behind the closing one."""
        scanner = self.scanner
        data, size = scanner.data, scanner.size
        while True:
            position = scanner.skip_blank(position)
            if position >= size:
                self._gap(size, size, "the computation is not closed")
                return size
            if data.startswith(b"}", position):
                return position + 1
            if scanner.starts_instruction(position):
                end = max(scanner.instruction_end(position), position + 1)
                self._instruction(position, end)
            elif scanner.starts_computation(position):
                self._gap(position, position, "the computation before is not closed")
                return position
            else:
                end = scanner.line_end(position)
                self._gap(position, end, "expected an instruction")
            position = end

    def _instruction(self, start: int, end: int) -> None:
        text = self.scanner.data[start:end].decode("utf-8", errors="backslashreplace").rstrip()
        try:
            instruction = self.reader.read(text)
        except grammar.GrammarError as error:
            self._gap(start, end, error.message)
            return
        self.instructions.append(instruction)
        self.offsets.append(self._line(start))
        if values.holds_body(instruction.attribute_list.text):
            self._gap(start, end, values.BODY_REASON)

    def _line(self, position: int) -> int:
        """0-based line within the computation; positions must not go back."""
        self._offset += self.scanner.data.count(b"\n", self._marked, position)
        self._marked = position
        return self._offset

    def _column(self, position: int) -> int:
        data = self.scanner.data
        line_start = data.rfind(b"\n", 0, position) + 1
        return len(data[line_start:position].decode("utf-8", errors="backslashreplace")) + 1

    def _gap(self, start: int, end: int, reason: str) -> None:
        raw = self.scanner.data[start:end].rstrip()
        end = start + len(raw)
        line = self._line(start)
        text = raw[: 4 * _SHOWN].decode("utf-8", errors="backslashreplace")[:_SHOWN]
        self.gaps.append(
            Gap(line, self._column(start), line + raw.count(b"\n"), self._column(end), text, reason)
        )

    def computation(self, raw: bytes, name: str, is_entry: bool, thread: str) -> Computation:
        """What was read, as a computation with the text `raw`."""
        return Computation(
            raw,
            name,
            is_entry,
            thread,
            tuple(self.instructions),
            raw.count(b"\n") + 1,
            tuple(self.offsets),
            tuple(self.gaps),
        )
