"""Jobs over a real broker; the rows are in SQLite, which both sides open by its address."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.jobs.celery_app import celery_app, send
from app.jobs.celery_runner import CeleryRunner
from app.jobs.celery_workers import CeleryWorkers
from app.jobs.local import SMALL_BYTES
from app.settings import Settings
from app.store import NewReport, Question, ReceivedFile, ReportRow, Secrets, Store
from rabbit import Rabbit

HERE = Path(__file__).parent

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def rabbit() -> Iterator[Rabbit]:
    node = Rabbit()
    try:
        node.start()
        yield node
    finally:
        node.close()


@pytest.fixture
def settings(tmp_path: Path, rabbit: Rabbit) -> Settings:
    return Settings(
        data_dir=tmp_path / "server",
        database_url=f"sqlite:///{tmp_path}/rows",
        blobs_url=f"file://{tmp_path}/blobs",
        broker_url=rabbit.url,
        job_workers=1,
        job_memory_bytes=1 << 30,
    )


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    with Store.of(settings) as opened:
        yield opened


@pytest.fixture
def runner(store: Store, settings: Settings) -> Iterator[CeleryRunner]:
    made = CeleryRunner(store, settings, resend_s=4.0)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def work(settings: Settings, tmp_path: Path) -> Iterator[Callable[[], Callable[[], None]]]:
    """Starts the workers of a machine; what it returns ends them."""
    ends: list[Callable[[], None]] = []

    def start() -> Callable[[], None]:
        stopping = threading.Event()
        own = replace(settings, data_dir=tmp_path / f"worker{len(ends)}")
        workers = CeleryWorkers(own, target="child_targets:analyse", paths=[HERE])
        thread = threading.Thread(target=workers.work, args=(stopping,))
        thread.start()

        def end() -> None:
            stopping.set()
            thread.join(60)
            assert not thread.is_alive()

        ends.append(end)
        return end

    yield start
    for end in ends:
        end()


def upload(store: Store, script: str) -> Secrets:
    with store.blobs.receive() as writer:
        writer.write(script.encode())
        file = ReceivedFile("archive", "d.tar", writer.finish())
    return store.reports.create(NewReport("d.tar", Question(), (file,)), now=time.time())


def until(
    store: Store, secrets: Secrets, holds: Callable[[ReportRow], bool], within_s: float = 60
) -> ReportRow:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        row = store.reports.find(secrets.report_id)
        assert row is not None
        if holds(row):
            return row
        time.sleep(0.05)
    pytest.fail(f"not within {within_s} s: {store.reports.find(secrets.report_id)}")


def over(row: ReportRow) -> bool:
    return row.is_over


def reading(row: ReportRow) -> bool:
    return row.stage == "reading"


def owner_of(store: Store) -> int:
    """The process that holds the one running job."""
    (lease,) = store.jobs.leases()
    return int(lease.owner.split("/")[1])


def test_jobs_are_done_elsewhere_and_small_ones_pass_a_giant(
    store: Store, runner: CeleryRunner, work: Any, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    giant = upload(store, f"wait for: {go}".ljust(SMALL_BYTES + 1))
    runner.wake()
    work()
    until(store, giant, reading)
    small = [upload(store, "fine") for _ in range(3)]
    runner.wake()
    for each in small:
        row = until(store, each, over)
        assert (row.state, row.attempt) == ("done", 1)
        assert store.blobs.path(row.attached("bundle")[0].blob).read_text() == "bundle of fine"
    assert until(store, giant, lambda row: True).state == "running"
    go.touch()
    assert until(store, giant, over).state == "done"


@pytest.mark.long
def test_a_job_in_the_middle_goes_back_when_the_worker_is_told_to_end(
    store: Store, runner: CeleryRunner, work: Any
) -> None:
    secrets = upload(store, "sleep")
    end = work()
    runner.wake()
    until(store, secrets, reading)
    end()
    row = until(store, secrets, lambda row: True)
    assert (row.state, row.attempt) == ("queued", 0)


def test_a_deleted_report_frees_its_worker_within_a_second(
    store: Store, runner: CeleryRunner, work: Any
) -> None:
    secrets = upload(store, "sleep")
    work()
    runner.wake()
    row = until(store, secrets, reading)
    slot = owner_of(store)
    (server,) = children_of(slot)
    assert children_of(server)
    store.reports.delete(row.key)
    deadline = time.monotonic() + 1.0
    while children_of(server):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.long
def test_a_killed_slot_and_a_lost_message_cost_an_attempt_and_no_job(
    store: Store, runner: CeleryRunner, work: Any, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    secrets = upload(store, f"wait for: {go}")
    work()
    runner.wake()
    until(store, secrets, reading)
    slot = owner_of(store)
    (server,) = children_of(slot)
    (child,) = children_of(server)
    os.kill(slot, signal.SIGKILL)
    until_gone(child)
    go.touch()
    row = until(store, secrets, over)
    assert (row.state, row.attempt) == ("done", 2)


def test_messages_that_come_twice_or_for_nothing_change_nothing(
    store: Store, runner: CeleryRunner, work: Any, settings: Settings
) -> None:
    secrets = upload(store, "fine")
    runner.wake()
    work()
    done = until(store, secrets, over)
    app = celery_app(settings.broker_url)
    for job_id in (1, 1, 99):
        send(app, job_id, is_small=True, lives_s=60, time_limit_s=60)
    app.close()
    following = upload(store, "fine")
    runner.wake()
    assert until(store, following, over).state == "done"
    assert store.reports.find(secrets.report_id) == done


@pytest.mark.long
def test_a_broker_that_is_killed_loses_nothing(
    store: Store, runner: CeleryRunner, work: Any, rabbit: Rabbit, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    running = upload(store, f"wait for: {go}")
    work()
    runner.wake()
    until(store, running, reading)
    rabbit.kill()
    waiting = [upload(store, "fine") for _ in range(2)]
    runner.wake()
    go.touch()
    assert until(store, running, over).state == "done"
    rabbit.start()
    for secrets in waiting:
        row = until(store, secrets, over, within_s=90)
        assert (row.state, row.attempt) == ("done", 1)


def children_of(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task")
    found: list[int] = []
    for task in path.glob("*/children"):
        found += map(int, task.read_text().split())
    return [child for child in found if not is_gone(child)]


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def until_gone(pid: int) -> None:
    deadline = time.monotonic() + 10
    while not is_gone(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)
