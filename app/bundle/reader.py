"""Reading a bundle: the report, the text of any dump, and its modules parsed on demand.

Opens the file read-only and believes none of it: every size is held to a limit before bytes are
made, every checksum and reference is verified, and whatever does not fit raises `BadArchive`.
A `Bundle` may be used from several threads at once.
"""

import sqlite3
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Self

import msgspec

from app.bundle.index import (
    BundleModule,
    Place,
    check_format,
    read_frames,
    read_index,
    rows_of,
)
from app.bundle.layout import (
    CorruptData,
    decompress,
    numbers_from_recipe,
    unpack_frame,
)
from app.errors import BadArchive, LimitExceeded, NotFound
from app.model.codec import report_from_json
from app.model.report import Report
from hlo_parser import HloSyntaxError, Interner, Module, parse_module

MAX_REPORT_BYTES = 256 << 20
"""A report of more JSON than this is refused unread."""

MAX_TEXT_BYTES = 1 << 30
"""The text of one dump of more bytes than this is refused unread."""

MAX_PROGRAM_BYTES = 16 << 20
"""A source file of more bytes than this is refused unread."""

MAX_ALIGNED_BYTES = 64 << 20
"""What is kept of two texts is refused unread where it is more bytes than this."""

FRAME_CACHE_BYTES = 32 << 20
"""Unpacked frames that one bundle keeps for the next question."""

PARSED_MODULES = 8
"""Parsed modules that one bundle keeps for the next question."""

SHARED_INSTRUCTIONS = 100_000
"""Distinct instructions that parsed modules share before sharing starts anew: 280 MB or so, where
a bundle that many questions were asked of would else hold all its texts parsed."""

# What a damaged file makes the layers below us raise; SQLite itself decodes texts and names.
_DAMAGE = (sqlite3.Error, CorruptData, HloSyntaxError, msgspec.MsgspecError, UnicodeDecodeError)


