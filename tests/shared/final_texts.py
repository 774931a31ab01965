"""The dumps at hand without the texts of their passes, for what only looks at the end."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from app.ingest import load_dump
from app.ingest.memory_files import MEMORY_KINDS
from app.ingest.names import read_file_name
from app.model.dump import DumpContents
from app.settings import Settings
from samples import unpack

DUMPS = Path(__file__).resolve().parents[3] / "shared" / "dumps"
NAMES = sorted(path.name.removesuffix(".tar.gz") for path in DUMPS.glob("*.tar.gz"))


@cache
def final_contents(name: str) -> DumpContents:
    """The last texts and the memory files of a dump; all of it where the compiler did not end."""
    archive = DUMPS / f"{name}.tar.gz"
    with TemporaryDirectory() as folder:
        is_complete = any(unpack(archive, Path(folder), _is_needed).iterdir())
        return load_dump(Path(folder) if is_complete else archive, settings=Settings())


def _is_needed(name: str) -> bool:
    file = read_file_name(name)
    return file.kind in MEMORY_KINDS or file.name.kind == "after_optimizations"
