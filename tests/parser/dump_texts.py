"""The files of a dump archive, and which of them are HLO."""

import io
import re
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_HLO_START = re.compile(rb"(?:\s++|//[^\n]*+|/\*.*?\*/)*+HloModule[\s,]", re.S)

_LARGEST_ARCHIVE = 2_000_000


def dump_files(path: Path) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every file in an archive or folder, in order of name for folders."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_file():
                yield str(file.relative_to(path)), file.read_bytes()
        return
    raw = path.read_bytes()
    if path.suffix == ".zst":
        raw = zstd.decompress(raw)
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                yield member.name, content.read()


def archives_in(place: Path) -> list[Path]:
    """The archives of a folder, and those in the folders of samples; none of more than 2 MB."""
    found = (*sorted(place.glob("*.tar.*")), *sorted(place.glob("*/dump.tar.*")))
    return [path for path in found if path.stat().st_size <= _LARGEST_ARCHIVE]


def is_hlo(data: bytes) -> bool:
    """Whether a file holds an HLO text: every printer starts with the module header."""
    return _HLO_START.match(data) is not None


def hlo_texts(path: Path) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of the HLO texts of a dump, whatever their file names."""
    for name, data in dump_files(path):
        if is_hlo(data):
            yield name, data
