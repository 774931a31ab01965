"""Statistics, checks and backups of a store on any engine, as functions and as commands."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.cli.main import main
from app.errors import UsageError
from app.store import NewReport, Owner, Question, ReceivedFile, Secrets, Store, hash_of
from store.conftest import Place

DAY_S = 86400.0


def create(store: Store, data: bytes, **options: Any) -> Secrets:
    with store.blobs.receive() as writer:
        writer.write(data)
        files = (ReceivedFile("archive", "dump.tar", writer.finish()),)
    return store.reports.create(NewReport("dump.tar", Question(), files), now=1.0, **options)


def finish(store: Store, bundle: bytes) -> None:
    claimed = store.jobs.claim("w", now=2.0, lease_s=9.0)
    assert claimed is not None
    with store.blobs.receive() as writer:
        writer.write(bundle)
        assert store.jobs.finish(claimed, writer.finish(), {"n": 1}, now=3.0)


def damage(place: Place, digest: str, data: bytes | None) -> None:
    """Change or remove a blob behind the store's back."""
    if place.server is None:
        path = place.folder / "data" / "blobs" / "sha256" / digest[:2] / digest
        path.unlink()
        if data is not None:
            path.write_bytes(data)
        return
    prefix = place.blobs.partition("?")[0].rpartition("/")[2]
    name = {"Bucket": place.server.bucket, "Key": f"{prefix}/sha256/{digest[:2]}/{digest}"}
    if data is None:
        place.server.client().delete_object(**name)
    else:
        place.server.client().put_object(**name, Body=data)


def admin(place: Place, *words: str) -> int:
    places = ["--data", str(place.folder / "data")]
    places += ["--database", place.database, "--blobs", place.blobs] if place.database else []
    return main(["admin", words[0], *places, *words[1:]])


def test_counts_what_is_there(
    place: Place, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    create(store, b"12345", owner=Owner("a" * 40))
    create(store, b"12345")
    finish(store, b"bundle")
    assert admin(place, "stats", "--json", "-") == 0
    said = capsys.readouterr()
    stats = json.loads(said.out)
    assert stats["reports"] == {"done": 1, "queued": 1}
    assert stats["attached"] == {"archive": [2, 10], "bundle": [1, 6]}
    assert (stats["blobs"], stats["blob_bytes"], stats["owners"]) == (2, 11, 1)
    assert stats["left_over"] == 0
    assert stats["room_bytes"] > 0
    assert "1 done, 1 queued" in said.err


def test_says_where_there_is_no_store(tmp_path: Path) -> None:
    assert main(["admin", "stats", "--data", str(tmp_path / "none")]) == 2
    assert not (tmp_path / "none").exists()


def test_a_database_that_does_not_answer_is_a_fault_of_the_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"postgresql://user:secret@/x?host={tmp_path}"
    assert main(["admin", "stats", "--data", str(tmp_path), "--database", url]) == 4
    said = capsys.readouterr().err
    assert "does not answer" in said
    assert "secret" not in said


def test_sweeps_what_has_had_its_days(
    place: Place, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = create(store, b"old")
    finish(store, b"bundle")
    kept = create(store, b"new")
    assert admin(place, "sweep") == 0
    assert "1 reports" in capsys.readouterr().out
    assert store.reports.find(gone.report_id) is None
    assert store.reports.find(kept.report_id) is not None
    assert len(list(store.blobs.kept())) == 1


def test_nothing_is_wrong_with_a_whole_store(place: Place, store: Store) -> None:
    create(store, b"dump")
    assert admin(place, "check", "--digests") == 0


@pytest.mark.parametrize(
    ("data", "options", "what"),
    [
        (None, (), "missing"),
        (b"short", (), "5 bytes in place of 9"),
        (b"otherwise", ("--digests",), "other bytes"),
    ],
)
def test_finds_damage(
    place: Place,
    store: Store,
    capsys: pytest.CaptureFixture[str],
    data: bytes | None,
    options: tuple[str, ...],
    what: str,
) -> None:
    secrets = create(store, b"some dump")
    create(store, b"some dump")
    row = store.reports.find(secrets.report_id)
    assert row is not None
    damage(place, row.sha256, data)
    assert admin(place, "check", *options) == 1
    said = capsys.readouterr().out
    assert f"{row.sha256}: {what}" in said
    assert "2 reports" in said


def test_bytes_of_no_row_are_no_damage(place: Place, store: Store) -> None:
    with store.blobs.receive() as writer:
        writer.write(b"of no row")
        store.blobs.keep(writer.finish())
    checked = store.upkeep.check()
    assert (checked.damages, checked.unknown) == ((), 1)


def test_a_backup_is_a_store_and_fills_another(
    place: Place, store: Store, tmp_path: Path, postgres: Any, bucket_server: Any
) -> None:
    owner = Owner("a" * 40)
    secrets = create(store, b"dump", owner=owner)
    finish(store, b"bundle")
    deleted = create(store, b"deleted")
    assert admin(place, "backup", str(tmp_path / "copy")) == 0
    store.reports.delete(hash_of(deleted.report_id))
    later = create(store, b"later")
    assert admin(place, "backup", str(tmp_path / "copy")) == 0
    with Store(tmp_path / "copy") as copy:
        check_copy(copy, secrets, owner)
        assert copy.reports.find(deleted.report_id) is None
        assert copy.reports.find(later.report_id) is not None
    other = Place(tmp_path / "other", postgres.new_database(), bucket_server.new_place(), None)
    assert admin(other, "restore", str(tmp_path / "copy")) == 0
    with other.open() as filled:
        check_copy(filled, secrets, owner)
        claimed = filled.jobs.claim("w", now=5.0, lease_s=9.0)
        assert claimed is not None
        assert create(filled, b"new, with a number of its own")
        assert filled.upkeep.check(digests=True).damages == ()
    assert admin(other, "restore", str(tmp_path / "copy")) == 2
    assert admin(other, "restore", str(tmp_path / "nothing")) == 2


def check_copy(copy: Store, secrets: Secrets, owner: Owner) -> None:
    ((report_id, row),), _ = copy.reports.owned_by(owner)
    assert (report_id, row.state, row.summary) == (secrets.report_id, "done", {"n": 1})
    assert copy.blobs.path(row.sha256).read_bytes() == b"dump"
    assert copy.blobs.path(row.attached("bundle")[0].blob).read_bytes() == b"bundle"


def test_a_backup_tells_what_it_could_not_read(
    place: Place, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secrets = create(store, b"dump")
    row = store.reports.find(secrets.report_id)
    assert row is not None
    damage(place, row.sha256, b"else")
    assert admin(place, "backup", str(tmp_path / "copy")) == 1
    assert "other bytes" in capsys.readouterr().out
    assert admin(place, "backup", str(place.folder / "data")) == 2


def test_no_backup_while_another_uses_the_folder(store: Store, tmp_path: Path) -> None:
    with Store(tmp_path / "copy"), pytest.raises(UsageError) as caught:
        store.upkeep.backup(tmp_path / "copy")
    assert caught.value.code == "data_dir_in_use"
