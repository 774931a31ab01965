import errno
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app.errors import JobFailed
from app.jobs.room import room_told


def full_database(path: Path) -> None:
    with closing(sqlite3.connect(path / "db")) as connection:
        connection.execute("PRAGMA max_page_count = 2")
        connection.execute("CREATE TABLE t (x)")
        connection.execute("INSERT INTO t VALUES (zeroblob(1000000))")


def full_disk(path: Path) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", str(path))


@pytest.mark.parametrize("write", [full_disk, full_database])
def test_a_full_disk_is_no_fault_of_the_analysis(
    write: Callable[[Path], None], tmp_path: Path
) -> None:
    with pytest.raises(JobFailed) as caught, room_told():
        write(tmp_path)
    assert caught.value.code == "no_space"


def test_other_faults_of_a_disk_stay_what_they_are() -> None:
    with pytest.raises(OSError, match="denied"), room_told():
        raise PermissionError(errno.EACCES, "denied")
    with pytest.raises(sqlite3.OperationalError), room_told():
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("SELECT * FROM nothing")
