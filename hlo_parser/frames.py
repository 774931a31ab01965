"""The stack-frame tables of a module text, and the source places they give.

Takes the text of the four tables (`FileNames` to `StackFrames`, printed since December 2025)
and answers which file, line and call chain a `stack_frame_id` means. The tables are per file:
the same id may mean another line in the next dump.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo_parser import grammar
from hlo_parser.grammar import FrameParts
from hlo_parser.patterns import STRING
from hlo_parser.possessive import compile_pattern
from hlo_parser.values import escape, unquote

_NAMES = rf"((?:\d++ {STRING}\n)*+)"
_ROWS = r"((?:\d++ \{(?:[a-z_]++=\d++ ?+)*+\}\n)*+)"
_TABLES = compile_pattern(
    rf"FileNames\n{_NAMES}\nFunctionNames\n{_NAMES}\nFileLocations\n{_ROWS}\nStackFrames\n{_ROWS}",
    re.ASCII,
)
_STRING = compile_pattern(STRING)
_ENTRY = compile_pattern(r"([a-z_]++)=(\d++)", re.ASCII)
_LOCATION_KEYS = frozenset("file_name_id function_name_id line end_line column end_column".split())
_FRAME_KEYS = frozenset("file_location_id parent_frame_id".split())
_MAX_FRAMES = 1000


@dataclass(frozen=True, slots=True)
class Frame:
    """One call in a chain; `function` is None when the text names none."""

    file: str
    line: int
    function: str | None


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A place in the user's program.

    `frames` goes from the innermost outwards, the first being this place; it is empty when the
    text gives only file and line. Columns count as the tables print them (Python's, from 0).
    """

    file: str
    line: int
    column: int | None = None
    end_line: int | None = None
    function: str | None = None
    frames: tuple[Frame, ...] = ()


def _parts_of(match: re.Match[str]) -> FrameParts:
    files, functions, locations, frames = match.groups()
    return FrameParts(
        tuple(_STRING.findall(files)),
        tuple(_STRING.findall(functions)),
        _rows(locations),
        _rows(frames),
    )


def _rows(text: str) -> tuple[dict[str, int], ...]:
    return tuple(
        {key: int(number[:18]) for key, number in _ENTRY.findall(row)} for row in text.splitlines()
    )


def _table(title: str, rows: Iterable[str]) -> str:
    numbered = (f"{number} {row}\n" for number, row in enumerate(rows, 1))
    return f"{title}\n{''.join(numbered)}"


def _row_text(row: Mapping[str, int]) -> str:
    return f"{{{' '.join(f'{key}={number}' for key, number in row.items())}}}"


