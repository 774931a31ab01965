"""Dump contents for the tests of bundles and views, from texts in the test or from an archive."""

import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from backports import zstd

from app.model.dump import DumpContents, DumpName, ModuleHistory, PassDump
from app.model.report import Coverage, Dump, Input, Module, Report, Tool
from hlo_parser import HloSyntaxError, Interner, parse_module


def contents_of(texts: Mapping[str, Sequence[str | bytes]]) -> DumpContents:
    """Modules by id, each with the texts after its passes."""
    interner = Interner()
    return DumpContents(
        input=Input(name="dump.tar.gz", bytes=1),
        modules=tuple(
            ModuleHistory(
                id=module_id,
                name=module_id.partition(".")[2],
                role="user",
                complete=True,
                dumps=tuple(
                    PassDump(
                        index=index,
                        name=DumpName(file=f"{module_id}.{index:04}.txt", after=f"pass{index}"),
                        module=parse_module(text, interner=interner),
                        byte_size=len(text),
                    )
                    for index, text in enumerate(history)
                ),
            )
            for module_id, history in texts.items()
        ),
        flags={},
        flags_file=None,
        buffer_assignments=(),
        memory_reports=(),
        coverage=Coverage(),
    )


def report_of(contents: DumpContents) -> Report:
    """A report that names the modules and their dumps, and says nothing of them."""
    return Report(
        tool=Tool(name="hloscope", version="0"),
        input=contents.input,
        modules=tuple(
            Module(
                id=history.id,
                name=history.name,
                dumps=tuple(
                    Dump(index=dump.index, file=dump.file, bytes=dump.byte_size)
                    for dump in history.dumps
                ),
            )
            for history in contents.modules
        ),
    )


def texts_of_archive(archive: Path) -> dict[str, list[bytes]]:
    """The HLO texts of an archive by the module number of their file names, in order of names."""
    found: dict[str, list[bytes]] = {}
    with (
        zstd.open(archive) if archive.suffix == ".zst" else archive.open("rb") as file,
        tarfile.open(fileobj=file) as members,
    ):
        for member in sorted(members.getmembers(), key=lambda item: item.name):
            text = members.extractfile(member) if member.name.endswith(".txt") else None
            data = b"" if text is None else text.read()
            if _is_hlo(data):
                found.setdefault(Path(member.name).name.partition(".")[0], []).append(data)
    return found


def _is_hlo(text: bytes) -> bool:
    if b"HloModule " not in text[:4096]:
        return False
    try:
        parse_module(text)
    except HloSyntaxError:
        return False
    return True


def module_text(*instructions: str, header: str = "HloModule m") -> str:
    """A module of one computation `main`; the last instruction is the root."""
    *others, root = instructions
    lines = [f"  {line}" for line in others] + [f"  ROOT {root}"]
    return "\n".join([header, "", "ENTRY %main (p: f32[8]) -> f32[8] {", *lines, "}", ""])
