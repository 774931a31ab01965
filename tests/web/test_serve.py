"""The server as a process: a sample's link that outlives restarts, ports, locks, a clean end."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from app.errors import UsageError
from app.settings import Settings
from app.store import Store
from app.web.sample import place_sample
from app.web.serve import serve
from web.asking import HLO, small_dump

ROOT = Path(__file__).resolve().parents[2]
RUN = """
import sys
from pathlib import Path
from app.settings import Settings
from app.web.serve import serve
data, sample, log = map(Path, sys.argv[1:4])
settings = Settings(data_dir=data, job_workers=int(sys.argv[4]))
serve(settings, port=0, sample=sample, logs=[log])
"""


@pytest.fixture
def sample(tmp_path: Path) -> tuple[Path, Path]:
    archive, log = tmp_path / "dump.tar.gz", tmp_path / "run.log"
    archive.write_bytes(small_dump())
    log.write_text("F0412 10:11:12.345678 4242 some_pass.cc:12] Check failed: a != b\n")
    return archive, log


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def launch(
    processes: list[subprocess.Popen[str]],
    data: Path,
    sample: tuple[Path, Path],
    *,
    workers: int = 1,
) -> tuple[subprocess.Popen[str], str]:
    """A server in a process of its own, and the address of the sample's report."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(data), *map(str, sample), str(workers)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    processes.append(process)
    assert process.stdout is not None
    printed = ""
    for line in process.stdout:
        printed += line
        if found := re.search(r"http://127\.0\.0\.1:\d+/r/[\w-]{32}$", line.strip()):
            return process, found[0]
    pytest.fail(f"the server printed no link:\n{printed}")


def until_done(url: str, within_s: float = 60) -> str:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            page = httpx2.get(url, headers={"accept": "text/html"})
        except httpx2.TransportError:
            time.sleep(0.1)
            continue
        if "report-nav" in page.text:
            return page.text
        assert page.status_code == 200
        assert "There is no report on" not in page.text, page.text
        time.sleep(0.2)
    pytest.fail("no report")


def path_of(url: str) -> str:
    return url[url.index("/r/") :]


def test_a_link_outlives_the_server_killed_in_the_middle(
    processes: list[subprocess.Popen[str]], tmp_path: Path, sample: tuple[Path, Path]
) -> None:
    process, url = launch(processes, tmp_path / "data", sample)
    process.kill()
    process.wait()
    process, again = launch(processes, tmp_path / "data", sample)
    assert path_of(again) == path_of(url)
    assert "some_pass.cc" in until_done(again)
    process.send_signal(signal.SIGINT)
    # uvicorn raises the signal once more at its end, and may be gone before that is handled.
    assert process.wait(15) in (-signal.SIGINT, 130, 1, 0)
    with Store(tmp_path / "data") as store:
        row = store.reports.find(url.rpartition("/")[2])
        assert row is not None
        assert row.state == "done"
        assert store.jobs.count_open() == 0


def test_a_child_does_not_outlive_a_server_that_is_killed(
    processes: list[subprocess.Popen[str]], tmp_path: Path, sample: tuple[Path, Path]
) -> None:
    process, url = launch(processes, tmp_path / "data", sample)
    deadline = time.monotonic() + 20
    children: list[int] = []
    while not children and time.monotonic() < deadline:
        children = children_of(process.pid)
    process.kill()
    process.wait()
    assert children
    deadline = time.monotonic() + 10
    while [pid for pid in children if os.path.exists(f"/proc/{pid}/exe")]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert url


def test_whoever_waits_is_let_go_at_the_end(
    processes: list[subprocess.Popen[str]], tmp_path: Path, sample: tuple[Path, Path]
) -> None:
    process, url = launch(processes, tmp_path / "data", sample, workers=0)
    state = url.replace("/r/", "/api/v1/reports/")
    with httpx2.stream("GET", f"{state}/events", timeout=30) as events:
        lines = events.iter_lines()
        assert next(lines) == "event: state"
        process.send_signal(signal.SIGTERM)
        assert any("queued" in line for line in lines)
    started = time.monotonic()
    process.wait(20)
    assert time.monotonic() - started < 3
    assert process.stdout is not None
    assert process.stdout.read() == ""


