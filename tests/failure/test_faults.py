"""Many seeded faults in few long runs: nothing accepted is lost, doubled, half visible or hung.

Each run writes what was done and what came of it to `faults_log.txt` in the folder that
`HLOSCOPE_FAULTS_LOG` names, by default a temporary one; the log of one run is kept beside this
file. `HLOSCOPE_FAULTS` is how many faults a run has, `HLOSCOPE_FAULTS_SEED` what all choices come
from.
"""

import os
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import func, select

from app.settings import settings_from_environment
from app.store import Store
from app.store.schema import attachment, job, report
from failure.faults import Make, embedded_faults, scaled_faults
from failure.load import REPORTS, Load, dumped, why_wrong
from scale.set import EmbeddedSet, ScaledSet, ServerSet

FAULTS = int(os.environ.pop("HLOSCOPE_FAULTS", "0"))
SEED = int(os.environ.pop("HLOSCOPE_FAULTS_SEED", "8"))
LOG = os.environ.pop("HLOSCOPE_FAULTS_LOG", "")

SETTINGS = {
    "HLOSCOPE_JOB_WORKERS": "1",
    "HLOSCOPE_MAX_UPLOADS_PER_HOUR": "1000000",
    "HLOSCOPE_MAX_REQUESTS_PER_MINUTE": "1000000",
    "HLOSCOPE_MIN_FREE_BYTES": "1MiB",
    "HLOSCOPE_UPLOAD_IDLE_S": "3",
}
# Of our own doing, and said so.
EXPECTED_FAILURES = {"killed", "worker_lost", "no_space"}

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

Say = Callable[[str], None]


@pytest.fixture
def say(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Say]:
    folder = Path(LOG) if LOG else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with (folder / "faults_log.txt").open("a", encoding="utf-8") as file:
        file.write(f"== {request.node.name}, seed {SEED}\n")

        def write(words: str) -> None:
            file.write(f"{time.monotonic() - began:8.1f} s  {words}\n")
            file.flush()

        yield write


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[bool]:
    """Whether the data folder has a small disk of its own, which takes the right to mount one."""
    data = tmp_path / "data"
    data.mkdir()
    mounted = os.geteuid() == 0 and not subprocess.call(
        ["mount", "-t", "tmpfs", "-o", "size=256m", "tmpfs", str(data)]
    )
    yield mounted
    if mounted:
        subprocess.check_call(["umount", "--lazy", str(data)])


def test_one_server_with_all_it_needs(tmp_path: Path, say: Say, disk: bool) -> None:
    say("the disk can be filled" if disk else "no disk can be mounted here, so none is filled")
    with EmbeddedSet(tmp_path, SETTINGS) as running:
        befall(running, embedded_faults(running, disk=disk), FAULTS or 40, say)
        running.servers[0].kill()
        check_rows(running.environ, say)


def test_two_servers_and_two_workers(
    tmp_path: Path, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScaledSet(tmp_path, SETTINGS) as running:
        befall(running, scaled_faults(running), FAULTS or 160, say)
        for name, value in running.bucket.keys.items():
            monkeypatch.setenv(name, value)
        check_rows(running.environ | {"HLOSCOPE_DATA_DIR": str(tmp_path / "guest")}, say)


def befall(running: ServerSet, faults: list[Make], count: int, say: Say) -> None:
    """Let `count` faults befall the set under load, then hold it to what it promised."""
    rng = random.Random(SEED)
    load = Load(running.urls, SEED)
    load.start()
    done: Counter[str] = Counter()
    try:
        while done.total() < count:
            time.sleep(rng.uniform(0.2, 4.0))
            fault = rng.choice(faults)(rng)
            say(f"{done.total() + 1:3}  {fault.what}")
            if not fault.what.startswith(("no ", "the ")):
                done[fault.what] += 1
            time.sleep(rng.uniform(0.1, 1.5))
            fault.heal()
            assert load.counts.wrong == []
        for program in (*running.servers, *running.workers):
            program.wait()
    finally:
        load.stop()
    say(f"over: {dumped(load.counts)}")
    left = load.settle(within_s=240)
    say(f"{len(load.promises)} were accepted, {len(left)} of them are not over")
    assert left == []
    assert load.counts.wrong == []
    say(f"ends: {check_promises(running.urls, load)}")


def check_promises(urls: list[str], load: Load) -> dict[str, int]:
    """Every upload that was accepted has its own report, or says why not; on every server."""
    ends: Counter[str] = Counter()
    for number, promise in enumerate(load.promises):
        if promise.deleted:
            ends["deleted"] += 1
            continue
        place = f"{urls[number % len(urls)]}{REPORTS}/{promise.id}"
        state: dict[str, Any] = httpx2.get(place, timeout=30).json()
        if state["state"] == "failed":
            assert state["error"]["code"] in EXPECTED_FAILURES, state
            assert state["error"]["message"]
            ends[state["error"]["code"]] += 1
            continue
        assert why_wrong(promise, httpx2.get(f"{place}/report", timeout=30).json()) is None
        ends["done"] += 1
    assert ends["done"] > len(load.promises) // 2
    return dict(ends)


def check_rows(environ: dict[str, str], say: Say) -> None:
    """The rows agree with each other and with the blobs, and nothing is there twice."""
    own = {name: value for name, value in environ.items() if name.startswith("HLOSCOPE_")}
    is_guest = "HLOSCOPE_DATABASE_URL" in own
    with Store.of(settings_from_environment(own), is_guest=is_guest) as store:
        # No room needs such a look at all rows at once.
        with store.jobs._reading.connect() as connection:
            states = select(report.c.state, job.c.state).join(job, job.c.report_key == report.c.key)
            pairs = Counter(tuple(row) for row in connection.execute(states))
            bundles = connection.execute(
                select(report.c.state, func.count(attachment.c.blob))
                .outerjoin(
                    attachment,
                    (attachment.c.report_key == report.c.key) & (attachment.c.role == "bundle"),
                )
                .group_by(report.c.key, report.c.state)
            ).all()
            named = set(connection.scalars(select(attachment.c.blob)).all())
        assert all(left == right for left, right in pairs), pairs
        assert {state for state, _ in pairs} <= {"done", "failed"}, pairs
        assert {(state, count) for state, count in bundles} <= {("done", 1), ("failed", 0)}
        # Who was killed between pinning a blob and naming it left a pin, which lasts an hour.
        store.ledger.drop_pins()
        store.ledger.sweep(grace_s=0)
        kept = set(store.blobs.kept())
        assert kept == named
        say(f"rows: {len(bundles)} reports, {len(named)} blobs, each named and there")