class FrameTables:
    """Frame ids to source places."""

    __slots__ = (
        "_files",
        "_frames",
        "_functions",
        "_known",
        "_locations",
        "_numbers",
        "_offset",
        "_text",
    )

    def __init__(self, text: str, parts: FrameParts | None) -> None:
        """Without `parts` the text has the form XLA prints, and is cut when first asked for."""
        self._text = text
        self._numbers: Mapping[int, int] | None = None
        self._known: dict[int, SourceLocation | None] = {}
        if parts is not None:
            self._take(parts)

    if not TYPE_CHECKING:
        # Reached for a slot that is still empty, as in AttributeList.
        def __getattr__(self, name: str) -> object:
            if name not in FrameTables.__slots__:
                raise AttributeError(name, name=name, obj=self)
            # Once the text is gone, another thread has filled all slots.
            if text := self._text:
                self._take(_parts_of(_TABLES.fullmatch(text)))
            return getattr(self, name)

    def _take(self, parts: FrameParts) -> None:
        self._files = tuple(unquote(text) for text in parts.file_names)
        self._functions = tuple(unquote(text) for text in parts.function_names)
        self._locations = parts.locations
        self._frames = parts.frames
        # Printed is parent + 1, so that 1 means none; only the first printer (December 2025)
        # wrote the plain id, with 0 for none (xla/hlo/ir/hlo_module.cc, StackFrameIndex).
        plain = any(row.get("parent_frame_id") == 0 for row in parts.frames)
        self._offset = 0 if plain else 1
        self._text = ""

    @classmethod
    def from_text(cls, text: str) -> FrameTables:
        """Read the four tables; raises grammar.GrammarError."""
        whole = text if text.endswith("\n") else text + "\n"
        parts = None if _TABLES.fullmatch(whole) else grammar.read_frames(text)
        return cls(whole, parts)

    def renumbered(self, numbers: Mapping[int, int]) -> FrameTables:
        """These tables for a text whose frame ids count otherwise.

        `numbers` gives the row of each id of that text; an id that it does not hold has no place.
        """
        made = copy(self)
        # One that was not cut yet would cut its own text, and keep the numbers.
        made._known = {}
        made._numbers = dict(numbers)
        return made

    @property
    def numbers(self) -> Mapping[int, int] | None:
        """The row of each id, where ids are not the numbers of rows that they should be."""
        return self._numbers

    def __len__(self) -> int:
        """The number of frames."""
        return len(self._frames)

    def __bool__(self) -> bool:
        return True

    def extends(self, other: FrameTables) -> bool:
        """Whether these begin with all rows of the other tables."""
        pairs = (
            (self._files, other._files),
            (self._functions, other._functions),
            (self._locations, other._locations),
            (self._frames, other._frames),
        )
        return all(mine[: len(theirs)] == theirs for mine, theirs in pairs)

    def unknown_keys(self) -> tuple[str, ...]:
        """Keys of rows that XLA's tables do not have (hlo_parser.cc, ParseStackFrameIndex)."""
        tables = ((self._locations, _LOCATION_KEYS), (self._frames, _FRAME_KEYS))
        return tuple(key for rows, keys in tables for row in rows for key in row if key not in keys)

    def missing_keys(self) -> tuple[tuple[str, int], ...]:
        """Keys that a row does not have, though XLA asks for all of them.

        Each with the number of the row, 0-based and counted through both tables of rows.
        """
        tables = ((self._locations, _LOCATION_KEYS), (self._frames, _FRAME_KEYS))
        rows = [(row, keys) for table, keys in tables for row in table]
        return tuple(
            (key, number)
            for number, (row, keys) in enumerate(rows)
            for key in sorted(keys)
            if key not in row
        )

    def text(self) -> str:
        """The four tables as XLA prints them, parents one too high; ends with a line break."""
        rows = [
            {**row, "parent_frame_id": max(row.get("parent_frame_id", 0) - self._offset, 0) + 1}
            for row in self._frames
        ]
        return "\n".join(
            (
                _table("FileNames", (f'"{escape(text.encode())}"' for text in self._files)),
                _table("FunctionNames", (f'"{escape(text.encode())}"' for text in self._functions)),
                _table("FileLocations", map(_row_text, self._locations)),
                _table("StackFrames", map(_row_text, rows)),
            )
        )

    def location(self, frame_id: int) -> SourceLocation | None:
        """The place of a 1-based frame id, None when the tables do not hold it.

        A parent that is not below its own frame is taken for none, and a frame that stands in
        the chain already is left out: from 0.9.2 chains repeat themselves.
        """
        if self._numbers is not None:
            frame_id = self._numbers.get(frame_id, 0)
        if frame_id not in self._known:
            self._known[frame_id] = self._location(frame_id)
        return self._known[frame_id]

    def _location(self, frame_id: int) -> SourceLocation | None:
        row = self._row(frame_id)
        if row is None:
            return None
        frames: dict[Frame, None] = {}
        current = frame_id
        while 0 < current <= len(self._frames) and len(frames) < _MAX_FRAMES:
            frame = self._frame(current)
            if frame is not None:
                frames[frame] = None
            parent = self._frames[current - 1].get("parent_frame_id", 0) - self._offset
            if parent >= current:
                break
            current = parent
        first = self._frame(frame_id)
        if first is None:
            return None
        return SourceLocation(
            file=first.file,
            line=first.line,
            column=row.get("column"),
            end_line=row.get("end_line") or None,
            function=first.function,
            frames=tuple(frames),
        )

    def _row(self, frame_id: int) -> dict[str, int] | None:
        """The row of FileLocations a frame points at."""
        if not 0 < frame_id <= len(self._frames):
            return None
        number = self._frames[frame_id - 1].get("file_location_id", 0)
        return self._locations[number - 1] if 0 < number <= len(self._locations) else None

    def _frame(self, frame_id: int) -> Frame | None:
        row = self._row(frame_id)
        if row is None:
            return None
        file_number, function_number = row.get("file_name_id", 0), row.get("function_name_id", 0)
        if not 0 < file_number <= len(self._files):
            return None
        known = 0 < function_number <= len(self._functions)
        return Frame(
            file=self._files[file_number - 1],
            line=row.get("line", 0),
            function=self._functions[function_number - 1] if known else None,
        )