class Bundle:
    """An open bundle; close it, or use it in a `with` statement."""

    def __init__(self, connection: sqlite3.Connection, path: Path, max_text_bytes: int) -> None:
        """Not for callers: `Bundle.open` is the way in."""
        self._connection = connection
        self._path = path
        self._max_text_bytes = max_text_bytes
        self._reading = RLock()
        self._parsing = RLock()
        self._unpacked: OrderedDict[int, tuple[bytes, ...]] = OrderedDict()
        self._unpacked_bytes = 0
        self._parsed: OrderedDict[tuple[str, int], Module] = OrderedDict()
        self._interner = Interner()
        self._report: Report | None = None
        with self._faults():
            version = check_format(connection)
            self._has_program, self._has_aligned = version > 1, version > 2
            self._frames = read_frames(connection)
            self._modules, self._places = read_index(connection)
        self._frame_starts = [frame.first_piece for frame in self._frames]

    @classmethod
    def open(cls, path: Path, *, max_text_bytes: int = MAX_TEXT_BYTES) -> Self:
        """Open the bundle at `path`; reads its index and nothing else.

        Texts of more than `max_text_bytes` are refused when they are asked for.

        Raises:
            NotFound: there is no such file.
            BadArchive: it is no bundle, is damaged (code `bad_bundle`), or is of another version
                of the format (code `bundle_version`).
        """
        if not path.is_file():
            raise NotFound("there is no bundle", place=str(path))
        # Bundles are replaced and never changed, so no lock and no journal beside the file counts.
        uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        try:
            connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        except sqlite3.Error as error:
            raise _bad_bundle(path, error) from error
        try:
            return cls(connection, path, max_text_bytes)
        except BaseException:
            connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; waits for a reading in another thread. Twice is no fault."""
        with self._reading:
            self._connection.close()

    def report(self) -> Report:
        """The report.

        Raises:
            BadArchive: the file is damaged.
        """
        with self._reading:
            if self._report is None:
                with self._faults():
                    self._report = report_from_json(self.report_json())
            return self._report

    def report_json(self) -> bytes:
        """The report as JSON, as it was written.

        Raises:
            BadArchive: the file is damaged.
        """
        with self._reading, self._faults():
            sizes = rows_of(self._connection, tuple[int], "SELECT raw_bytes FROM report")
            if len(sizes) != 1 or not 0 <= sizes[0][0] <= MAX_REPORT_BYTES:
                raise CorruptData("there is no report of a credible size")
            ((data,),) = rows_of(self._connection, tuple[bytes], "SELECT data FROM report")
            return decompress(data, sizes[0][0])

    def modules(self) -> tuple[BundleModule, ...]:
        """The modules and their dumps."""
        return tuple(self._modules.values())

    def program_names(self) -> tuple[str, ...]:
        """The source files of the program that came with the dump, by their members' names.

        Raises:
            BadArchive: the file is damaged.
        """
        with self._reading, self._faults():
            if not self._has_program:
                return ()
            rows = rows_of(
                self._connection, tuple[str], "SELECT name FROM program ORDER BY position"
            )
            return tuple(name for (name,) in rows)

    def program_text(self, position: int) -> str:
        """The source file at `position` of `program_names`.

        Raises:
            NotFound: there is none.
            BadArchive: the file is damaged.
        """
        with self._reading, self._faults():
            rows = rows_of(
                self._connection,
                tuple[int, bytes],
                "SELECT raw_bytes, data FROM program WHERE position = ?",
                position,
            )
            if not rows:
                raise NotFound(f"there is no source file {position}", place=self._path.name)
            ((size, data),) = rows
            if not 0 <= size <= MAX_PROGRAM_BYTES:
                raise CorruptData("a source file of no credible size")
            return decompress(data, size).decode("utf-8", "backslashreplace")

    def aligned_pairs(self) -> tuple[tuple[str, int, int], ...]:
        """The pairs of texts of which something is kept: a module's id, positions of its texts.

        Raises:
            BadArchive: the file is damaged.
        """
        with self._reading, self._faults():
            if not self._has_aligned:
                return ()
            query = "SELECT module, before, after FROM aligned ORDER BY position"
            return tuple(rows_of(self._connection, tuple[str, int, int], query))

    def aligned(self, module_id: str, before: int, after: int, *, form: int) -> bytes | None:
        """What `add_aligned` was given of two texts in that form; None for none.

        Raises:
            BadArchive: the file is damaged.
        """
        with self._reading, self._faults():
            if not self._has_aligned:
                return None
            rows = rows_of(
                self._connection,
                tuple[int, bytes],
                "SELECT raw_bytes, data FROM aligned"
                " WHERE module = ? AND before = ? AND after = ? AND form = ?",
                module_id,
                before,
                after,
                form,
            )
            if not rows:
                return None
            size, data = rows[0]
            if not 0 <= size <= MAX_ALIGNED_BYTES:
                raise CorruptData("two texts side by side of no credible size")
            return decompress(data, size)

    def dump_text(self, module_id: str, index: int) -> str:
        """The text of a dump; bytes that are no UTF-8 are escaped, as in parsed values.

        Raises:
            NotFound, LimitExceeded, BadArchive: as `dump_bytes`.
        """
        return self.dump_bytes(module_id, index).decode("utf-8", "backslashreplace")

    def dump_bytes(self, module_id: str, index: int) -> bytes:
        """The bytes of a dump, exactly as they were read.

        Raises:
            NotFound: no such module, or it has no dump of that index.
            LimitExceeded: the text is larger than `max_text_bytes`.
            BadArchive: the file is damaged.
        """
        place = self._place(module_id, index)
        with self._reading, self._faults():
            parts = range(place.first_part, place.first_part + place.parts)
            recipe = b"".join(piece for _, piece in self._pieces(parts))
            numbers = numbers_from_recipe(recipe)
            # Each piece once and in order: no recipe can make a frame be unpacked twice.
            pieces = dict(self._pieces(sorted(set(numbers))))
            if sum(len(pieces[number]) for number in numbers) != place.text_bytes:
                raise CorruptData("a text has another length than the index states")
            return b"".join(pieces[number] for number in numbers)

    def parse(self, module_id: str, index: int) -> Module:
        """The module of a dump, parsed now or lately; all dumps share what their texts share.

        Raises:
            NotFound, LimitExceeded, BadArchive: as `dump_bytes`.
        """
        key = (module_id, index)
        with self._parsing:
            module = self._parsed.get(key)
            if module is None:
                text = self.dump_bytes(module_id, index)
                if self._interner.stats.distinct_instructions > SHARED_INSTRUCTIONS:
                    self._interner = Interner()
                with self._faults():
                    module = parse_module(text, interner=self._interner)
                module = self._parsed[key] = self._with_rows(module, module_id, index)
                if len(self._parsed) > PARSED_MODULES:
                    self._parsed.popitem(last=False)
            self._parsed.move_to_end(key)
            return module

    def _with_rows(self, module: Module, module_id: str, index: int) -> Module:
        """The module with what the report knows of frame ids that do not fit their table."""
        if module.frames is None:
            return module
        own = (each for each in self.report().modules if each.id == module_id)
        for each in (each for one in own for each in one.renumbered):
            if each.first <= index <= each.last:
                return module.with_frames(module.frames.renumbered(dict(each.rows)))
        return module

    def computation_text(self, module_id: str, index: int, name: str) -> str:
        """The text of one computation of a dump; `name` without `%`.

        Raises:
            NotFound: no such module, dump or computation.
            LimitExceeded, BadArchive: as `dump_bytes`.
        """
        computation = self.parse(module_id, index).get(name)
        if computation is None:
            raise NotFound(f"there is no computation {name!r}", place=f"{module_id}, dump {index}")
        return computation.text

    def _place(self, module_id: str, index: int) -> Place:
        places = self._places.get(module_id)
        if places is None:
            raise NotFound(f"there is no module {module_id!r}", place=self._path.name)
        if not 0 <= index < len(places):
            raise NotFound(
                f"there is no dump {index}",
                place=module_id,
                next_step=f"It has {len(places)}, counted from 0.",
            )
        place = places[index]
        if place.text_bytes > self._max_text_bytes:
            raise LimitExceeded(
                f"the text has {place.text_bytes} bytes, more than the {self._max_text_bytes}"
                " that are shown",
                place=f"{module_id}, dump {index}",
            )
        return place

    def _pieces(self, numbers: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """The pieces of ascending `numbers`, each with its own; hold the reading lock."""
        first, pieces = 0, tuple[bytes, ...]()
        for number in numbers:
            if number - first >= len(pieces):
                first, pieces = self._frame(bisect_right(self._frame_starts, number) - 1)
            if not 0 <= number - first < len(pieces):
                raise CorruptData(f"there is no piece {number}")
            yield number, pieces[number - first]

    def _frame(self, position: int) -> tuple[int, tuple[bytes, ...]]:
        """The number of the frame's first piece, and its pieces."""
        if position < 0:
            raise CorruptData("a piece has a negative number")
        frame = self._frames[position]
        pieces = self._unpacked.get(position)
        if pieces is None:
            ((data,),) = rows_of(
                self._connection,
                tuple[bytes],
                "SELECT data FROM frames WHERE first_piece = ?",
                frame.first_piece,
            )
            pieces = unpack_frame(decompress(data, frame.raw_bytes), frame.pieces)
            self._unpacked[position] = pieces
            self._unpacked_bytes += frame.raw_bytes
            while self._unpacked_bytes > FRAME_CACHE_BYTES:
                oldest, _ = self._unpacked.popitem(last=False)
                self._unpacked_bytes -= self._frames[oldest].raw_bytes
        else:
            self._unpacked.move_to_end(position)
        return frame.first_piece, pieces

    @contextmanager
    def _faults(self) -> Generator[None]:
        """Tell whatever a damaged file makes go wrong as `BadArchive`."""
        try:
            yield
        except sqlite3.ProgrammingError:
            raise  # used after it was closed: our fault, and not the file's
        except _DAMAGE as error:
            raise _bad_bundle(self._path, error) from error


def _bad_bundle(path: Path, error: Exception) -> BadArchive:
    return BadArchive(
        f"this is no bundle, or a damaged one ({error})",
        place=path.name,
        next_step="Analyse the dump again to make a new one.",
        code="bad_bundle",
    )
