"""Writing a bundle: the report, and the texts of every dump cut into shared pieces.

Gets a report and the parsed contents it was made from; leaves one finished file or none.
"""

import os
import sqlite3
from array import array
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from app.bundle.layout import (
    APPLICATION_ID,
    FORMAT_VERSION,
    FRAME_BYTES,
    LENGTH_BYTES,
    PIECE_BYTES,
    TABLES,
    compress,
    pack_frame,
    recipe_from_numbers,
)
from app.model.codec import report_to_json
from app.model.dump import DumpContents, ModuleHistory, ProgramFile
from app.model.report import Report


@dataclass(frozen=True, slots=True)
class ModuleTexts:
    """One module and its texts: the name of each one's file, and the pieces to be joined."""

    id: str
    texts: Iterable[tuple[str, Iterable[bytes]]]


@dataclass(frozen=True, slots=True)
class AlignedTexts:
    """What was made beforehand of two texts of a module, by their positions: any bytes.

    `form` is the version of what the bytes mean; a reader asks for the one that it knows.
    """

    module_id: str
    before: int
    after: int
    form: int
    data: bytes


def write_bundle(path: Path, report: Report, contents: DumpContents | None) -> None:
    """Write the bundle of `report` to `path`, replacing what is there in one step.

    `contents` is None where only a log was given. Equal input makes equal bytes. A failure leaves
    `path` as it was.

    Raises:
        OSError: the folder cannot be written.
    """
    histories = () if contents is None else contents.modules
    program = () if contents is None else contents.program
    write_texts(path, report, (_texts_of(history) for history in histories), program)


def write_texts(
    path: Path,
    report: Report,
    modules: Iterable[ModuleTexts],
    program: Iterable[ProgramFile] = (),
) -> None:
    """Like `write_bundle`, from texts alone; `modules` and their texts are asked for once each.

    Source files of the program are only those of `program`.

    Raises:
        OSError: the folder cannot be written.
    """
    with _replacing(path) as unfinished, closing(sqlite3.connect(unfinished)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
        # The file is not seen by anyone before it is whole: a journal would protect nothing.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        with connection:
            for statement in TABLES.values():
                connection.execute(statement)
            _write_report(connection, report)
            _write_modules(connection, modules)
            _write_program(connection, program)


def add_aligned(path: Path, pairs: Iterable[AlignedTexts]) -> None:
    """Add pairs of texts side by side to a bundle that was written just now and nobody reads yet.

    Raises:
        OSError, sqlite3.OperationalError: the disk is full.
    """
    rows = [
        (pair.module_id, pair.before, pair.after, pair.form, len(pair.data), compress(pair.data))
        for pair in pairs
    ]
    if not rows:
        return
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        with connection:
            connection.executemany(
                "INSERT INTO aligned (module, before, after, form, raw_bytes, data)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                rows,
            )


@contextmanager
def _replacing(path: Path) -> Generator[Path]:
    unfinished = path.with_name(f".{uuid4().hex}.part")
    try:
        yield unfinished
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _write_report(connection: sqlite3.Connection, report: Report) -> None:
    raw = report_to_json(report)
    connection.execute("INSERT INTO report VALUES (0, ?, ?)", (len(raw), compress(raw)))


def _texts_of(history: ModuleHistory) -> ModuleTexts:
    return ModuleTexts(history.id, ((dump.file, dump.module.pieces) for dump in history.dumps))


def _write_modules(connection: sqlite3.Connection, modules: Iterable[ModuleTexts]) -> None:
    pieces = _PieceWriter(connection)
    for position, module in enumerate(modules):
        count = 0
        for file, texts in module.texts:
            count += 1
            numbers = pieces.numbers(texts)
            recipe = recipe_from_numbers(numbers)
            first, parts = pieces.add_recipe(recipe)
            connection.execute(
                "INSERT INTO dumps (file, text_bytes, recipe, recipe_parts) VALUES (?, ?, ?, ?)",
                (file, pieces.byte_size(numbers), first, parts),
            )
        connection.execute("INSERT INTO modules VALUES (?, ?, ?)", (position, module.id, count))
    pieces.write_frame()


def _write_program(connection: sqlite3.Connection, program: Iterable[ProgramFile]) -> None:
    for position, file in enumerate(program):
        raw = file.text.encode("utf-8", "backslashreplace")
        connection.execute(
            "INSERT INTO program VALUES (?, ?, ?, ?)",
            (position, file.name, len(raw), compress(raw)),
        )


class _PieceWriter:
    """Numbers pieces, each distinct text once, and writes them in frames as these fill up."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[bytes, int] = {}
        self._sizes = array("I")
        self._frame: list[bytes] = []
        self._frame_bytes = 0

    def numbers(self, texts: Iterable[bytes]) -> list[int]:
        """The numbers of pieces whose concatenation is that of `texts`."""
        known = self._known
        numbers: list[int] = []
        for text in texts:
            for part in _parts(text):
                number = known.get(part)
                if number is None:
                    number = known[part] = self._add(part)
                numbers.append(number)
        return numbers

    def add_recipe(self, recipe: bytes) -> tuple[int, int]:
        """The number of the recipe's first part and how many parts follow one another."""
        numbers = [self._add(part) for part in _parts(recipe)]
        return numbers[0] if numbers else 0, len(numbers)

    def byte_size(self, numbers: Iterable[int]) -> int:
        """How many bytes these pieces are together."""
        return sum(map(self._sizes.__getitem__, numbers))

    def write_frame(self) -> None:
        """Write the pieces that no frame holds yet."""
        if not self._frame:
            return
        raw = pack_frame(self._frame)
        first = len(self._sizes) - len(self._frame)
        self._connection.execute(
            "INSERT INTO frames VALUES (?, ?, ?, ?)",
            (first, len(self._frame), len(raw), compress(raw)),
        )
        self._frame.clear()
        self._frame_bytes = 0

    def _add(self, piece: bytes) -> int:
        room = len(piece) + LENGTH_BYTES
        if self._frame_bytes + room > FRAME_BYTES:
            self.write_frame()
        self._frame.append(piece)
        self._frame_bytes += room
        self._sizes.append(len(piece))
        return len(self._sizes) - 1


def _parts(piece: bytes) -> tuple[bytes, ...]:
    if 0 < len(piece) <= PIECE_BYTES:
        return (piece,)
    return tuple(piece[at : at + PIECE_BYTES] for at in range(0, len(piece), PIECE_BYTES))
