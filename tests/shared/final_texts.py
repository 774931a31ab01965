"""The dumps at hand without the texts of their passes, for what only looks at the end."""

import tarfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from app.ingest import load_dump
from app.ingest.memory_files import MEMORY_KINDS
from app.ingest.names import read_file_name
from app.model.dump import DumpContents
from app.settings import Settings

DUMPS = Path(__file__).resolve().parents[3] / "shared" / "dumps"
NAMES = sorted(path.name.removesuffix(".tar.gz") for path in DUMPS.glob("*.tar.gz"))


@cache
def final_contents(name: str) -> DumpContents:
    """The last texts and the memory files of a dump; all of it where the compiler did not end."""
    with TemporaryDirectory() as folder, tarfile.open(DUMPS / f"{name}.tar.gz") as archive:
        for member in archive:
            if member.isfile() and _is_needed(member.name):
                archive.extract(member, folder, filter="data")
        is_complete = any(Path(folder).iterdir())
        source = Path(folder) if is_complete else DUMPS / f"{name}.tar.gz"
        return load_dump(source, settings=Settings())


def _is_needed(name: str) -> bool:
    file = read_file_name(name)
    return file.kind in MEMORY_KINDS or file.name.kind == "after_optimizations"
