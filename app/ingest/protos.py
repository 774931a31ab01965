"""Protos of modules, held until it is known which passes have a text, and read only where none has.

A proto stands before the text of the same pass in most archives, and reading both would cost twice.
So its bytes wait, as they came, in a file without a name (memory while they are few). Of what a
proto says beyond its module only the buffer assignment is looked at, where no text has it; the
values of a snapshot are not.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from app.ingest.archive import unpack_text
from app.ingest.memory_files import MemoryFile
from app.ingest.names import FileName
from app.ingest.proto_assignment import read_proto_assignment
from app.ingest.streams import Budget, Damage
from app.model.dump import DumpName
from hlo_parser import HloProtoError, Interner, Module, parse_proto

_IN_MEMORY = 64 << 20
# Below the largest file that a limited process may write.
_MOST_HELD = 4 << 30
# A snapshot holds the arguments of a run as well, gigabytes of weights among them.
_LARGEST_SNAPSHOT = 256 << 20
_PACKED = (".gz", ".zst")
_FORMS = (".hlo.pb", ".txt", ".hlo", ".pb")


@dataclass(frozen=True, slots=True)
class ReadProto:
    """A module read from a proto; `byte_size` is that of the proto, unpacked."""

    name: DumpName
    module: Module
    byte_size: int


@dataclass(frozen=True, slots=True)
class RefusedProto:
    """A proto that is not used: its name, size as sent, and why (code and sentence)."""

    file: str
    byte_size: int
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Twin:
    """A proto that was not read, because the module it holds was read elsewhere."""

    file: str


@dataclass(frozen=True, slots=True)
class ReadAssignment:
    """The buffer assignment that a proto holds beside its module."""

    file: str
    found: tuple[MemoryFile, ...]


class ProtoShelf:
    """The protos of one input."""

    def __init__(self, budget: Budget, max_bytes: int) -> None:
        self._budget = budget
        self._max_bytes = max_bytes
        self._bytes = tempfile.SpooledTemporaryFile[bytes](max_size=_IN_MEMORY)
        self._held: list[tuple[FileName, int, int]] = []
        self._refused: set[str] = set()
        self._end = 0

    def close(self) -> None:
        """Let go of the bytes."""
        self._bytes.close()

    def hold(self, file: FileName, pieces: Iterable[bytes]) -> RefusedProto | None:
        """Keep a proto for later; what is wrong with it where that shows already."""
        name = file.name.file
        if name.removesuffix(".gz").endswith(".riegeli"):
            return RefusedProto(name, 0, "not_yet_read", "riegeli files are not read")
        limit = _LARGEST_SNAPSHOT if file.kind == "snapshot" else _MOST_HELD
        start = self._end
        self._bytes.seek(start)
        for piece in pieces:
            self._end += len(piece)
            if self._end > _MOST_HELD or self._end - start > limit:
                self._end = start
                return RefusedProto(name, 0, "member_too_large", "too many bytes to hold")
            self._bytes.write(piece)
        self._held.append((file, start, self._end - start))
        return None

    def read(
        self, texts: Iterable[DumpName], interner: Interner
    ) -> Iterator[ReadProto | RefusedProto | Twin]:
        """Each proto in the order in which it came, snapshots last.

        Args:
            texts: the names of what was read as text.
            interner: the one of those texts, so that equal computations are one object.

        Raises:
            LimitExceeded: unpacked, they pass the budget of the whole input.
        """
        passes = {stem_of(name.file) for name in texts}
        modules = {(name.folder, name.module_id) for name in texts}
        for file, start, size in sorted(self._held, key=lambda held: held[0].kind == "snapshot"):
            name = file.name
            module = (name.folder, name.module_id)
            stem = stem_of(name.file)
            if stem in passes or (file.kind == "snapshot" and module in modules):
                yield Twin(name.file)
                continue
            read = self._one(file, start, size, interner)
            if isinstance(read, RefusedProto):
                self._refused.add(name.file)
            if isinstance(read, ReadProto):
                passes.add(stem)
                modules.add(module)
            yield read

    def assignments(
        self, modules: Mapping[str, Module], assigned: Iterable[str]
    ) -> Iterator[ReadAssignment | RefusedProto]:
        """The buffer assignments in protos of final texts that have none as text.

        Args:
            modules: the modules read, by the stem of their text or proto.
            assigned: stems of the texts whose assignment is known already.

        Raises:
            LimitExceeded: unpacked, they pass the budget of the whole input.
        """
        known = set(assigned)
        for file, start, size in self._held:
            name = file.name
            stem = stem_of(name.file)
            module = modules.get(stem)
            is_final = file.kind == "hlo_proto" and name.kind == "after_optimizations"
            if not is_final or module is None or stem in known or name.file in self._refused:
                continue
            known.add(stem)
            self._bytes.seek(start)
            data = self._bytes.read(size)
            try:
                found = read_proto_assignment(
                    self._unpacked(data), module, file=name.file, max_bytes=self._max_bytes
                )
            except HloProtoError as error:
                yield RefusedProto(name.file, size, "bad_proto", error.message)
            except Damage as damage:
                yield RefusedProto(name.file, size, damage.code, damage.reason)
            else:
                if found:
                    yield ReadAssignment(name.file, found)

    def _one(
        self, file: FileName, start: int, size: int, interner: Interner
    ) -> ReadProto | RefusedProto:
        self._bytes.seek(start)
        data = self._bytes.read(size)
        try:
            data = self._unpacked(data)
            module = parse_proto(data, interner=interner, max_bytes=self._max_bytes)
        except HloProtoError as error:
            return RefusedProto(file.name.file, size, "bad_proto", error.message)
        except Damage as damage:
            return RefusedProto(file.name.file, size, damage.code, damage.reason)
        name = file.name
        if file.kind == "snapshot":
            kind = "before_optimizations" if "unoptimized" in name.point else "other"
            name = replace(name, module_name=module.name, kind=kind)
        return ReadProto(name, module, len(data))

    def _unpacked(self, data: bytes) -> bytes:
        pieces: list[bytes] = []
        left = self._max_bytes
        for piece in unpack_text(iter((data,)), data[:4], self._budget):
            left -= len(piece)
            if left < 0:
                raise Damage("member_too_large", "unpacks to more bytes than a file may have")
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def stem_of(file: str) -> str:
    """A name without what tells a text from a proto."""
    for endings in (_PACKED, _FORMS):
        file = next((file.removesuffix(end) for end in endings if file.endswith(end)), file)
    return file
