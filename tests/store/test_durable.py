"""What was accepted outlasts a power cut: bytes, their name and their row are put down in turn."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, event, text

from app.store import Attachment, Job, NewReport, NoSpace, Question, ReceivedFile, Store
from app.store.database import open_database, reading

Happened = list[tuple[str, str]]


@pytest.fixture
def happened(monkeypatch: pytest.MonkeyPatch) -> Happened:
    """What is put on the disk: a file with its content, a folder with each name in it."""
    seen: Happened = []
    put = os.fsync

    def noted(opened: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{opened}"))
        if stat.S_ISDIR(os.fstat(opened).st_mode):
            seen.extend(("name", each) for each in sorted(os.listdir(path)))
        else:
            seen.append(("bytes", path.read_text()))
        put(opened)

    monkeypatch.setattr("app.store.durable.os.fsync", noted)
    return seen


def note_rows(engine: Engine, happened: Happened) -> None:
    @event.listens_for(engine, "before_cursor_execute")
    def _(*call: object) -> None:
        statement, values = str(call[2]), call[3]
        if statement.startswith("INSERT INTO attachment"):
            happened.append(("row", str(values)))


def report_of(store: Store, *contents: bytes) -> str:
    files: list[ReceivedFile] = []
    for number, content in enumerate(contents):
        with store.blobs.receive() as writer:
            writer.write(content)
            files.append(ReceivedFile("log", f"{number}.log", writer.finish()))
    new = NewReport("a", Question(), tuple(files))
    return store.reports.create(new, now=1.0).report_id


def attached(store: Store, report_id: str) -> tuple[Attachment, ...]:
    row = store.reports.find(report_id)
    assert row is not None
    return row.attachments


def claimed(store: Store) -> Job:
    job = store.jobs.claim("worker", now=2.0, lease_s=10.0)
    assert job is not None
    return job


def test_an_upload_is_on_the_disk_before_its_row(tmp_path: Path, happened: Happened) -> None:
    with Store(tmp_path / "data") as store:
        note_rows(store._engine, happened)
        held = attached(store, report_of(store, b"dump", b"log"))
    rows = [at for at, (what, _) in enumerate(happened) if what == "row"]
    assert len(rows) == 2
    for content, file in zip(("dump", "log"), held, strict=True):
        is_put, is_named = happened.index(("bytes", content)), happened.index(("name", file.blob))
        # A name that lasts longer than the bytes would be a file of zeros.
        assert is_put < is_named < rows[0]
        assert ("name", file.blob[:2]) in happened[:is_named]


def test_a_bundle_is_on_the_disk_before_its_row(tmp_path: Path, happened: Happened) -> None:
    with Store(tmp_path / "data") as store:
        report_id = report_of(store, b"log")
        (tmp_path / "bundle").write_bytes(b"bundle")
        job = claimed(store)
        note_rows(store._engine, happened)
        assert store.jobs.finish(job, store.blobs.receive_file(tmp_path / "bundle"), {}, now=3.0)
        held = attached(store, report_id)
    (row,) = [at for at, (what, _) in enumerate(happened) if what == "row"]
    name = next(file.blob for file in held if file.role == "bundle")
    assert happened.index(("bytes", "bundle")) < happened.index(("name", name)) < row


def test_bytes_that_are_kept_already_have_a_lasting_name(
    tmp_path: Path, happened: Happened
) -> None:
    with Store(tmp_path / "data") as store:
        first = attached(store, report_of(store, b"log"))
        happened.clear()
        # Whoever gave the bytes their name may not have come to put it down.
        report_of(store, b"log")
    assert ("name", first[0].blob) in happened


def test_a_disk_that_is_full_only_when_bytes_are_put_down_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with Store(tmp_path / "data") as store:
        monkeypatch.setattr("app.store.durable.os.fsync", full)
        with pytest.raises(NoSpace):
            report_of(store, b"log")


@pytest.mark.parametrize("of", [lambda engine: engine, reading], ids=["writing", "reading"])
def test_a_commit_is_on_the_disk(tmp_path: Path, of: Callable[[Engine], Engine]) -> None:
    engine = open_database(tmp_path / "rows.sqlite")
    with of(engine).connect() as connection:
        full = 2
        assert connection.scalar(text("PRAGMA synchronous")) == full
    engine.dispose()
