"""Source files that came with a dump: kept where small, counted in any case."""

from pathlib import Path

import pytest

from app.errors import NotADump
from app.ingest import load_dump
from app.ingest.program_files import MAX_FILE_BYTES, MAX_FILES, ProgramShelf
from app.model.dump import ProgramFile
from app.settings import Settings

HLO = "HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n"


def test_sources_are_kept_beside_the_texts(tmp_path: Path) -> None:
    (tmp_path / "module_0000.m.before_optimizations.txt").write_text(HLO)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_bytes(b"x = 1\n\xff")
    (tmp_path / "large.py").write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    contents = load_dump(tmp_path, settings=Settings())
    assert contents.program == (ProgramFile("src/train.py", "x = 1\n\\xff"),)
    assert contents.coverage.kinds == {"hlo_text": 1, "program": 2}
    assert [skipped.code for skipped in contents.coverage.skipped] == ["program_too_large"]


def test_a_folder_of_sources_alone_is_no_dump(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\n")
    with pytest.raises(NotADump):
        load_dump(tmp_path, settings=Settings())


def test_no_more_is_kept_than_there_is_room_for() -> None:
    shelf = ProgramShelf()
    assert not shelf.take("endless.py", iter(lambda: b"#" * 65_536, b""))
    taken = [shelf.take(f"{n}.py", [b"#" * (MAX_FILE_BYTES // 2)] * 2) for n in range(9)]
    assert taken == [True] * 8 + [False]
    small = ProgramShelf()
    assert sum(small.take(f"{n}.py", [b"x"]) for n in range(MAX_FILES + 3)) == MAX_FILES
