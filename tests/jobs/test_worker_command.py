"""`hloscope worker` beside a server, over a database that both have open by its address."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.cli import worker as worker_command
from app.store import NewReport, Question, ReceivedFile, ReportRow, Secrets, Store, StoreUnavailable

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "import sys; from app.cli.main import main; sys.exit(main(['worker', *sys.argv[1:]]))"
TEXT = """\
HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

ENTRY %main (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  ROOT %a = f32[4]{0} add(%p, %p)
}
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(
        tmp_path / "server",
        database=f"sqlite:///{tmp_path}/rows",
        blobs=f"file://{tmp_path}/blobs",
    ) as opened:
        yield opened


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    process = run_worker(
        f"--database=sqlite:///{tmp_path}/rows",
        f"--blobs=file://{tmp_path}/blobs",
        f"--data={tmp_path}/worker",
        "--workers=1",
    )
    yield process
    process.kill()
    process.communicate()


def run_worker(*options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *options],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if "HLOSCOPE" not in name},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def upload(store: Store, text: str) -> Secrets:
    with store.blobs.receive() as writer:
        writer.write(text.encode())
        name = "module_0000.m.before_optimizations.txt"
        file = ReceivedFile("archive", name, writer.finish())
    return store.reports.create(NewReport(name, Question(), (file,)), now=time.time())


def until(store: Store, secrets: Secrets, holds: Callable[[ReportRow], bool]) -> ReportRow:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        row = store.reports.find(secrets.report_id)
        assert row is not None
        if holds(row):
            return row
        time.sleep(0.02)
    pytest.fail(f"still so: {store.reports.find(secrets.report_id)}")


def test_it_works_at_what_waits_and_gives_back_what_it_was_at(
    store: Store, worker: subprocess.Popen[str]
) -> None:
    row = until(store, upload(store, TEXT), lambda row: row.is_over)
    assert (row.state, row.problem) == ("done", None)
    assert store.blobs.path(row.attached("bundle")[0].blob).is_file()
    computations = (f"%c{n} (p: f32[{n + 1}]) -> f32[] {{\n" for n in range(40_000))
    body = "  ROOT %p = f32[] parameter(0)\n}\n\n"
    head, entry = TEXT.split("ENTRY")
    long = upload(store, head + body.join(computations) + body + "ENTRY" + entry)
    until(store, long, lambda row: row.state == "running")
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0
    row = until(store, long, lambda row: True)
    assert (row.state, row.attempt) in (("queued", 0), ("done", 1))


def test_it_says_what_is_wrong_with_what_it_was_given(tmp_path: Path) -> None:
    for options, said in (
        (["--workers=0"], "a worker works at one job at least"),
        (["--database=mysql://h/x"], "mysql"),
    ):
        process = run_worker(f"--data={tmp_path}", *options)
        output, _ = process.communicate(timeout=60)
        assert (process.returncode, said in output) == (2, True), output


def test_it_says_that_its_database_does_not_answer(tmp_path: Path) -> None:
    process = run_worker("--database=postgresql://me:s3cret@127.0.0.1:9/rows", f"--data={tmp_path}")
    said = process.communicate(timeout=60)[0]
    assert process.returncode == 4
    assert said == (
        "hloscope: the database does not answer. Start the worker again when it does.\n"
    )


def test_it_drops_copies_of_what_was_deleted_again_and_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = threading.Semaphore(0)

    def away_at_first() -> int:
        looks.release()
        raise StoreUnavailable("the database does not answer")

    monkeypatch.setattr(worker_command, "_DROP_COPIES_S", 0.01)
    monkeypatch.setattr(store.ledger, "drop_copies", away_at_first)
    stopping = threading.Event()
    with worker_command._copies_dropped(store, stopping):
        assert looks.acquire(timeout=10)
        assert looks.acquire(timeout=10)
    assert stopping.is_set()


def test_a_signal_that_comes_while_the_event_is_locked_waits_for_nothing() -> None:
    stopping = threading.Event()
    before = signal.getsignal(signal.SIGUSR1)
    worker_command._set_by_signals(stopping, signal.SIGUSR1)
    try:
        with stopping._cond:  # pyright: ignore[reportAttributeAccessIssue]
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(0.05)
            assert not stopping.is_set()
        assert stopping.wait(10)
    finally:
        signal.signal(signal.SIGUSR1, before)
