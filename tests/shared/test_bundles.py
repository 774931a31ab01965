"""Every text of every real dump comes back from its bundle to the byte, and is small in there."""

import tarfile
from pathlib import Path

import pytest

from app.bundle import Bundle, write_bundle
from app.ingest import load_dump
from app.settings import Settings
from bundle.contents import report_of
from conftest import SHARED

ARCHIVES = sorted(SHARED.glob("dumps/*.tar.gz"))


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.gz"))
def test_every_text_comes_back(archive: Path, tmp_path: Path) -> None:
    contents = load_dump(archive, settings=Settings())
    path = tmp_path / "b"
    write_bundle(path, report_of(contents), contents)
    with tarfile.open(archive) as members:
        texts = {
            member.name: file.read()
            for member in members
            if member.name.endswith((".txt", ".hlo")) and (file := members.extractfile(member))
        }
    raw = 0
    with Bundle.open(path) as bundle:
        for module, history in zip(bundle.modules(), contents.modules, strict=True):
            assert module.id == history.id
            assert [dump.file for dump in module.dumps] == [dump.file for dump in history.dumps]
            for dump in module.dumps:
                text = texts[dump.file]
                raw += len(text)
                assert dump.bytes == len(text)
                assert bundle.dump_bytes(module.id, dump.index) == text
    size = path.stat().st_size
    print(f"{archive.name}: {raw} bytes of text in a bundle of {size}")
    assert size < raw / 4 + 64_000
