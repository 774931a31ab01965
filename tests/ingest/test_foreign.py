"""Files of which none is XLA's, and what is told of a whole input however much is skipped."""

from pathlib import Path

import pytest

from app.errors import NotADump
from app.ingest.inventory import SHOWN_SKIPPED
from app.service import examine
from app.settings import Settings
from ingest.archives import END, FIRST, HLO, files_read, header, load, tar_of

PHOTO = b"\xff\xd8\xff"
TEXT = HLO.encode()


@pytest.mark.parametrize("count", [1, SHOWN_SKIPPED, SHOWN_SKIPPED + 1])
@pytest.mark.parametrize("packed", [True, False], ids=["archive", "folder"])
def test_foreign_files_are_told_and_each_counted_once(
    count: int, packed: bool, tmp_path: Path
) -> None:
    photos = {f"{number}.jpg": PHOTO for number in range(count)}
    source = tmp_path / ("photos.tar" if packed else "photos")
    if packed:
        source.write_bytes(tar_of(photos))
    else:
        source.mkdir()
        for name, data in photos.items():
            (source / name).write_bytes(data)
    report = examine(source, Settings(), takes_foreign=True).report
    assert [finding.class_ for finding in report.findings] == ["no_xla_files"]
    assert (report.coverage.files, report.coverage.skipped_count) == (count, count)
    assert {skipped.code for skipped in report.coverage.skipped} == {"unknown_name"}


def test_that_an_archive_breaks_off_is_listed_however_much_is_left_out() -> None:
    photos = b"".join(
        header(b"%d.jpg" % number, len(PHOTO), content=PHOTO) for number in range(SHOWN_SKIPPED)
    )
    whole = header(FIRST.encode(), len(TEXT), content=TEXT)
    contents = load((photos + whole + header(b"last.txt", 4096, content=TEXT) + END)[:-1024])
    assert files_read(contents) == [FIRST]
    skipped = contents.coverage.skipped
    assert "truncated" in {entry.code for entry in skipped}
    assert contents.coverage.skipped_count >= len(skipped) > SHOWN_SKIPPED


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"#loc1 = loc(unknown)\nmodule @jit_f {\n}\n", "StableHLO"),
        (b"module @jit_f attributes {mhlo.num_partitions = 8 : i32} {\n}\n", "StableHLO"),
        (b"notes of mine about a module @work\n", "neither an archive nor a text"),
    ],
)
def test_a_text_of_mlir_is_named_as_such(data: bytes, told: str) -> None:
    with pytest.raises(NotADump, match=told) as refused:
        load(data)
    assert "xla_dump_to" in refused.value.next_step