def children_of(parent: int) -> list[int]:
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if path.read_text().rpartition(")")[2].split()[1] == str(parent):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match="cannot listen") as caught:
            serve(Settings(data_dir=tmp_path), port=port)
    assert caught.value.code == "cannot_listen"


def test_a_data_folder_in_use_is_told(tmp_path: Path) -> None:
    with Store(tmp_path), pytest.raises(UsageError, match="in use by another server"):
        serve(Settings(data_dir=tmp_path), port=0)


class TestSample:
    def test_the_same_sample_keeps_its_id(self, tmp_path: Path, sample: tuple[Path, Path]) -> None:
        archive, log = sample
        with Store(tmp_path / "data") as store:
            first = place_sample(store, archive, [log])
            assert place_sample(store, archive, [log]) == first
            assert store.jobs.count_open() == 1
            assert place_sample(store, archive, []) != first
            names = [path.name for path in (tmp_path / "data/blobs/incoming").glob("*")]
            assert names == []
        with Store(tmp_path / "data") as store:
            assert place_sample(store, archive, [log]) == first

    def test_ids_are_readable_by_the_owner_alone(
        self, tmp_path: Path, sample: tuple[Path, Path]
    ) -> None:
        with Store(tmp_path / "data") as store:
            place_sample(store, sample[0], [])
        assert (tmp_path / "data/samples.json").stat().st_mode & 0o777 == 0o600

    def test_ids_that_are_lost_are_made_anew(
        self, tmp_path: Path, sample: tuple[Path, Path]
    ) -> None:
        with Store(tmp_path / "data") as store:
            first = place_sample(store, sample[0], [])
            (tmp_path / "data/samples.json").write_bytes(b"")
            second = place_sample(store, sample[0], [])
            assert second != first
            assert place_sample(store, sample[0], []) == second

    def test_a_deleted_sample_comes_back_under_its_id(
        self, tmp_path: Path, sample: tuple[Path, Path]
    ) -> None:
        with Store(tmp_path / "data") as store:
            first = place_sample(store, sample[0], [])
            row = store.reports.find(first)
            assert row is not None
            store.reports.delete(row.key)
            assert place_sample(store, sample[0], []) == first
            assert store.jobs.count_open() == 1

    def test_another_version_analyses_it_again(
        self, tmp_path: Path, sample: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Store(tmp_path / "data") as store:
            first = place_sample(store, sample[0], [])
            job = store.jobs.claim("w", now=1.0, lease_s=60.0)
            assert job is not None
            bundle = store.blobs.receive_file(sample[1])
            store.jobs.finish(job, bundle, {}, now=2.0)
            assert place_sample(store, sample[0], []) == first
            assert store.jobs.count_open() == 0
            monkeypatch.setattr("importlib.metadata.version", lambda name: "99")
            assert place_sample(store, sample[0], []) == first
            assert store.jobs.count_open() == 1

    def test_a_folder_is_packed_always_alike(self, tmp_path: Path) -> None:
        folder = tmp_path / "dump"
        (folder / "deep").mkdir(parents=True)
        for name in ("b.txt", "a.txt", "deep/c.txt"):
            (folder / name).write_text(HLO)
        (folder / "link.txt").symlink_to("/etc/passwd")
        with Store(tmp_path / "data") as store:
            first = place_sample(store, folder, [])
            os.utime(folder / "a.txt", (1, 1))
            assert place_sample(store, folder, []) == first
            row = store.reports.find(first)
            assert row is not None
            assert row.name == "dump.tar"
            packed = store.blobs.path(row.sha256).read_bytes()
        assert packed.count(b"HloModule") == 3
        assert b"root:" not in packed

    def test_a_sample_that_is_not_there_is_told(self, tmp_path: Path) -> None:
        with (
            Store(tmp_path / "data") as store,
            pytest.raises(UsageError, match="cannot be read") as caught,
        ):
            place_sample(store, tmp_path / "nothing.tar", [])
        assert caught.value.place.endswith("nothing.tar")
