import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from app.errors import BadArchive
from app.sandbox import Ending, Limits, Outcome, run_child

HERE = Path(__file__).parent
MIB = 1 << 20


@pytest.fixture
def run(tmp_path: Path) -> Any:
    def run_target(name: str, arguments: dict[str, Any] | None = None, **options: Any) -> Outcome:
        limits = {"memory_bytes": 512 * MIB, "cpu_s": 20, "wall_s": 60.0}
        for key in ("memory_bytes", "cpu_s", "wall_s", "file_bytes", "open_files"):
            if key in options:
                limits[key] = options.pop(key)
        return run_child(
            f"child_targets:{name}",
            arguments or {},
            limits=Limits(**limits),
            folder=tmp_path,
            paths=[HERE],
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
    outcome = run("talk_nonsense")
    assert (outcome.ending, outcome.result) == (Ending.OK, "fine")
    assert outcome.log.count("unreadable message") == 4


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


def assert_gone(pid: int) -> None:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        stat = Path(f"/proc/{pid}/stat")
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    pytest.fail(f"process {pid} is still running")
