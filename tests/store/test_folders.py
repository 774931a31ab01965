"""A data folder that cannot be one is told in a line, not as a trace."""

import errno
import sqlite3
from pathlib import Path

import pytest

from app.errors import UsageError
from app.store import Store
from app.store.database import open_database


@pytest.mark.parametrize("kind", ["a file", "below a file", "not made"])
def test_a_folder_that_cannot_be_made_is_told(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    place = {"a file": file, "below a file": file / "data", "not made": Path("/proc/nope")}[kind]
    with pytest.raises(UsageError) as caught:
        Store(place)
    assert caught.value.place == str(place)
    assert caught.value.code == "data_dir"
    assert "\n" not in str(caught.value)
    assert "HLOSCOPE_DATA_DIR" in caught.value.next_step


def test_a_folder_that_may_only_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Path, *args: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(UsageError, match="Read-only file system"):
        Store(tmp_path)


def test_a_database_that_may_only_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(place: str, **given: object) -> sqlite3.Connection:
        del given
        return sqlite3.Connection(f"file:{place}?mode=ro", uri=True, check_same_thread=False)

    place = tmp_path / "hloscope.sqlite"
    sqlite3.connect(place).close()
    monkeypatch.setattr("sqlite3.dbapi2.connect", read_only)
    with pytest.raises(UsageError) as caught:
        open_database(place)
    assert caught.value.place == str(place)
    assert "readonly" in caught.value.cause


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    place = tmp_path / "hloscope.sqlite"
    place.write_bytes(b"this is no database" * 100)
    with pytest.raises(UsageError, match="not a database"):
        open_database(place)
