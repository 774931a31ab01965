import errno
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from obstore.store import S3Store
from sqlalchemy import inspect, select

from app.errors import UsageError
from app.store import (
    Incoming,
    Job,
    NewReport,
    NewShare,
    NoSpace,
    Problem,
    Question,
    ReceivedFile,
    ReportRow,
    Secrets,
    Store,
)
from app.store.database import migration_config, open_database
from app.store.schema import blob, metadata
from store.conftest import Place, all_rows

ROOT = Path(__file__).resolve().parents[2]


def received(store: Store, data: bytes) -> Incoming:
    with store.blobs.receive() as writer:
        writer.write(data)
        return writer.finish()


def create(store: Store, data: bytes = b"dump", log: bytes = b"log", now: float = 1.0) -> Secrets:
    files = (
        ReceivedFile("archive", "dump.tar", received(store, data)),
        ReceivedFile("log", "run.log", received(store, log)),
    )
    new = NewReport("dump.tar", Question(flags="--xla_x=1", release="0.4.30", hung=True), files)
    return store.reports.create(new, now=now)


def claim(store: Store, owner: str = "worker", now: float = 2.0, lease_s: float = 10.0) -> Job:
    claimed = store.jobs.claim(owner, now=now, lease_s=lease_s)
    assert claimed is not None
    return claimed


def found(store: Store, secrets: Secrets) -> ReportRow:
    row = store.reports.find(secrets.report_id)
    assert row is not None
    return row


