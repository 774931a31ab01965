"""A module: one text, as header, frame tables and computations, with their places in it.

Computations and instructions are shared with other modules, so whatever depends on this text
(line numbers, which body a name means, which line a frame id means) is asked here.
"""

from __future__ import annotations

from bisect import bisect_right
from copy import copy
from types import MappingProxyType
from typing import TYPE_CHECKING

from hlo_parser.frames import FrameTables, SourceLocation
from hlo_parser.values import int_from_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hlo_parser.computation import Computation
    from hlo_parser.errors import Unparsed
    from hlo_parser.instruction import Instruction
    from hlo_parser.pieces import TextPieces


class Header:
    """The `HloModule` line; shared by equal text."""

    __slots__ = ("attributes", "name", "text")

    text: str
    """As printed; empty for a text without header."""
    name: str
    attributes: Mapping[str, str]
    """Raw text of each value by key, in printed order."""

    def __init__(self, text: str, name: str, attributes: Mapping[str, str]) -> None:
        self.text = text
        self.name = name
        self.attributes = MappingProxyType(dict(attributes))

    def __repr__(self) -> str:
        return f"<Header {self.name}>"

    @property
    def is_scheduled(self) -> bool:
        """Whether line order in each non-fusion computation is the schedule."""
        return self.attributes.get("is_scheduled") == "true"

    @property
    def num_partitions(self) -> int:
        """1 when not printed (printed since November 2023, when not 1)."""
        return int_from_text(self.attributes.get("num_partitions", "")) or 1

    @property
    def replica_count(self) -> int:
        """1 when not printed (printed since November 2023, when not 1)."""
        return int_from_text(self.attributes.get("replica_count", "")) or 1


