"""A file that is no bundle, or no whole one, is refused in words and never believed."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.bundle import AlignedTexts, Bundle, add_aligned, write_bundle
from app.bundle.layout import (
    FRAME_BYTES,
    CorruptData,
    compress,
    decompress,
    integers_from_bytes,
    numbers_from_recipe,
    pack_frame,
    recipe_from_numbers,
    unpack_frame,
)
from app.errors import BadArchive, NotFound
from bundle.contents import contents_of, module_text, report_of

ID = "module_0000.m"
TEXTS = [
    module_text("%p = f32[8]{0} parameter(0)", f"%r.{n} = f32[8]{{0}} add(%p, %p)")
    for n in range(60)
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    contents = contents_of({ID: TEXTS})
    write_bundle(tmp_path / "b", report_of(contents), contents)
    add_aligned(tmp_path / "b", [AlignedTexts(ID, 0, 1, 1, b"rows" * 100)])
    return tmp_path / "b"


def read_everything(path: Path) -> None:
    with Bundle.open(path) as bundle:
        bundle.report()
        for position in range(len(bundle.program_names())):
            bundle.program_text(position)
        for module_id, before, after in bundle.aligned_pairs():
            bundle.aligned(module_id, before, after, form=1)
        for module in bundle.modules():
            for dump in module.dumps:
                bundle.dump_text(module.id, dump.index)
                bundle.parse(module.id, dump.index)


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no bundle"):
        Bundle.open(tmp_path / "nothing")
    with pytest.raises(NotFound, match="there is no bundle"):
        Bundle.open(tmp_path)


@pytest.mark.parametrize("data", [b"", b"HloModule m", b"SQLite format 3\0" + bytes(4096)])
def test_other_files(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(data)
    with pytest.raises(BadArchive, match="no bundle") as caught:
        Bundle.open(tmp_path / "b")
    assert caught.value.code == "bad_bundle"


def test_another_database(tmp_path: Path) -> None:
    change(tmp_path / "b", "CREATE TABLE report (data)")
    with pytest.raises(BadArchive, match="another kind of file"):
        Bundle.open(tmp_path / "b")


@pytest.mark.parametrize("version", [0, 4, 1000])
def test_another_version(version: int, path: Path) -> None:
    change(path, f"PRAGMA user_version = {version}")
    with pytest.raises(BadArchive, match=f"has format {version}") as caught:
        Bundle.open(path)
    assert caught.value.code == "bundle_version"


@pytest.mark.parametrize("part", [0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_cut_off(part: float, path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * part)])
    with pytest.raises(BadArchive):
        read_everything(path)


def test_any_flipped_byte_is_noticed_or_harmless(path: Path) -> None:
    data = path.read_bytes()
    refused = 0
    for place in range(0, len(data), 97):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        try:
            read_everything(path)
        except (BadArchive, NotFound):
            refused += 1
    assert refused > 20


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE other (x)",
        "CREATE INDEX other ON dumps (file)",
        "CREATE VIEW other AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n)"
        " SELECT i FROM n",
        "CREATE TRIGGER other AFTER INSERT ON dumps BEGIN SELECT 1; END",
        "DROP TABLE frames",
        "ALTER TABLE dumps ADD COLUMN other",
    ],
)
def test_another_schema(statement: str, path: Path) -> None:
    change(path, statement)
    with pytest.raises(BadArchive, match="its tables are not those of a bundle"):
        Bundle.open(path)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM report",
        "UPDATE report SET raw_bytes = raw_bytes - 1",
        "UPDATE report SET raw_bytes = 1 << 40",
        "UPDATE report SET raw_bytes = -1",
        "UPDATE report SET raw_bytes = 'many'",
        "UPDATE report SET data = x'00'",
        "INSERT INTO report SELECT 1, raw_bytes, data FROM report",
        "DELETE FROM frames",
        "UPDATE frames SET first_piece = 1",
        "UPDATE frames SET pieces = pieces - 1",
        "UPDATE frames SET pieces = 0",
        "UPDATE frames SET pieces = 1 << 60",
        "UPDATE frames SET raw_bytes = raw_bytes + 1",
        "UPDATE frames SET raw_bytes = 1 << 50",
        "UPDATE frames SET data = 'text'",
        "UPDATE modules SET dumps = dumps + 1",
        "UPDATE modules SET dumps = -1",
        "INSERT INTO modules SELECT 1, id, 0 FROM modules",
        "UPDATE dumps SET text_bytes = text_bytes + 1",
        "UPDATE dumps SET text_bytes = text_bytes - 1 WHERE position = 30",
        "UPDATE dumps SET recipe = 1 << 61",
        "UPDATE dumps SET recipe = -1",
        "UPDATE dumps SET recipe = recipe - 1",
        "UPDATE dumps SET recipe_parts = 0",
        "UPDATE dumps SET recipe_parts = 1 << 60",
        "UPDATE dumps SET file = x'ff'",
        "UPDATE dumps SET file = CAST(x'ff' AS TEXT)",
    ],
)
def test_rows_that_do_not_fit(statement: str, path: Path) -> None:
    change(path, statement)
    with pytest.raises(BadArchive) as caught:
        read_everything(path)
    assert caught.value.code == "bad_bundle"


def replace_frames(path: Path, pieces: list[bytes], recipe_piece: int, text_bytes: int) -> None:
    raw = pack_frame(pieces)
    change(path, "DELETE FROM frames")
    change(path, "INSERT INTO frames VALUES (0, ?, ?, ?)", len(pieces), len(raw), compress(raw))
    change(
        path,
        "UPDATE dumps SET recipe = ?, recipe_parts = 1, text_bytes = ?",
        recipe_piece,
        text_bytes,
    )


def test_a_recipe_cannot_make_more_than_the_index_states(path: Path) -> None:
    recipe = recipe_from_numbers([0] * 1000)
    replace_frames(path, [b"x" * 1000, recipe], 1, 999)
    with pytest.raises(BadArchive, match="another length than the index states"):
        read_everything(path)


def test_text_that_is_no_hlo(path: Path) -> None:
    replace_frames(path, [b"no HLO", recipe_from_numbers([0])], 1, 6)
    with Bundle.open(path) as bundle:
        assert bundle.dump_text(ID, 0) == "no HLO"
        with pytest.raises(BadArchive):
            bundle.parse(ID, 0)


def test_report_that_is_no_report(path: Path) -> None:
    change(path, "UPDATE report SET raw_bytes = 2, data = ?", compress(b"{}"))
    with Bundle.open(path) as bundle, pytest.raises(BadArchive):
        bundle.report()


def test_a_closed_bundle_is_our_own_fault(path: Path) -> None:
    bundle = Bundle.open(path)
    bundle.close()
    bundle.close()
    with pytest.raises(sqlite3.ProgrammingError):
        bundle.dump_text(ID, 0)


def test_decompress_never_exceeds_what_is_stated() -> None:
    packed = compress(bytes(FRAME_BYTES))
    assert len(packed) < 1000
    assert decompress(packed, FRAME_BYTES) == bytes(FRAME_BYTES)
    for size in (0, 10, FRAME_BYTES - 1, FRAME_BYTES + 1):
        with pytest.raises(CorruptData):
            decompress(packed, size)
    with pytest.raises(CorruptData):
        decompress(packed + b"more", FRAME_BYTES)
    with pytest.raises(CorruptData):
        decompress(packed[:-5] + bytes(5), FRAME_BYTES)


@pytest.mark.parametrize("pieces", [[], [b""], [b"a"], [b"a", b"", b"bcd" * 100]])
def test_frames(pieces: list[bytes]) -> None:
    assert unpack_frame(pack_frame(pieces), len(pieces)) == tuple(pieces)


@pytest.mark.parametrize(
    ("raw", "count"),
    [(b"", 1), (b"abc", -1), (b"\2\0\0\0a", 1), (b"\0\0\0\0a", 1), (b"\xff\xff\xff\xff", 1)],
)
def test_frames_that_do_not_fit(raw: bytes, count: int) -> None:
    with pytest.raises(CorruptData):
        unpack_frame(raw, count)


def test_recipes() -> None:
    numbers = [5, 6, 7, 0, 100_000, 3]
    assert list(numbers_from_recipe(recipe_from_numbers(numbers))) == numbers
    assert list(numbers_from_recipe(b"")) == []
    with pytest.raises(CorruptData):
        integers_from_bytes(b"abc")
