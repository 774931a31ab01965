import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.jobs.budget import limits_for
from app.jobs.local import SMALL_BYTES, LocalRunner
from app.settings import Settings
from app.store import (
    NewReport,
    NoSpace,
    Question,
    ReceivedFile,
    ReportRow,
    Secrets,
    Store,
    StoreUnavailable,
)

HERE = Path(__file__).parent
SETTINGS = Settings(job_cpu_s=1, job_timeout_s=20, job_memory_bytes=512 << 20, job_workers=2)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "data") as opened:
        yield opened


@pytest.fixture
def start(store: Store) -> Iterator[Callable[..., LocalRunner]]:
    runners: list[LocalRunner] = []

    def start_runner(**changes: Any) -> LocalRunner:
        runner = LocalRunner(
            store, replace(SETTINGS, **changes), target="child_targets:analyse", paths=[HERE]
        )
        runners.append(runner)
        runner.start()
        return runner

    yield start_runner
    for runner in runners:
        runner.stop()


def send(store: Store, script: str, *, log: str = "") -> Secrets:
    files = [("archive", "dump.tar", script)] + ([("log", "run.log", log)] if log else [])
    received: list[ReceivedFile] = []
    for role, name, text in files:
        with store.blobs.receive() as writer:
            writer.write(text.encode())
            received.append(
                ReceivedFile("log" if role == "log" else "archive", name, writer.finish())
            )
    new = NewReport("dump.tar", Question("--xla_x=1", "0.4.30", hung=True), tuple(received))
    return store.reports.create(new, now=time.time())


