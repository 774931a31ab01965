"""`./run` says what is wrong before it does anything: unknown words, no Python, no venv."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parent.parent / "run"
TOOLS = ("sh", "cat", "cmp", "dirname", "rm")


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A PATH of the few tools every system has, and no Python."""
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found
        (tmp_path / tool).symlink_to(found)
    return tmp_path


def run_with(path: Path | str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(RUN), *words],
        env={"PATH": str(path), "HOME": os.devnull},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def clone(bare_path: Path) -> Path:
    """A checkout that is set up, where `hloscope` only notes how it was called."""
    copy = bare_path / "clone"
    programs = copy / ".venv" / "bin"
    programs.mkdir(parents=True)
    shutil.copy(RUN, copy)
    (copy / "pyproject.toml").touch()
    (copy / "requirements.lock").touch()
    # The version of that Python is the empty text.
    (copy / ".venv" / "set-up-for-runtime").write_text(f"{copy}\n")
    script(bare_path / "python3", "exit 0")
    script(programs / "python", "exit 0")
    script(programs / "hloscope", f'echo "$*" >>{copy}/calls; case $* in *taken*) exit 2 ;; esac')
    return copy


def calls(clone: Path, *words: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [str(clone / "run"), *words],
        env={"PATH": str(clone.parent)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.returncode, (clone / "calls").read_text().splitlines()


@pytest.mark.parametrize("words", ["", "--port 0", "--host 0.0.0.0 --data /d"])
def test_it_explains_a_sample_when_it_can_serve_it(clone: Path, words: str) -> None:
    code, (checked, explained, served) = calls(clone, *words.split())
    assert code == 0
    assert checked == f"serve --check {words}".strip()
    assert explained.startswith("analyze ")
    assert served.startswith("serve --sample ")
    assert served.endswith(words)


def test_it_explains_nothing_when_it_cannot_serve(clone: Path) -> None:
    assert calls(clone, "--port", "taken") == (2, ["serve --check --port taken"])


def test_help_names_every_command() -> None:
    done = run_with(os.environ["PATH"], "--help")
    assert done.returncode == 0
    for command in ("serve", "hloscope", "test", "lint", "bench"):
        assert f"./run {command}" in done.stdout


def test_an_unknown_command_is_wrong_use() -> None:
    done = run_with(os.environ["PATH"], "tset")
    assert done.returncode == 2
    assert "./run test" in done.stderr


def test_no_python_is_told(bare_path: Path) -> None:
    done = run_with(bare_path, "serve")
    assert done.returncode == 1
    assert "apt-get install python3 python3-venv" in done.stderr


def test_an_old_python_is_no_python(bare_path: Path) -> None:
    script(bare_path / "python3", "exit 1")
    done = run_with(bare_path)
    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr


def test_a_python_without_ensurepip_is_told(bare_path: Path) -> None:
    script(bare_path / "python3", 'case "$*" in *ensurepip*) exit 1 ;; esac')
    done = run_with(bare_path, "hloscope", "--help")
    assert done.returncode == 1
    assert "apt-get install python3-venv" in done.stderr
