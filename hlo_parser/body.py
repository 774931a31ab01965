"""The body of one computation in a spelling XLA does not print, piece by piece.

Given the place behind the opening brace, reads instructions by their brackets and keeps what it
does not understand as gaps, up to the closing brace or to where the next computation begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hlo_parser import grammar
from hlo_parser.computation import Computation, Gap
from hlo_parser.instruction import Instruction
from hlo_parser.lines import ContextNeeded, LineReader, read_parts, refuse_depth
from hlo_parser.nesting import FreshNames, Unnester, cut_bodies
from hlo_parser.possessive import compile_pattern
from hlo_parser.scan import Scanner

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_BODY_DEPTH = 64
"""Bodies in bodies deeper than this are not read: each level looks at its text again."""

TOO_DEEP = f"computations nest deeper than {MAX_BODY_DEPTH}"
"""Why one of those is not understood."""

NO_INSTRUCTION = "a computation without an instruction"
"""Why a body that closes with nothing in it is not understood."""

BARE_NAME = "_"
"""What XLA calls the computation of a text that is one instruction."""

_SHOWN = 200
_NAMED = compile_pattern(rb"(?:ROOT\s++)?+(?:%?+[A-Za-z_][\w.\-]*+\s++=|%[A-Za-z_][\w.\-]*+\s*+=)")
_BARE = compile_pattern(rb"[^(\[]{0,400}+[(\[]")


class Inner(NamedTuple):
    """A computation printed in place, and its first line, 0-based within the outer one."""

    computation: Computation
    line: int


class Context:
    """What the bodies of one text share: its bytes, what was read, the names not yet used.

    `before` grows while the text is read: the computations that stand before, read in any way.
    """

    __slots__ = ("_before", "_seen", "names", "reader", "root_shapes", "scanner")

    def __init__(
        self, scanner: Scanner, reader: LineReader, before: Sequence[Computation] = ()
    ) -> None:
        self.scanner: Scanner = scanner
        self.reader: LineReader = reader
        self.names: FreshNames = FreshNames(scanner.data)
        self.root_shapes: dict[str, str] = {}
        self._before = before
        self._seen = 0

    def root_shape(self, name: str) -> str:
        """The result shape of a computation read before; empty when there is none."""
        for computation in self._before[self._seen :]:
            self.root_shapes[computation.name] = computation.root.shape.text
        self._seen = len(self._before)
        return self.root_shapes.get(name, "")


class BodyReader:
    """Reads one body; `instructions`, `gaps` and `inner` hold what came of it."""

    __slots__ = (
        "_context",
        "_depth",
        "_marked",
        "_offset",
        "_unnester",
        "gaps",
        "has_context",
        "inner",
        "instructions",
        "offsets",
        "reader",
        "scanner",
        "start",
    )

    inner: list[Inner]
    """Computations printed in place, the innermost first."""
    has_context: bool
    """Whether what was read depends on more than the text of this computation."""

    def __init__(self, context: Context, start: int, depth: int = 0) -> None:
        self._context = context
        self._depth = depth
        self.scanner: Scanner = context.scanner
        self.reader: LineReader = context.reader
        self.start: int = start
        self.instructions: list[Instruction] = []
        self.offsets: list[int] = []
        self.gaps: list[Gap] = []
        self.inner = []
        self.has_context = False
        self._marked = start
        self._offset = 0
        self._unnester: Unnester | None = None

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
        text = self.scanner.raw[start:end].decode("utf-8", errors="backslashreplace").rstrip()
        try:
            self._add(self.reader.read(text), start)
        except ContextNeeded:
            self._odd_instruction(start, end, text)
        except grammar.GrammarError as error:
            self._gap(start, end, error.message)

    def _odd_instruction(self, start: int, end: int, text: str) -> None:
        """One that prints no shape, or instructions or computations in place."""
        if self._depth >= MAX_BODY_DEPTH:
            self._gap(start, end, TOO_DEEP)
            return
        self.has_context = True
        try:
            parts = read_parts(self._without_bodies(start, end))
        except grammar.GrammarError as error:
            self._gap(start, end, error.message)
            return
        self._add_parts(start, text, parts)

    def read_bare(self) -> bool:
        """Read the whole text as one instruction, whose operands become parameters.

        XLA does so too (hlo_parser.cc, ParseSingleInstruction). Gives whether it is one; a text
        that tells no shape at all is none, since log lines look alike.
        """
        start, end = self.start, len(self.scanner.data.rstrip())
        text = self.scanner.raw[start:end].decode("utf-8", errors="backslashreplace")
        if _BARE.match(self.scanner.data, start) is None:
            return False
        lead = "" if _NAMED.match(self.scanner.data, start) else f"{BARE_NAME} = "
        named = lead + self._without_bodies(start, end)
        try:
            refuse_depth(named)
            parts, shapes = grammar.read_bare_instruction(named)
        except grammar.GrammarError:
            return False
        if not parts.shape and not any(shapes.values()):
            return False
        for number, (name, shape) in enumerate(shapes.items()):
            line = f"%{name} = {shape} parameter({number})"
            parameter = grammar.InstructionParts(
                False, name, shape, "parameter", str(number), (), (), {}
            )
            self._add(self.reader.made(line, parameter), start)
        self._add_parts(start, text, parts._replace(is_root=True))
        return True

    def _without_bodies(self, start: int, end: int) -> str:
        """The text with names in place of bodies, which are read."""
        named = cut_bodies(self.scanner, start, end, self._inner_body)
        return named.decode("utf-8", errors="backslashreplace")

    def _add_parts(self, start: int, text: str, parts: grammar.InstructionParts) -> None:
        if self._unnester is None:
            context = self._context
            self._unnester = Unnester(self.reader, context.names, context.root_shape)
            for instruction in self.instructions:
                self._unnester.define(instruction)
        for made, offset in self._unnester.unnest(text, parts):
            self._add(made, start + len(text[:offset].encode()))

    def _inner_body(self, role: str, opening: int) -> tuple[str, int]:
        """Read a body printed in place; gives the name made for it, and where it ends."""
        body = BodyReader(self._context, opening, self._depth + 1)
        name = self._context.names.make(role)
        end = body.read(opening + 1)
        if not body.instructions:
            self._gap(opening, end, NO_INSTRUCTION)
            return name, end
        line = self._line(opening)
        self.inner += [Inner(computation, line + below) for computation, below in body.inner]
        raw = self.scanner.raw[opening:end]
        self.inner.append(Inner(body.computation(raw, name, False, "main"), line))
        return name, end

    def _add(self, instruction: Instruction, start: int) -> None:
        self.instructions.append(instruction)
        self.offsets.append(self._line(start))
        if self._unnester is not None:
            self._unnester.define(instruction)

    def _line(self, position: int) -> int:
        """0-based line within the computation; quick when positions do not go back far."""
        count = self.scanner.data.count
        self._offset += count(b"\n", self._marked, position)
        self._offset -= count(b"\n", position, self._marked)
        self._marked = position
        return self._offset

    def _column(self, position: int) -> int:
        data = self.scanner.raw
        line_start = data.rfind(b"\n", 0, position) + 1
        return len(data[line_start:position].decode("utf-8", errors="backslashreplace")) + 1

    def _gap(self, start: int, end: int, reason: str) -> None:
        raw = self.scanner.raw[start:end].rstrip()
        end = start + len(raw)
        line = self._line(start)
        text = raw[: 4 * _SHOWN].decode("utf-8", errors="backslashreplace")[:_SHOWN]
        self.gaps.append(
            Gap(line, self._column(start), line + raw.count(b"\n"), self._column(end), text, reason)
        )

    def computation(self, raw: bytes, name: str, is_entry: bool, thread: str) -> Computation:
        """What was read, as a computation with the text `raw`."""
        made = Computation(
            raw,
            name,
            is_entry,
            thread,
            tuple(self.instructions),
            raw.count(b"\n") + 1,
            tuple(self.offsets),
            tuple(self.gaps),
        )
        self._context.root_shapes[name] = made.root.shape.text
        return made
