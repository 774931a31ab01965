"""Reads a dump: members as they arrive, each HLO text parsed at once and dropped.

One interner serves the whole dump, so memory follows the distinct text. Everything that is left out
is counted. In goes what the user gave, out come values without any file handle.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from app.errors import BadArchive, InputError, LimitExceeded, NotADump
from app.ingest.archive import Opened, PieceStream, is_archive, open_path, open_stream, unpack_text
from app.ingest.collection import collection_paused
from app.ingest.flags import flags_of_debug_options
from app.ingest.history import ParsedText, group_texts
from app.ingest.inventory import Inventory
from app.ingest.member_names import REASONS, read_member_name, show_name
from app.ingest.members import Member, MemberKind
from app.ingest.memory_files import MEMORY_KINDS, MemoryFile, read_memory_file
from app.ingest.names import FileKind, FileName, read_file_name
from app.ingest.program_files import ProgramShelf
from app.ingest.progress import Progress, quiet
from app.ingest.protos import (
    ProtoShelf,
    ReadAssignment,
    ReadProto,
    RefusedProto,
    Twin,
    stem_of,
)
from app.ingest.remarks import (
    no_dump,
    note_faults,
    remark_on_folders,
    remark_on_frames,
    remark_on_steps,
)
from app.ingest.streams import Damage, Peekable
from app.ingest.target_config import read_target_config
from app.ingest.text import Text, read_text
from app.model.dump import (
    BufferAssignment,
    DumpContents,
    DumpName,
    LiveRanges,
    MemoryReport,
    ModuleHistory,
    TargetConfig,
    ValuePositions,
)
from app.model.report import Input
from app.settings import Settings
from hlo_parser import HloSyntaxError, Interner, Module, parse_module
from hlo_parser.possessive import compile_pattern

_CODES: dict[MemberKind, str] = {
    "link": "link",
    "special": "special",
    "sparse": "sparse",
    "encrypted": "encrypted",
    "method": "method",
}
# Kinds whose content is used; the others are counted by their names.
_READ: frozenset[FileKind] = frozenset(
    ("hlo_text", "debug_options", "target_config", *MEMORY_KINDS, "program", "unknown")
)
_PROTOS: frozenset[FileKind] = frozenset(("hlo_proto", "snapshot"))
_NOT_XLA: frozenset[str] = frozenset(("unknown", "program", "log"))
_SNIFFED = 4096
# Comments and blanks may stand in front of the header.
_HLO_START = compile_pattern(r"(?:\s|//[^\n]*+\n|/\*(?:[^*]|\*(?!/))*+\*/)*+(?:HloModule|ENTRY)\b")


def load_dump(
    source: Path | None,
    *,
    stream: BinaryIO | None = None,
    name: str = "",
    settings: Settings,
    progress: Progress = quiet,
    takes_foreign: bool = False,
) -> DumpContents:
    """Read a folder, an archive or a single text, from a path or a stream.

    Args:
        source: a folder or file; None when a stream is given.
        stream: the bytes of an archive or text; read to its end and closed in any case.
        name: how the input is called in the report, by default as the file is.
        settings: the budgets.
        progress: told `read` and the number of files so far.
        takes_foreign: files of which none is XLA's are no error; that there is none is a remark
            on the whole input (`no_xla_files: ...`).

    Raises:
        NotADump: readable, but nothing XLA wrote (`empty`, `not_a_dump`, `no_xla_files`).
        BadArchive: a container that is broken where nothing before was whole, hostile or foreign.
        LimitExceeded: larger than a budget allows.
    """
    try:
        if source is not None:
            opened = open_path(source, settings)
        elif stream is not None:
            opened = open_stream(stream, name, settings)
        else:
            raise ValueError("neither a path nor a stream was given")
        opened.name = show_name(name or opened.name)
        shelf = ProtoShelf(opened.budget, settings.max_member_bytes)
        with closing(opened), closing(shelf), collection_paused():
            return _Loader(opened, shelf, settings, progress, takes_foreign).load()
    except InputError as error:
        error.place = error.place or show_name(name or (source.name if source else ""))
        raise


class _Loader:
    """The state of one reading."""

    def __init__(
        self,
        opened: Opened,
        shelf: ProtoShelf,
        settings: Settings,
        progress: Progress,
        takes_foreign: bool,
    ) -> None:
        self._opened = opened
        self._shelf = shelf
        self._settings = settings
        self._progress = progress
        self._takes_foreign = takes_foreign
        self._inventory = Inventory()
        self._interner = Interner()
        self._names: set[str] = set()
        self._twins: set[str] = set()
        self._whole = 0
        self._damage: Damage | None = None
        self._texts: list[ParsedText] = []
        self._side_files: list[FileName] = []
        self._flags: dict[str, dict[str, str]] = {}
        self._targets: dict[str, TargetConfig] = {}
        self._memory_files: list[MemoryFile] = []
        self._program = ProgramShelf()

    def load(self) -> DumpContents:
        for member in self._opened.members:
            self._take(member)
            self._progress("read", self._inventory.files, None)
        self._read_protos()
        self._read_assignments()
        self._judge()
        modules = tuple(map(self._with_target, group_texts(self._texts, self._side_files)))
        remark_on_folders(self._inventory, self._texts)
        remark_on_steps(self._inventory, modules)
        remark_on_frames(self._inventory, modules)
        note_faults(self._inventory, modules)
        owners = {file: m.id for m in modules for files in m.files.values() for file in files}
        flags_file = self._flags_file(modules)
        memory = [
            replace(entry, module_id=owners.get(entry.file, "")) for entry in self._memory_files
        ]
        return DumpContents(
            input=Input(
                name=self._opened.name,
                bytes=self._opened.count or self._inventory.bytes,
                sha256=self._opened.sha256,
            ),
            modules=modules,
            flags=self._flags[flags_file] if flags_file else {},
            flags_file=flags_file,
            buffer_assignments=tuple(e for e in memory if isinstance(e, BufferAssignment)),
            memory_reports=tuple(e for e in memory if isinstance(e, MemoryReport)),
            coverage=self._inventory.coverage(),
            live_ranges=tuple(e for e in memory if isinstance(e, LiveRanges)),
            value_positions=tuple(e for e in memory if isinstance(e, ValuePositions)),
            program=self._program.files,
        )

    # ---- members ---------------------------------------------------------------------------------

    def _take(self, member: Member) -> None:
        name = read_member_name(member.name, self._settings)
        size = member.size or 0
        code = name.refused or _CODES.get(member.kind)
        if member.kind == "folder" and code is None:
            return
        if code is None and name.text in self._names:
            code = "duplicate"
        elif code is None and size > self._settings.max_member_bytes:
            code = "member_too_large"
        if code is not None:
            self._inventory.skip(name.text, code, REASONS[code], size)
            return
        self._names.add(name.text)
        if name.odd:
            self._inventory.note("odd_name", name.text)
        if name.twin in self._twins:
            self._inventory.note("similar_name", name.text)
        self._twins.add(name.twin)
        self._inventory.files += 1
        file = read_file_name(name.text)
        try:
            self._read(file, member)
            self._whole += 1
        except Damage as damage:
            self._damage = self._damage or damage
            self._inventory.skip(name.text, damage.code, damage.reason, size)
            if self._inventory.kinds.total() < self._inventory.files:
                self._inventory.kinds[file.kind] += 1

    def _read(self, file: FileName, member: Member) -> None:
        file, is_compressed = _uncompressed(file)
        kind = file.kind
        content = Peekable(PieceStream(member.pieces()))
        if kind in _READ:
            start = content.peek(_SNIFFED)
            pieces = content.pieces()
            if is_compressed:
                pieces = unpack_text(pieces, start, self._opened.budget)
            kind = self._use(file, pieces, start, member)
        elif kind in _PROTOS and not file.name.file.endswith(".txt"):
            self._tell(self._shelf.hold(file, content.pieces()))
        self._inventory.kinds[kind] += 1
        if kind == "log":
            self._inventory.note("log", file.name.file)
        if kind not in ("hlo_text", "unknown"):
            self._side_files.append(file)
        if member.size is not None:
            self._inventory.bytes += member.size
        if self._opened.raw is not None:
            # What was not used is read to its end all the same: only a member that is whole counts.
            for _ in content.pieces():
                pass

    def _use(
        self, file: FileName, pieces: Iterator[bytes], start: bytes, member: Member
    ) -> FileKind:
        """Read what the name promises; the kind it turned out to be."""
        if file.kind == "unknown" and not _is_hlo(start):
            nested = is_archive(start)
            code = "nested_archive" if nested else "unknown_name"
            self._skip(file, code, REASONS[code], member)
            return "unknown"
        if file.kind == "program":
            if not self._program.take(file.name.file, pieces):
                code = "program_too_large"
                self._skip(file, code, REASONS[code], member)
            return "program"
        text = read_text(pieces, self._settings.max_line_bytes)
        if member.size is None:
            self._inventory.bytes += text.byte_size
        if file.kind in ("hlo_text", "unknown"):
            self._parse(file, text)
            return "hlo_text"
        if file.kind == "debug_options":
            self._flags[file.name.file] = flags_of_debug_options(text.text)
        elif file.kind == "target_config":
            target = read_target_config(text.text, file=file.name.file)
            if target is not None:
                self._targets[file.name.file] = target
        elif file.name.file.endswith((".pb", ".pb.gz")):
            self._skip(file, "not_yet_read", "protos are not read yet", member)
        else:
            self._memory_files += read_memory_file(file.kind, text.text, file=file.name.file)
        return file.kind

    def _parse(self, file: FileName, text: Text) -> None:
        name = file.name
        if not text.data or text.data.isspace():
            self._inventory.skip(name.file, "empty", "the text is empty", text.byte_size)
            return
        try:
            module = parse_module(text.data, interner=self._interner)
        except HloSyntaxError as error:
            self._inventory.skip(name.file, "not_hlo", error.message, text.byte_size)
            return
        self._keep(name, module, text)

    def _keep(
        self, name: DumpName, module: Module, text: Text, *, from_proto: bool = False
    ) -> None:
        self._inventory.count_module(name.file, module, text)
        if self._inventory.instructions > self._settings.max_instructions:
            raise LimitExceeded(
                f"the dump holds more than {self._settings.max_instructions:,} instructions",
                place=self._opened.name,
                code="too_many_instructions",
                next_step="Raise max_instructions, or send a part of the dump.",
            )
        self._texts.append(ParsedText(name, module, text.byte_size, from_proto))

    def _read_protos(self) -> None:
        for read in self._shelf.read([text.name for text in self._texts], self._interner):
            self._tell(read)

    def _read_assignments(self) -> None:
        modules = {stem_of(text.name.file): text.module for text in self._texts}
        assigned = [
            entry.file.removesuffix("-buffer-assignment.txt")
            for entry in self._memory_files
            if isinstance(entry, BufferAssignment)
        ]
        for read in self._shelf.assignments(modules, assigned):
            if isinstance(read, ReadAssignment):
                self._memory_files += read.found
                self._inventory.note("proto_assignment", read.file)
            else:
                self._tell(read)

    def _tell(self, read: ReadProto | RefusedProto | Twin | None) -> None:
        if isinstance(read, ReadProto):
            text = Text(b"", read.byte_size, False, ())
            self._keep(read.name, read.module, text, from_proto=True)
            self._inventory.note("proto", read.name.file)
        elif isinstance(read, Twin):
            self._inventory.note("proto_twin", read.file)
        elif read is not None:
            self._inventory.skip(read.file, read.code, read.reason, read.byte_size)

    def _skip(self, file: FileName, code: str, reason: str, member: Member) -> None:
        self._inventory.skip(file.name.file, code, reason, member.size or 0)

    # ---- the whole input -------------------------------------------------------------------------

    def _judge(self) -> None:
        opened, inventory = self._opened, self._inventory
        damage = opened.damage or self._damage
        if damage is not None and not self._whole:
            raise BadArchive(
                damage.reason,
                place=opened.name,
                code=damage.code,
                next_step="Nothing in it is whole: send it again.",
            )
        if not inventory.kinds.keys() - _NOT_XLA:
            self._refuse_foreign(no_dump(opened, inventory))
        if damage is not None:
            if opened.damage is not None:
                inventory.skip_rest(opened.name, damage.code, damage.reason)
            inventory.remark(damage.code, f"{damage.reason}; {self._whole} whole members are kept")
        if opened.trailing:
            inventory.remark("trailing_bytes", "bytes after the end of the archive are not read")

    def _refuse_foreign(self, error: NotADump) -> None:
        if not (self._takes_foreign and self._opened.is_archive):
            raise error
        self._inventory.remark(error.code, f"{error.cause}. {error.next_step}")

    def _with_target(self, module: ModuleHistory) -> ModuleHistory:
        files = module.files.get("target_config", ())
        target = next((self._targets[file] for file in files if file in self._targets), None)
        return module if target is None else replace(module, target=target)

    def _flags_file(self, modules: tuple[ModuleHistory, ...]) -> str | None:
        """That of the first module that has one, so that the user's own module decides."""
        for module in modules:
            for file in module.files.get("debug_options", ()):
                if file in self._flags:
                    return file
        return next(iter(self._flags), None)


def _uncompressed(file: FileName) -> tuple[FileName, bool]:
    """What a compressed member is beneath, where that is a kind that is read."""
    stem, _, ending = file.name.file.rpartition(".")
    inner = read_file_name(stem) if file.kind == "unknown" and ending in ("gz", "zst") else file
    if inner is file or inner.kind == "unknown" or inner.kind not in _READ | _PROTOS:
        return file, False
    return replace(inner, name=replace(inner.name, file=file.name.file)), True


def _is_hlo(start: bytes) -> bool:
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in start[:4]:
        start = start.replace(b"\0", b"")
    text = start.decode(errors="replace").lstrip("\ufeff\ufffd")
    return _HLO_START.match(text) is not None
