import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from app.errors import BadArchive
from app.sandbox import ChildLost, Ending, ForkServer, Limits, Outcome, run_child

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MIB = 1 << 20
LIMITS = Limits(memory_bytes=512 * MIB, cpu_s=20, wall_s=60.0)


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    server = ForkServer(["app.jobs.analysis"])
    yield server
    server.close()


@pytest.fixture(params=["started", "forked"])
def run(request: pytest.FixtureRequest, tmp_path: Path, fork_server: ForkServer) -> Any:
    server = fork_server if request.param == "forked" else None

    def run_target(name: str, arguments: dict[str, Any] | None = None, **options: Any) -> Outcome:
        limits = {"memory_bytes": 512 * MIB, "cpu_s": 20, "wall_s": 60.0}
        for key in ("memory_bytes", "cpu_s", "wall_s", "file_bytes", "open_files", "may_fork"):
            if key in options:
                limits[key] = options.pop(key)
        return run_child(
            f"child_targets:{name}",
            arguments or {},
            limits=Limits(**limits),
            folder=tmp_path,
            paths=[HERE],
            server=server,
            **options,
        )

    return run_target


def test_returns_the_result_and_passes_progress_on(run: Any, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    outcome = run("answer", {"value": [1, "ü"]}, progress=lambda *words: seen.append(words))
    assert outcome.ending is Ending.OK
    assert outcome.result["value"] == [1, "ü"]
    assert outcome.result["cwd"] == str(tmp_path)
    assert seen == [("reading", 1, 2), ("reading", 2, None)]


def test_hands_no_variable_of_the_server_on(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLOSCOPE_UPLOAD_TOKEN", "secret")
    outcome = run("answer", {"value": 0})
    assert set(outcome.result["environment"]) <= {"LC_ALL", "LC_CTYPE", "PATH", "TMPDIR"}


def test_carries_a_named_error_over(run: Any) -> None:
    outcome = run("refuse")
    assert outcome.ending is Ending.REFUSED
    assert type(outcome.refusal) is BadArchive
    assert outcome.refusal.code == "truncated"
    assert str(outcome.refusal) == "a.tar: it is cut off. Send it again."


def test_keeps_the_traceback_of_a_bug(run: Any) -> None:
    outcome = run("raise_bug")
    assert outcome.ending is Ending.FAILED
    assert "KeyError: 'no such thing'" in outcome.log


def test_unknown_target_is_a_failure_of_the_child(run: Any) -> None:
    outcome = run("no_such_function")
    assert outcome.ending is Ending.FAILED
    assert "AttributeError" in outcome.log


def test_memory_ends_at_the_limit(run: Any) -> None:
    assert run("eat_memory").ending is Ending.MEMORY


def test_processor_time_ends_at_the_limit(run: Any) -> None:
    assert run("spin", cpu_s=1).ending is Ending.CPU_TIME


def test_wall_time_ends_the_whole_group(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    started = time.monotonic()
    outcome = run("sleep_with_descendant", {"file": str(file)}, wall_s=3.0)
    assert outcome.ending is Ending.WALL_TIME
    assert time.monotonic() - started < 10
    assert_gone(int(file.read_text()))


def test_cancelling_kills_within_a_second(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    cancelled = threading.Event()
    at: list[float] = []

    def cancel(*_: object) -> None:
        at.append(time.monotonic())
        cancelled.set()

    outcome = run(
        "sleep_with_descendant", {"file": str(file)}, cancelled=cancelled, progress=cancel
    )
    assert outcome.ending is Ending.CANCELLED
    assert time.monotonic() - at[0] < 1.0
    assert_gone(int(file.read_text()))


def test_a_descendant_left_behind_neither_blocks_nor_survives(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    outcome = run("leave_descendant", {"file": str(file)})
    assert (outcome.ending, outcome.result) == (Ending.OK, "done")
    assert_gone(int(file.read_text()))


def test_a_crash_names_its_signal(run: Any) -> None:
    outcome = run("kill_itself")
    assert (outcome.ending, outcome.signal) == (Ending.CRASHED, signal.SIGSEGV)


def test_files_are_limited_in_number_and_size(run: Any) -> None:
    assert run("open_many_files", open_files=32).result < 32
    assert run("write_large_file", file_bytes=MIB).result == MIB


def test_an_endless_message_is_cut(run: Any) -> None:
    assert run("flood_pipe").ending is Ending.FAILED


def test_malformed_messages_are_reported_and_harmless(run: Any) -> None:
    outcome = run("talk_nonsense", progress=lambda *_: None)
    assert (outcome.ending, outcome.result) == (Ending.OK, "fine")
    assert outcome.log.count("unreadable message") == 6


def test_only_the_tail_of_the_log_is_kept(run: Any) -> None:
    outcome = run("log_much")
    assert outcome.result == "fine"
    assert len(outcome.log) <= 16 << 10
    assert "line 19999" in outcome.log


def test_a_result_too_large_for_the_pipe_is_a_failure(run: Any) -> None:
    outcome = run("large_result")
    assert outcome.ending is Ending.FAILED
    assert "too large" in outcome.log


def test_leaves_no_descriptor_open(run: Any) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        run("answer", {"value": 0})
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_child_that_may_not_fork_starts_neither_process_nor_thread(run: Any) -> None:
    assert run("try_to_fork").result == ["forked", "started"]
    assert run("try_to_fork", may_fork=False).result == ["BlockingIOError", "RuntimeError"]


class TestForkServer:
    def call(self, server: ForkServer, folder: Path, name: str, **arguments: Any) -> Outcome:
        return run_child(
            f"child_targets:{name}",
            arguments,
            limits=LIMITS,
            folder=folder,
            paths=[HERE],
            server=server,
        )

    def test_a_child_finds_the_modules_loaded(
        self, fork_server: ForkServer, tmp_path: Path
    ) -> None:
        loaded, threads = self.call(fork_server, tmp_path, "see_its_server").result
        assert "app.jobs.analysis" in loaded
        assert threads == 1, "a fork finds locks held for ever that other threads hold"
        assert "sqlalchemy" not in loaded

    def test_children_hold_nothing_open_but_their_own(
        self, fork_server: ForkServer, tmp_path: Path
    ) -> None:
        sleeper = tmp_path / "sleeper"
        stop = threading.Event()
        thread = threading.Thread(
            target=lambda: run_child(
                "child_targets:sleep_with_descendant",
                {"file": str(sleeper)},
                limits=LIMITS,
                folder=tmp_path,
                paths=[HERE],
                server=fork_server,
                cancelled=stop,
            )
        )
        thread.start()
        while not sleeper.exists():
            time.sleep(0.01)
        assert self.call(fork_server, tmp_path, "open_descriptors").result == [0, 1, 2, 3]
        stop.set()
        thread.join(10)
        assert not thread.is_alive()

    def test_the_end_of_a_child_is_seen_among_many_connections(
        self, fork_server: ForkServer, tmp_path: Path
    ) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
        with ExitStack() as connections:
            connections.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
            # More of them than `select` knows.
            while connections.enter_context(open(os.devnull)).fileno() < 1024:
                pass
            outcome = run_child(
                "child_targets:answer",
                {"value": 1},
                limits=LIMITS,
                folder=tmp_path,
                paths=[HERE],
                server=fork_server,
            )
        assert outcome.ending is Ending.OK

    def test_a_child_that_is_wanted_no_longer_before_it_is_there_ends_alone(
        self, tmp_path: Path
    ) -> None:
        server = ForkServer(["app.jobs.analysis"])
        try:
            with server.fork(tmp_path) as other:
                # Modules are still being loaded.
                with server.fork(tmp_path):
                    pass
                assert self.call(server, tmp_path, "answer", value=1).result["value"] == 1
                assert not other.has_ended()
        finally:
            server.close()

    def test_a_child_that_nobody_hears_leaves_the_others_alone(
        self, fork_server: ForkServer, tmp_path: Path
    ) -> None:
        with fork_server.fork(tmp_path) as other, fork_server.fork(tmp_path) as unheard:
            # It gets no orders, and what it says of that reaches nobody.
            for pipe in (unheard.log, unheard.words):
                os.close(pipe)
            unheard.log = unheard.words = -1
            unheard.order(b"")
            deadline = time.monotonic() + 30
            while not unheard.has_ended() and time.monotonic() < deadline:
                time.sleep(0.01)
            assert unheard.has_ended()
            assert not other.has_ended()

    def test_many_at_once_are_kept_apart(self, fork_server: ForkServer, tmp_path: Path) -> None:
        found: dict[int, Any] = {}

        def ask(number: int) -> None:
            found[number] = self.call(fork_server, tmp_path, "answer", value=number).result["value"]

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == {number: number for number in range(16)}

    def test_a_killed_server_loses_its_children_and_is_started_again(self, tmp_path: Path) -> None:
        server = ForkServer([])
        try:
            with pytest.raises(ChildLost):
                self.call(server, tmp_path, "kill_its_server")
            assert self.call(server, tmp_path, "answer", value=1).result["value"] == 1
        finally:
            server.close()

    def test_a_server_that_cannot_load_is_told(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        server = ForkServer(["no_such_module"])
        try:
            with pytest.raises(ChildLost):
                self.call(server, tmp_path, "answer", value=1)
        finally:
            server.close()
        assert "No module named 'no_such_module'" in capfd.readouterr().err

    def test_children_die_with_whoever_asked(self, tmp_path: Path) -> None:
        file = tmp_path / "pid"
        code = (
            "import sys\n"
            "from pathlib import Path\n"
            "from app.sandbox import ForkServer, Limits, run_child\n"
            "run_child('child_targets:sleep_with_descendant', {'file': sys.argv[1]},\n"
            "    limits=Limits(1 << 30, 20, 60.0), folder=Path(sys.argv[1]).parent,\n"
            "    paths=[Path(sys.argv[2])], server=ForkServer([]))\n"
        )
        asker = subprocess.Popen([sys.executable, "-c", code, str(file), str(HERE)], cwd=ROOT)
        deadline = time.monotonic() + 20
        while not file.exists() or not file.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        asker.kill()
        asker.wait()
        assert_gone(int(file.read_text()))


def assert_gone(pid: int) -> None:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        stat = Path(f"/proc/{pid}/stat")
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    pytest.fail(f"process {pid} is still running")
