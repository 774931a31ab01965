"""What was made of two texts beforehand, kept in their bundle."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.bundle import AlignedTexts, Bundle, add_aligned, write_bundle
from app.bundle.layout import TABLES, TABLES_BEFORE
from app.errors import BadArchive
from bundle.contents import contents_of, module_text, report_of

ID = "module_0000.m"
TEXTS = {ID: [module_text("%p = f32[8]{0} parameter(0)")] * 3}
PAIRS = [AlignedTexts(ID, 0, 1, 7, b"first"), AlignedTexts(ID, 1, 2, 7, b"second" * 1000)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    contents = contents_of(TEXTS)
    write_bundle(tmp_path / "b", report_of(contents), contents)
    add_aligned(tmp_path / "b", PAIRS)
    return tmp_path / "b"


def test_pairs_come_back_in_the_form_they_were_given(path: Path) -> None:
    with Bundle.open(path) as bundle:
        assert bundle.aligned_pairs() == ((ID, 0, 1), (ID, 1, 2))
        for pair in PAIRS:
            assert bundle.aligned(ID, pair.before, pair.after, form=7) == pair.data
        assert bundle.aligned(ID, 0, 2, form=7) is None
        assert bundle.aligned(ID, 1, 0, form=7) is None
        assert bundle.aligned("another", 0, 1, form=7) is None
        assert bundle.aligned(ID, 0, 1, form=8) is None


def test_equal_input_makes_equal_bytes_and_nothing_added_changes_none(tmp_path: Path) -> None:
    contents = contents_of(TEXTS)
    made: list[bytes] = []
    for pairs in (PAIRS, PAIRS, []):
        write_bundle(tmp_path / "b", report_of(contents), contents)
        before = (tmp_path / "b").read_bytes()
        add_aligned(tmp_path / "b", pairs)
        made.append((tmp_path / "b").read_bytes())
    assert made[0] == made[1]
    assert made[2] == before


@pytest.mark.parametrize("version", [1, 2])
def test_formats_that_had_no_pairs_are_read_still(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for name in TABLES.keys() - TABLES_BEFORE[version].keys():
            connection.execute(f"DROP TABLE {name}")
        connection.execute(f"PRAGMA user_version = {version}")
    with Bundle.open(path) as bundle:
        assert bundle.aligned_pairs() == ()
        assert bundle.aligned(ID, 0, 1, form=7) is None
        assert bundle.dump_text(ID, 0) == TEXTS[ID][0]


@pytest.mark.parametrize("size", [-1, 1, 1 << 40])
def test_a_wrong_size_is_refused(path: Path, size: int) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE aligned SET raw_bytes = ?", (size,))
    with Bundle.open(path) as bundle, pytest.raises(BadArchive):
        bundle.aligned(ID, 0, 1, form=7)