def until(
    store: Store, secrets: Secrets, holds: Callable[[ReportRow], bool], within_s: float = 20
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


def children() -> list[int]:
    """The children of the fork server, which is the only child of this process that lives on."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            parents[int(path.parent.name)] = int(parent)
    servers = {child for child, parent in parents.items() if parent == os.getpid()}
    return [child for child, parent in parents.items() if parent in servers]


def test_a_job_ends_with_a_bundle_and_a_summary(
    store: Store, start: Callable[..., LocalRunner]
) -> None:
    secrets = send(store, "fine", log="Check failed")
    runner = start()
    row = until(store, secrets, over)
    assert (row.state, row.problem) == ("done", None)
    (bundle,) = row.attached("bundle")
    assert store.blobs.path(bundle.blob).read_text() == "bundle of fine"
    assert row.summary is not None
    assert row.summary["name"] == "dump.tar"
    assert row.summary["logs"] == [["run.log", "Check failed"]]
    assert row.summary["question"] == ["--xla_x=1", "0.4.30", True]
    runner.stop()
    assert list((store.folder / "work").iterdir()) == []


def test_a_child_gets_budgets_but_no_secrets(
    store: Store, start: Callable[..., LocalRunner]
) -> None:
    secrets = send(store, "fine")
    start(upload_token="secret")
    row = until(store, secrets, over)
    assert row.summary is not None
    assert row.summary["settings"]["max_members"] == SETTINGS.max_members
    assert Settings(**row.summary["settings"]).job_cpu_s == SETTINGS.job_cpu_s
    assert "secret" not in str(row.summary)


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        ("hog", "memory", "0.5 GiB"),
        ("spin", "cpu_time", "1 seconds of processor time"),
        ("crash", "crashed", "signal 6"),
        ("suicide", "killed", "the system killed"),
        ("bug", "analysis_fault", "a fault of its own"),
        ("refuse", "truncated", "it is cut off"),
    ],
)
def test_a_bad_end_is_told_in_plain_words(
    store: Store, start: Callable[..., LocalRunner], script: str, code: str, said: str
) -> None:
    secrets = send(store, script)
    innocent = send(store, "fine")
    start()
    row = until(store, secrets, over)
    assert row.state == "failed"
    assert row.problem is not None
    assert row.problem.code == code
    assert said in row.problem.message
    assert row.problem.hint
    assert "Traceback" not in str(row.problem)
    assert until(store, innocent, over).state == "done"


def test_wall_time_is_told(store: Store, start: Callable[..., LocalRunner]) -> None:
    secrets = send(store, "sleep")
    start(job_timeout_s=1)
    row = until(store, secrets, over)
    assert row.problem is not None
    assert row.problem.code == "wall_time"


def test_progress_shows_while_it_works(store: Store, start: Callable[..., LocalRunner]) -> None:
    secrets = send(store, "sleep")
    start()
    row = until(store, secrets, lambda row: row.stage == "reading")
    assert (row.state, row.done, row.total, row.attempt) == ("running", 1, 4, 1)


def test_deleting_kills_the_child_within_a_second(
    store: Store, start: Callable[..., LocalRunner]
) -> None:
    secrets = send(store, "sleep")
    runner = start()
    row = until(store, secrets, lambda row: row.stage == "reading")
    assert children()
    store.reports.delete(row.key)
    runner.wake()
    deadline = time.monotonic() + 1.0
    while children():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    following = send(store, "fine")
    runner.wake()
    assert until(store, following, over).state == "done"


def test_stopping_queues_the_job_again(store: Store, start: Callable[..., LocalRunner]) -> None:
    secrets = send(store, "sleep")
    runner = start()
    until(store, secrets, lambda row: row.stage == "reading")
    runner.stop()
    assert children() == []
    row = until(store, secrets, lambda row: True)
    assert (row.state, row.attempt) == ("queued", 0)


def test_a_small_job_never_waits_behind_giants(
    store: Store, start: Callable[..., LocalRunner]
) -> None:
    giants = [send(store, "sleep".ljust(SMALL_BYTES + 1)) for _ in range(4)]
    small = send(store, "fine")
    start()
    assert until(store, small, over).state == "done"
    for secrets in giants[:2]:
        until(store, secrets, lambda row: row.state == "running")
    waiting = [until(store, secrets, lambda row: True).state for secrets in giants[2:]]
    assert waiting == ["queued", "queued"]


def test_a_lost_child_costs_an_attempt_and_no_more(
    store: Store, start: Callable[..., LocalRunner], tmp_path: Path
) -> None:
    secrets = send(store, f"lose once: {tmp_path / 'marker'}")
    start(job_workers=1)
    row = until(store, secrets, over)
    assert (row.state, row.attempt) == ("done", 2)


def test_a_job_that_loses_every_worker_fails_alone(
    store: Store, start: Callable[..., LocalRunner]
) -> None:
    poison = send(store, "kill its server")
    innocent = send(store, "fine")
    start(job_workers=1)
    row = until(store, poison, over)
    assert (row.state, row.attempt) == ("failed", 3)
    assert row.problem is not None
    assert row.problem.code == "worker_lost"
    assert "3 times" in row.problem.message
    assert until(store, innocent, over).state == "done"


def test_the_end_of_a_job_outlives_an_outage_of_the_database(
    store: Store,
    start: Callable[..., LocalRunner],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    away = threading.Event()

    def unless_away(name: str) -> None:
        method = getattr(store.jobs, name)

        def call(*arguments: Any, **options: Any) -> Any:
            if away.is_set():
                raise StoreUnavailable("SELECT 1", None, OSError("connection refused"))
            return method(*arguments, **options)

        monkeypatch.setattr(store.jobs, name, call)

    for name in ("claim", "renew", "finish", "leases"):
        unless_away(name)
    secrets = send(store, f"wait for: {tmp_path / 'go'}")
    start(job_workers=1)
    until(store, secrets, lambda row: row.stage == "reading")
    away.set()
    (tmp_path / "go").touch()
    time.sleep(1.5)
    assert until(store, secrets, lambda row: True).state == "running"
    away.clear()
    row = until(store, secrets, over)
    assert (row.state, row.attempt) == ("done", 1)


def test_a_worker_outlives_trouble_with_the_database(
    store: Store, start: Callable[..., LocalRunner], monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = store.jobs.claim
    failures = iter([OSError("disk I/O error"), OSError("disk I/O error")])

    def fails_at_first(*arguments: Any, **options: Any) -> Any:
        for failure in failures:
            raise failure
        return claim(*arguments, **options)

    monkeypatch.setattr(store.jobs, "claim", fails_at_first)
    secrets = send(store, "fine")
    runner = start()
    for _ in range(3):
        time.sleep(0.1)
        runner.wake()
    assert until(store, secrets, over).state == "done"


def test_no_room_for_the_report_is_told(
    store: Store, start: Callable[..., LocalRunner], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> None:
        raise NoSpace

    secrets = send(store, "fine")
    monkeypatch.setattr(store.blobs, "receive_file", full)
    start()
    row = until(store, secrets, over)
    assert row.problem is not None
    assert row.problem.code == "no_space"


def test_a_large_upload_gets_more_in_proportion() -> None:
    small, large = (limits_for(Settings(), size) for size in (0, 100 << 20))
    assert (small.cpu_s, small.wall_s) == (60, 120)
    assert large.cpu_s > small.cpu_s
    assert large.wall_s > small.wall_s
    assert large.memory_bytes > small.memory_bytes


def test_a_sweep_takes_nothing_of_a_job_that_runs(
    store: Store, start: Callable[..., LocalRunner], tmp_path: Path
) -> None:
    go = tmp_path / "go"
    secrets = send(store, f"wait for: {go}", log="Check failed")
    start()
    until(store, secrets, lambda row: row.stage == "reading")
    # As if the job had run for longer than any grace.
    store.ledger.sweep(grace_s=0)
    go.touch()
    row = until(store, secrets, over)
    assert (row.state, row.problem) == ("done", None)
    (bundle,) = row.attached("bundle")
    assert store.blobs.path(bundle.blob).is_file()


def test_a_child_loads_the_analysis_and_nothing_of_the_server() -> None:
    code = (
        "import sys, app.jobs.analysis\n"
        "server = {'sqlalchemy', 'alembic', 'obstore', 'fastapi', 'uvicorn'}\n"
        "print(sorted(server & set(sys.modules)))"
    )
    root = HERE.parents[1]
    command = [sys.executable, "-c", code]
    shown = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"


def test_a_store_of_blobs_that_is_away_for_a_while_costs_no_attempt(
    store: Store, start: Callable[..., LocalRunner], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store.blobs.path
    away = iter([StoreUnavailable("connection refused"), None, StoreUnavailable("again")])

    def away_at_first(sha256: str) -> Path:
        fault = next(away, path)
        if isinstance(fault, StoreUnavailable):
            raise fault
        # A copy that somebody else removed: there is no such file.
        return path(sha256) if fault else path("0" * 64)

    monkeypatch.setattr(store.blobs, "path", away_at_first)
    secrets = send(store, "fine", log="a log")
    start(job_workers=1)
    row = until(store, secrets, over)
    assert (row.state, row.attempt) == ("done", 1)


@pytest.mark.parametrize("step", ["path", "receive_file"])
def test_a_lease_is_renewed_while_bytes_come_and_go(
    store: Store, start: Callable[..., LocalRunner], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    copy = getattr(store.blobs, step)
    renewed: list[bool] = []

    def slow_copy(*arguments: Any) -> Any:
        (before,) = store.jobs.leases()
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and store.jobs.leases() == (before,):
            time.sleep(0.05)
        renewed.append(store.jobs.leases() != (before,))
        return copy(*arguments)

    secrets = send(store, "fine")
    monkeypatch.setattr(store.blobs, step, slow_copy)
    start(job_workers=1)
    assert until(store, secrets, over).state == "done"
    assert renewed == [True]


def test_an_outage_at_the_end_of_a_job_leaves_no_copies_of_its_bundle(
    store: Store, start: Callable[..., LocalRunner], monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = store.jobs.finish
    left: list[int] = []

    def away_twice(*arguments: Any, **options: Any) -> bool:
        left.append(len(list((store.folder / "blobs" / "incoming").iterdir())))
        if len(left) < 3:
            raise StoreUnavailable("the database does not answer")
        return finish(*arguments, **options)

    monkeypatch.setattr(store.jobs, "finish", away_twice)
    secrets = send(store, "fine")
    start(job_workers=1)
    assert until(store, secrets, over).state == "done"
    assert left == [1, 1, 1]
