"""Processes that a program started as another user (`sudo`) may be sent no signal of ours."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from app.cli.main import main
from app.sandbox import ProgramEnd, run_program

CATCHING = "import signal, time\nsignal.signal(signal.SIGABRT, print)\ntime.sleep(600)\n"
ENDING_US = "import os, signal, time\ntime.sleep(0.3)\nos.kill(os.getppid(), signal.SIGTERM)\n"


def refused(to: int, number: int) -> NoReturn:
    raise PermissionError(f"{to} is not ours to send {number}")


@pytest.fixture
def survivor() -> Iterator[None]:
    """A SIGTERM that comes before the program has started ends no test run."""
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    yield
    signal.signal(signal.SIGTERM, before)


def test_are_passed_over_when_the_time_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "kill", refused)
    with (tmp_path / "log").open("wb") as log:
        end = run_program(
            [sys.executable, "-c", CATCHING], environ={}, log=log, timeout_s=1, grace_s=0.2
        )
    assert (end.status, end.timed_out) == (-signal.SIGTERM, True)


def test_are_left_behind_when_the_time_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill = os.kill
    monkeypatch.setattr(os, "kill", refused)
    monkeypatch.setattr(os, "killpg", refused)
    with (tmp_path / "log").open("wb") as log:
        end = run_program(
            [sys.executable, "-c", "import time; time.sleep(600)"],
            environ={},
            log=log,
            timeout_s=0.5,
            grace_s=0.2,
        )
    (left,) = end.left
    assert (end.status, end.timed_out, end.seconds < 60) == (None, True, True)
    kill(left, signal.SIGKILL)
    assert os.waitpid(left, 0)[1] == signal.SIGKILL


def test_what_is_left_behind_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    end = ProgramEnd(None, 12.3, timed_out=True, left=(41, 42))
    monkeypatch.setattr("app.cli.run.run_program", lambda *_, **__: end)
    assert main(["run", "--timeout", "9", "--", "sudo", "sleep", "1"]) == 5
    assert "process 41, 42 runs on. End it as that user" in capsys.readouterr().err


@pytest.mark.usefixtures("survivor")
def test_a_signal_that_cannot_be_handed_on_is_told_by_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "killpg", refused)
    with (tmp_path / "log").open("wb") as log:
        end = run_program([sys.executable, "-c", ENDING_US], environ={}, log=log)
    assert (end.status, end.interrupted) == (0, True)
