"""Archives made in memory for the tests: honest ones, and headers no tool would write."""

import gzip
import io
import tarfile
import zipfile
from dataclasses import replace

import pytest

from app.errors import InputError
from app.ingest import load_dump
from app.model.dump import DumpContents
from app.settings import Settings

HLO = """HloModule jit_f, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

ENTRY %main.3 (x.1: f32[4]) -> f32[4] {
  %x.1 = f32[4]{0} parameter(0)
  ROOT %negate.2 = f32[4]{0} negate(%x.1)
}
"""
FIRST = "d/module_0001.jit_f.before_optimizations.txt"
LAST = "d/module_0001.jit_f.cpu_after_optimizations.txt"
WHOLE = {FIRST: HLO.encode(), LAST: HLO.encode()}


def tar_of(members: dict[str, bytes], *extra: tarfile.TarInfo, format: int = 2) -> bytes:
    """A tar of files; `extra` headers without content stand between the first and the others."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=format) as archive:
        for number, (name, data) in enumerate(members.items()):
            if number == 1:
                for info in extra:
                    archive.addfile(info)
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        if len(members) < 2:
            for info in extra:
                archive.addfile(info)
    return stream.getvalue()


def header(name: bytes, size: int | bytes, kind: bytes = b"0", content: bytes = b"") -> bytes:
    """One tar header of our own making and its content, padded."""
    block = bytearray(512)
    block[: len(name)] = name
    block[100:108] = b"0000644\0"
    block[124:136] = size if isinstance(size, bytes) else b"%011o\0" % size
    block[136:148] = b"00000000000\0"
    block[156:157] = kind
    block[257:265] = b"ustar\x0000"
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + content + bytes(-len(content) % 512)


END = bytes(1024)


def pax(records: bytes, kind: bytes = b"x") -> bytes:
    return header(b"PaxHeaders/x", len(records), kind, records)


def pax_record(key: str, value: bytes) -> bytes:
    body = b" " + key.encode() + b"=" + value + b"\n"
    length = len(body) + 1
    while len(str(length)) + len(body) != length:
        length = len(str(length)) + len(body)
    return str(length).encode() + body


def zip_of(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def load(data: bytes, name: str = "dump", **limits: int) -> DumpContents:
    return load_dump(
        None, stream=io.BytesIO(data), name=name, settings=replace(Settings(), **limits)
    )


def refusal(data: bytes, name: str = "dump", **limits: int) -> str:
    """The code with which an input is refused."""
    with pytest.raises(InputError) as caught:
        load(data, name, **limits)
    assert str(caught.value).startswith(f"{name}: ")
    return caught.value.code


def codes(contents: DumpContents) -> list[tuple[str, str]]:
    return [(entry.code, entry.name) for entry in contents.coverage.skipped]


def remarks(contents: DumpContents) -> list[str]:
    return [remark.partition(":")[0] for remark in contents.coverage.remarks]


def files_read(contents: DumpContents) -> list[str]:
    return sorted(dump.file for module in contents.modules for dump in module.dumps)


def gz(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)
