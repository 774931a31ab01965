import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.jobs.leases import LeaseWatch
from app.jobs.sweeper import Sweeper
from app.store import Job, Lease, NewReport, Question, ReceivedFile, Secrets, Store

LEASE = Lease(1, "worker", 1, 100.0)
OTHER = Lease(2, "other", 1, 100.0)


def watched(*looks: tuple[float, tuple[Lease, ...]]) -> list[tuple[Lease, ...]]:
    watch = LeaseWatch(lease_s=10.0, look_s=2.0)
    return [watch.look(leases, at=at) for at, leases in looks]


def test_a_lease_that_stays_the_same_is_lost() -> None:
    looks = [(float(at), (LEASE,)) for at in range(0, 12, 2)]
    assert watched(*looks) == [(), (), (), (), (), (LEASE,)]


def test_a_renewed_lease_is_kept_whatever_its_clock_says() -> None:
    # The holder's clock goes back by a day, then forward by a year.
    untils = (100.0, 100.5, -86_300.0, -86_299.5, 31e6, 31e6 + 0.5, 31e6 + 1.0)
    looks = [(at * 2.0, (replace(LEASE, until=until),)) for at, until in enumerate(untils)]
    assert watched(*looks) == [()] * 7


def test_time_in_which_nobody_could_look_does_not_count() -> None:
    # For an hour the database was away, or this machine slept.
    found = watched((0.0, (LEASE,)), (3600.0, (LEASE,)), (3602.0, (LEASE,)))
    assert found == [(), (), ()]


def test_each_lease_is_counted_by_itself() -> None:
    looks = [(float(at), (LEASE, OTHER) if at >= 4 else (LEASE,)) for at in range(0, 16, 2)]
    found = watched(*looks)
    assert found[5] == (LEASE,)
    assert found[7] == (LEASE, OTHER)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "data") as opened:
        yield opened


def send_and_claim(store: Store) -> tuple[Secrets, Job]:
    with store.blobs.receive() as writer:
        writer.write(b"dump")
        file = ReceivedFile("archive", "d.tar", writer.finish())
    secrets = store.reports.create(NewReport("d.tar", Question(), (file,)), now=1.0)
    job = store.jobs.claim("worker", now=2.0, lease_s=9.0)
    assert job is not None
    return secrets, job


def test_the_sweeper_gives_up_a_silent_worker_and_no_other(store: Store) -> None:
    silent, _ = send_and_claim(store)
    lively, job = send_and_claim(store)
    sweeper = Sweeper(store, lease_s=0.6, look_s=0.05)
    sweeper.start()
    try:
        deadline = time.monotonic() + 10
        now = 5.0
        while (row := store.reports.find(silent.report_id)) and row.state == "running":
            assert time.monotonic() < deadline
            # A clock that stands nearly still, and then goes back.
            now = now + 0.001 if now < 5.01 else 1.0
            assert store.jobs.renew(job, now=now, lease_s=9.0, progress=("x", 0, None))
            time.sleep(0.02)
        found = store.reports.find(lively.report_id)
        assert found is not None
        assert found.state == "running"
    finally:
        sweeper.stop()


def test_the_sweeper_goes_on_after_a_fault(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    looks: list[float] = []

    def fails_at_first() -> tuple[Lease, ...]:
        looks.append(time.monotonic())
        if len(looks) == 1:
            raise OSError("disk I/O error")
        return ()

    monkeypatch.setattr(store.jobs, "leases", fails_at_first)
    sweeper = Sweeper(store, look_s=0.02)
    sweeper.start()
    deadline = time.monotonic() + 5
    while len(looks) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    sweeper.stop()
    assert len(looks) >= 3
    assert "disk I/O error" in caplog.text