def files_under(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


class TestReports:
    def test_keeps_what_was_sent(self, store: Store) -> None:
        row = found(store, create(store))
        assert (row.name, row.state, row.bytes) == ("dump.tar", "queued", 4)
        assert row.question == Question(flags="--xla_x=1", release="0.4.30", hung=True)
        archive, log = row.attachments
        assert (archive.role, archive.name, archive.bytes) == ("archive", "dump.tar", 4)
        assert (log.role, log.name) == ("log", "run.log")
        assert store.blobs.path(row.sha256).read_bytes() == b"dump"
        assert store.blobs.path(log.blob).read_bytes() == b"log"

    def test_only_hashes_of_secrets_are_stored(self, place: Place, store: Store) -> None:
        secrets = create(store)
        assert len(secrets.report_id) == len(secrets.delete_token) == 32
        stored = all_rows(place.database_file)
        assert "dump.tar" in stored
        assert secrets.report_id not in stored
        assert secrets.delete_token not in stored

    def test_what_never_was_is_not_found(self, store: Store) -> None:
        assert store.reports.find("x" * 32) is None
        assert store.reports.find("\udcff") is None

    def test_equal_bytes_are_stored_once(self, store: Store) -> None:
        first, second = create(store), create(store)
        assert first.report_id != second.report_id
        assert len(list(store.blobs.kept())) == 2

    def test_deleting_keeps_blobs_that_others_hold(self, store: Store) -> None:
        first = create(store, b"shared", b"log one")
        second = create(store, b"shared", b"log two")
        assert store.reports.delete(found(store, first).key)
        assert store.reports.find(first.report_id) is None
        assert len(list(store.blobs.kept())) == 2
        assert store.blobs.path(found(store, second).sha256).read_bytes() == b"shared"
        assert store.reports.delete(found(store, second).key)
        assert list(store.blobs.kept()) == []
        assert not store.reports.delete("0" * 64)

    def test_what_ended_long_ago_is_deleted(self, store: Store) -> None:
        old, fresh, waiting = create(store, b"old"), create(store, b"fresh"), create(store)
        for secrets, ended in ((old, 100.0), (fresh, 200.0)):
            job = claim(store)
            assert job.report_key == found(store, secrets).key
            store.jobs.fail(job, Problem("x", "x"), now=ended)
        assert store.reports.expire(before=150.0) == 1
        assert store.reports.find(old.report_id) is None
        assert found(store, fresh).state == "failed"
        assert found(store, waiting).state == "queued"

    def test_a_chosen_id_is_used(self, store: Store) -> None:
        secrets = Secrets("a" * 32, "b" * 32)
        new = NewReport("x", Question(), (ReceivedFile("log", "l", received(store, b"l")),))
        store.reports.create(new, now=1.0, secrets=secrets)
        row = found(store, secrets)
        assert (row.sha256, row.bytes) == ("", 0)

    def test_analysing_again_keeps_the_old_bundle_until_the_new_one(self, store: Store) -> None:
        secrets = create(store)
        store.jobs.finish(claim(store), received(store, b"old"), {"n": 1}, now=3.0)
        store.reports.requeue(found(store, secrets).key, now=4.0)
        row = found(store, secrets)
        assert (row.state, row.summary) == ("queued", {"n": 1})
        assert store.blobs.path(row.attached("bundle")[0].blob).read_bytes() == b"old"
        store.jobs.finish(claim(store), received(store, b"new"), {"n": 2}, now=5.0)
        row = found(store, secrets)
        assert (row.state, row.summary) == ("done", {"n": 2})
        assert store.blobs.path(row.attached("bundle")[0].blob).read_bytes() == b"new"
        assert len(list(store.blobs.kept())) == 3

    def test_a_queued_report_is_not_queued_twice(self, store: Store) -> None:
        secrets = create(store)
        store.reports.requeue(found(store, secrets).key, now=2.0)
        assert store.jobs.count_open() == 1


class TestJobs:
    def test_oldest_first_and_each_once(self, store: Store) -> None:
        keys = [found(store, create(store)).key for _ in range(3)]
        assert [claim(store).report_key for _ in keys] == keys
        assert store.jobs.claim("worker", now=2.0, lease_s=10.0) is None
        assert store.jobs.count_open() == 3

    def test_many_threads_never_share_a_job(self, store: Store) -> None:
        for _ in range(40):
            create(store)
        claimed: list[int] = []

        def work(name: str) -> None:
            while job := store.jobs.claim(name, now=2.0, lease_s=60.0):
                claimed.append(job.id)

        threads = [threading.Thread(target=work, args=(f"w{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(claimed) == sorted(set(claimed))
        assert len(claimed) == 40

    def test_progress_shows_and_renews_the_lease(self, store: Store) -> None:
        secrets = create(store)
        job = claim(store, now=0.0, lease_s=10.0)
        assert store.jobs.renew(job, now=9.0, lease_s=10.0, progress=("parsing", 3, 7))
        assert store.jobs.claim("other", now=15.0, lease_s=10.0) is None
        row = found(store, secrets)
        assert (row.state, row.attempt) == ("running", 1)
        assert (row.stage, row.done, row.total) == ("parsing", 3, 7)

    def test_a_lease_taken_back_passes_on_and_fences_the_old_worker(self, store: Store) -> None:
        secrets = create(store)
        lost = claim(store, "lost", now=0.0, lease_s=10.0)
        (lease,) = store.jobs.leases()
        assert store.jobs.take_back(lease, now=11.0)
        assert found(store, secrets).state == "queued"
        taken = claim(store, "other", now=11.0, lease_s=10.0)
        assert (taken.id, taken.attempt) == (lost.id, 2)
        late = received(store, b"late")
        assert not store.jobs.renew(lost, now=12.0, lease_s=10.0, progress=("x", 0, None))
        assert not store.jobs.finish(lost, late, {}, now=12.0)
        assert not store.jobs.fail(lost, Problem("x", "x"), now=12.0)
        assert not store.jobs.lose(lost, now=12.0)
        store.jobs.give_back(lost)
        assert found(store, secrets).state == "running"
        assert store.jobs.finish(taken, received(store, b"bundle"), {"n": 1}, now=13.0)
        assert found(store, secrets).summary == {"n": 1}
        assert not store.blobs.has(late.sha256)

    def test_a_lease_that_was_renewed_is_not_taken_back(self, store: Store) -> None:
        create(store)
        job = claim(store, now=0.0)
        (seen,) = store.jobs.leases()
        assert store.jobs.renew(job, now=1.0, lease_s=10.0, progress=("x", 0, None))
        assert not store.jobs.take_back(seen, now=2.0)

    def test_the_third_lost_worker_is_the_last_and_harms_nobody_else(self, store: Store) -> None:
        secrets = create(store)
        for attempt in range(3):
            job = claim(store)
            assert job.attempt == attempt + 1
            assert store.jobs.renew(job, now=3.0, lease_s=9.0, progress=("parsing", 3, 7))
            innocent = create(store)
            assert store.jobs.lose(job, now=4.0)
            assert found(store, innocent).state == "queued"
            assert store.jobs.claim("w", now=5.0, lease_s=9.0, job_id=job.id + attempt + 1)
        row = found(store, secrets)
        assert row.state == "failed"
        assert row.problem is not None
        assert row.problem.code == "worker_lost"
        assert "'parsing' (3 of 7)" in row.problem.message
        assert store.jobs.waiting() == ()

    def test_a_small_job_is_found_behind_large_ones(self, store: Store) -> None:
        large, small = create(store, b"x" * 1000), create(store, b"x" * 10)
        held = found(store, large)
        share = NewShare(held.key, "copy", {"redact": False}, None)
        store.reports.create_share(share, now=2.0)
        # It compiles for minutes, and is no small job whatever it reads.
        store.reports.create_replay(found(store, small), Question(replay="flags"), now=2.0)
        waiting = [(each.bytes, each.is_replay) for each in store.jobs.waiting()]
        assert waiting == [(1000, False), (10, False), (1000, False), (10, True)]
        job = store.jobs.claim("w", now=2.0, lease_s=9.0, most_bytes=10)
        assert job is not None
        assert job.report_key == found(store, small).key
        assert store.jobs.claim("w", now=2.0, lease_s=9.0, most_bytes=10) is None
        assert claim(store).report_key == held.key

    def test_giving_back_costs_no_attempt(self, store: Store) -> None:
        secrets = create(store)
        for _ in range(5):
            store.jobs.give_back(claim(store))
        assert found(store, secrets).state == "queued"
        assert claim(store).attempt == 1

    def test_failing_says_why(self, store: Store) -> None:
        secrets = create(store)
        problem = Problem("memory", "it needed too much", "Give it more.", "dump.tar")
        assert store.jobs.fail(claim(store), problem, now=3.0)
        row = found(store, secrets)
        assert (row.state, row.problem, row.finished, row.is_over) == ("failed", problem, 3.0, True)
        assert store.jobs.count_open() == 0

    def test_deleting_a_report_takes_its_job_from_the_worker(
        self, place: Place, store: Store
    ) -> None:
        secrets = create(store)
        job = claim(store)
        store.reports.delete(found(store, secrets).key)
        assert not store.jobs.renew(job, now=3.0, lease_s=10.0, progress=("x", 0, None))
        bundle = received(store, b"bundle")
        assert not store.jobs.finish(job, bundle, {}, now=3.0)
        store.blobs.discard(bundle)
        assert place.blob_names() == []


class TestBlobs:
    def test_nothing_remains_of_what_was_not_finished(self, place: Place, store: Store) -> None:
        def fail_midway() -> None:
            with store.blobs.receive() as writer:
                writer.write(b"x" * (30 << 20))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail_midway()
        with store.blobs.receive() as writer:
            writer.write(b"x")
        assert place.blob_names() == []

    def test_kept_bytes_are_never_replaced(self, place: Place, store: Store) -> None:
        store.blobs.keep(received(store, b"abc"))
        (kept,) = store.blobs.kept()
        forged = replace(received(store, b"xyz"), sha256=kept)
        store.blobs.keep(forged)
        assert b"".join(store.blobs.pieces(kept)) == b"abc"
        assert place.blob_names() == [kept]

    def test_discarding_twice_does_nothing(self, place: Place, store: Store) -> None:
        incoming = received(store, b"abc")
        store.blobs.discard(incoming)
        store.blobs.discard(incoming)
        store.blobs.delete("0" * 64)
        assert place.blob_names() == []

    def test_copies_a_file_in(self, store: Store, tmp_path: Path) -> None:
        file = tmp_path / "file"
        file.write_bytes(b"y" * (3 << 20))
        incoming = store.blobs.receive_file(file)
        store.blobs.keep(incoming)
        assert store.blobs.path(incoming.sha256).read_bytes() == file.read_bytes()

    def test_a_file_that_is_given_up_is_not_copied(self, store: Store, tmp_path: Path) -> None:
        file = tmp_path / "file"
        file.write_bytes(b"y" * (3 << 20))
        incoming = store.blobs.take_file(file)
        store.blobs.keep(incoming)
        kept = store.blobs.path(incoming.sha256)
        is_folder = not isinstance(store.blobs._store, S3Store)
        assert kept.samefile(file) is is_folder
        file.unlink()
        assert kept.read_bytes() == b"y" * (3 << 20)
        assert (incoming.bytes, store.blobs.size(incoming.sha256)) == (3 << 20, 3 << 20)

    def test_a_file_on_another_disk_is_copied(
        self, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise OSError(errno.EXDEV, "another disk")

        file = tmp_path / "file"
        file.write_bytes(b"y")
        monkeypatch.setattr(Path, "hardlink_to", refuse)
        incoming = store.blobs.take_file(file)
        store.blobs.keep(incoming)
        kept = store.blobs.path(incoming.sha256)
        assert (kept.read_bytes(), kept.samefile(file)) == (b"y", False)

    def test_the_floor_is_not_lent(self, place: Place) -> None:
        with place.open("full", floor_bytes=1 << 60) as store:
            assert store.blobs.room() == 0

    @pytest.mark.parametrize("fails_at", ["write", "close"])
    def test_a_full_disk_is_named(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, fails_at: str
    ) -> None:
        monkeypatch.setattr("obstore.open_writer", lambda *_, **__: FullDisk(fails_at))
        with pytest.raises(NoSpace, match="no space left"):
            received(store, b"x")


class FullDisk:
    """A writer that fails as obstore 0.12 does on a full file system."""

    def __init__(self, fails_at: str) -> None:
        self._fails_at = fails_at

    def write(self, data: bytes) -> None:
        self._step("write")

    def close(self) -> None:
        self._step("close")

    def _step(self, name: str) -> None:
        if name == self._fails_at:
            raise OSError(
                "Generic LocalFileSystem error: Unable to copy data to file: "
                "No space left on device (os error 28)"
            )


class TestFolder:
    def test_a_second_server_in_one_folder_is_refused(self, place: Place, store: Store) -> None:
        with pytest.raises(UsageError, match="in use") as caught:
            place.open()
        assert caught.value.code == "data_dir_in_use"

    def test_starting_again_queues_what_was_running(self, tmp_path: Path) -> None:
        with Store(tmp_path) as store:
            secrets = create(store)
            claim(store, now=1e9, lease_s=1e9)
        with Store(tmp_path) as store:
            assert found(store, secrets).state == "queued"
            assert claim(store, "new", now=2.0).attempt == 2

    def test_starting_again_sweeps_what_a_crash_left(self, tmp_path: Path) -> None:
        with Store(tmp_path) as store:
            secrets = create(store)
            orphan = received(store, b"orphan")
            store.blobs.keep(orphan)
            received(store, b"half")
            (store.scratch("job") / "file").write_text("x")
        with Store(tmp_path) as store:
            kept = {each.blob for each in found(store, secrets).attachments}
            assert set(store.blobs.kept()) == kept
            assert files_under(tmp_path / "blobs" / "incoming") == []
            assert not (tmp_path / "work").exists()

    def test_killed_in_the_middle_the_rows_survive(self, tmp_path: Path) -> None:
        code = (
            "import os, signal, sys\n"
            "from pathlib import Path\n"
            "from app.store import *\n"
            "store = Store(Path(sys.argv[1]))\n"
            "writer = store.blobs.receive(); writer.write(b'dump')\n"
            "new = NewReport('d', Question(), (ReceivedFile('archive', 'd', writer.finish()),))\n"
            "print(store.reports.create(new, now=1.0).report_id, flush=True)\n"
            "store.jobs.claim('w', now=1.0, lease_s=1e9)\n"
            "os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        ended = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True
        )
        assert ended.returncode == -9, ended.stderr
        with Store(tmp_path) as store:
            row = store.reports.find(ended.stdout.strip())
            assert row is not None
            assert row.state == "queued"
            assert store.blobs.path(row.sha256).read_bytes() == b"dump"


class TestMigrations:
    def test_make_exactly_the_tables_the_code_knows(self, place: Place) -> None:
        place.open().close()
        engine = open_database(place.database_file)
        with engine.begin() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            assert compare_metadata(context, metadata) == []
        engine.dispose()

    def test_go_down_and_up_again(self, place: Place) -> None:
        place.open().close()
        engine = open_database(place.database_file)
        with engine.begin() as connection:
            command.downgrade(migration_config(connection), "base")
        with engine.begin() as connection:
            assert inspect(connection).get_table_names() == ["alembic_version"]
        engine.dispose()
        engine = open_database(place.database_file)
        with engine.begin() as connection:
            assert {"report", "attachment", "job"} <= set(inspect(connection).get_table_names())
        engine.dispose()

    def test_blobs_of_older_reports_are_written_down(self, place: Place) -> None:
        with place.open() as store:
            create(store, b"shared", b"one")
            create(store, b"shared", b"another")
        engine = open_database(place.database_file)
        with engine.begin() as connection:
            command.downgrade(migration_config(connection), "0002")
        engine.dispose()
        engine = open_database(place.database_file)
        with engine.begin() as connection:
            sizes = connection.scalars(select(blob.c.bytes).order_by(blob.c.bytes)).all()
        engine.dispose()
        assert sizes == [3, 6, 7]

    def test_a_newer_schema_is_refused(self, place: Place) -> None:
        place.open().close()
        engine = open_database(place.database_file)
        with engine.begin() as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        engine.dispose()
        with pytest.raises(UsageError, match="another version") as caught:
            open_database(place.database_file)
        assert caught.value.code == "database_version"