class Module:
    """One HLO text; immutable, holds at least one computation."""

    __slots__ = (
        "_by_name",
        "_callers",
        "_entry",
        "_first_lines",
        "_order",
        "_pieces",
        "_places",
        "byte_size",
        "computations",
        "frames",
        "header",
        "instruction_count",
        "line_count",
        "name",
        "unparsed",
    )

    name: str
    header: Header
    frames: FrameTables | None
    computations: tuple[Computation, ...]
    """In text order; one printed in place of its name stands before its caller."""
    unparsed: tuple[Unparsed, ...]
    """What was not understood, in text order."""
    line_count: int
    byte_size: int
    """Of the text given, in UTF-8."""
    instruction_count: int

    def __init__(
        self,
        header: Header,
        frames: FrameTables | None,
        computations: tuple[Computation, ...],
        first_lines: tuple[int, ...],
        unparsed: tuple[Unparsed, ...],
        line_count: int,
        byte_size: int,
        instruction_count: int,
        pieces: TextPieces,
    ) -> None:
        self.header = header
        self.frames = frames
        self.computations = computations
        self._first_lines = first_lines
        self.unparsed = unparsed
        self.line_count = line_count
        self.byte_size = byte_size
        self.instruction_count = instruction_count
        self._pieces = pieces
        self._order: list[int] | None = None
        self._entry: Computation | None = None
        self._by_name: dict[str, Computation] | None = None
        self._callers: dict[str, tuple[tuple[Computation, Instruction], ...]] | None = None
        self._places: dict[int, int] | None = None
        self.name = header.name or f"module_{self.entry.name}"

    def __repr__(self) -> str:
        return f"<Module {self.name}, {len(self.computations)} computations>"

    @property
    def entry(self) -> Computation:
        """The computation marked ENTRY, else the last one."""
        entry = self._entry
        if entry is None:
            marked = (c for c in reversed(self.computations) if c.is_entry)
            entry = self._entry = next(marked, self.computations[-1])
        return entry

    @property
    def pieces(self) -> tuple[bytes, ...]:
        """The text as it was read, to the byte, in pieces to be joined.

        Texts parsed with one interner share the pieces that they have in common: the header, the
        frame tables, each computation. What is between them, or not understood, is there too.
        """
        return self._pieces.as_read()

    def noting(self, unparsed: Iterable[Unparsed]) -> Module:
        """This module with more that was not understood."""
        more = tuple(unparsed)
        if not more:
            return self
        made = copy(self)
        made.unparsed = tuple(sorted((*self.unparsed, *more), key=_by_place))
        return made

    def with_frames(self, frames: FrameTables | None) -> Module:
        """This module with other frame tables than its text has; `pieces` stay as they were."""
        made = copy(self)
        made.frames = frames
        return made

    def get(self, name: str) -> Computation | None:
        """The (first) computation of that name."""
        if self._by_name is None:
            by_name: dict[str, Computation] = {}
            for computation in self.computations:
                by_name.setdefault(computation.name, computation)
            self._by_name = by_name
        return self._by_name.get(name)

    def callees(self, instruction: Instruction) -> tuple[tuple[str, Computation], ...]:
        """Role and computation of each call; names this module does not hold are left out."""
        return tuple(
            [
                (callee.role, computation)
                for callee in instruction.callees
                if (computation := self.get(callee.name)) is not None
            ]
        )

    def callers(self, name: str) -> tuple[tuple[Computation, Instruction], ...]:
        """Which instructions call the computation, in text order, each once."""
        callers = self._callers
        if callers is None:
            collected: dict[str, list[tuple[Computation, Instruction]]] = {}
            for computation in self.computations:
                for instruction in computation.calling:
                    for callee in dict.fromkeys([c.name for c in instruction.callees]):
                        collected.setdefault(callee, []).append((computation, instruction))
            callers = self._callers = {key: tuple(found) for key, found in collected.items()}
        return callers.get(name, ())

    @property
    def first_lines(self) -> tuple[int, ...]:
        """1-based first lines of `computations`, one for each."""
        return self._first_lines

    def first_line(self, computation: Computation) -> int:
        """1-based line of the computation's first line; raises KeyError for a foreign one."""
        if self._places is None:
            places: dict[int, int] = {}
            for own, line in zip(self.computations, self._first_lines, strict=True):
                places.setdefault(id(own), line)
            self._places = places
        if id(computation) not in self._places:
            raise KeyError(computation.name)
        return self._places[id(computation)]

    def line_of(self, computation: Computation, instruction: Instruction) -> int:
        """1-based line of an instruction's start; raises KeyError when it is not in there."""
        position = computation.position(instruction.name)
        return self.first_line(computation) + computation.line_offset(position)

    def computation_at(self, line: int) -> Computation | None:
        """The computation whose text holds the 1-based line."""
        # Those printed in place stand before the one they are printed in, and start later.
        order = self._order
        if order is None:
            first_lines = self._first_lines
            order = self._order = sorted(range(len(first_lines)), key=first_lines.__getitem__)
        index = bisect_right(order, line, key=self._first_lines.__getitem__) - 1
        while index >= 0:
            computation = self.computations[order[index]]
            if line < self._first_lines[order[index]] + computation.line_count:
                return computation
            index = -1 if not computation.is_in_place else index - 1
        return None

    def source_of(self, instruction: Instruction) -> SourceLocation | None:
        """Where the instruction stands in the user's program: frame table, else inline place.

        Where the two differ the inline one holds: protos of 0.6 to 0.8 have both, and after
        `shardy-xla` ids that do not fit their table.
        """
        metadata = instruction.metadata
        if metadata is None:
            return None
        if self.frames is not None and metadata.stack_frame_id:
            location = self.frames.location(metadata.stack_frame_id)
            if location is not None and (
                metadata.source_file is None
                or (metadata.source_file, metadata.source_line) == (location.file, location.line)
            ):
                return location
        if metadata.source_file is None:
            return None
        return SourceLocation(
            file=metadata.source_file,
            line=metadata.source_line or 0,
            column=metadata.source_column,
            end_line=metadata.source_end_line,
        )


def _by_place(unparsed: Unparsed) -> tuple[int, int]:
    return unparsed.span.line, unparsed.span.column
