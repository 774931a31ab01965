"""Source files of the user's program that came with the dump, as far as they are small.

They are kept as texts, to be shown beside what a compile made of their lines; nothing in them is
read for meaning, and they are no part of a report.
"""

from collections.abc import Iterable

from app.model.dump import ProgramFile

MAX_FILE_BYTES = 1 << 20
MAX_TOTAL_BYTES = 8 << 20
MAX_FILES = 500


class ProgramShelf:
    """Collects the source files of one input."""

    def __init__(self) -> None:
        self._files: list[ProgramFile] = []
        self._bytes = 0

    @property
    def files(self) -> tuple[ProgramFile, ...]:
        """What was kept, in the order of the input."""
        return tuple(self._files)

    def take(self, name: str, pieces: Iterable[bytes]) -> bool:
        """Keep a file, unless it is too large or one too many; reads no further than that."""
        room = min(MAX_FILE_BYTES, MAX_TOTAL_BYTES - self._bytes)
        data = bytearray()
        for piece in pieces:
            data += piece
            if len(data) > room:
                return False
        if len(self._files) == MAX_FILES:
            return False
        self._bytes += len(data)
        self._files.append(ProgramFile(name, data.decode("utf-8", "backslashreplace")))
        return True
