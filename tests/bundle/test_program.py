"""Source files of the program in a bundle."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.bundle import Bundle, write_bundle
from app.bundle.layout import TABLES, TABLES_BEFORE
from app.errors import BadArchive, NotFound
from app.model.dump import ProgramFile
from bundle.contents import contents_of, module_text, report_of

TEXTS = {"module_0000.m": [module_text("%p = f32[8]{0} parameter(0)")]}
FILES = (ProgramFile("src/train.py", "x = 1\n\u00e9\n"), ProgramFile("empty.py", ""))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    contents = replace(contents_of(TEXTS), program=FILES)
    write_bundle(tmp_path / "b", report_of(contents), contents)
    return tmp_path / "b"


def test_files_come_back(path: Path) -> None:
    with Bundle.open(path) as bundle:
        names = bundle.program_names()
        assert names == tuple(file.name for file in FILES)
        assert [bundle.program_text(n) for n in range(len(names))] == [f.text for f in FILES]
        with pytest.raises(NotFound):
            bundle.program_text(2)


def test_the_format_before_is_read_still(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE program")
        connection.execute("DROP TABLE aligned")
        connection.execute("PRAGMA user_version = 1")
    assert TABLES_BEFORE[1].keys() == TABLES.keys() - {"program", "aligned"}
    with Bundle.open(path) as bundle:
        assert bundle.program_names() == ()
        assert bundle.dump_text("module_0000.m", 0) == TEXTS["module_0000.m"][0]


@pytest.mark.parametrize("size", [-1, 1, 1 << 40])
def test_a_wrong_size_is_refused(path: Path, size: int) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE program SET raw_bytes = ? WHERE position = 0", (size,))
    with Bundle.open(path) as bundle, pytest.raises(BadArchive):
        bundle.program_text(0)
