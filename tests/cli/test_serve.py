"""`hloscope serve --check` says whether the server could run, and leaves nothing behind."""

import socket
from pathlib import Path

import pytest

from app.cli.main import main
from app.store import Store


def test_a_server_that_can_run(tmp_path: Path) -> None:
    for _ in range(2):
        assert main(["serve", "--check", "--port", "0", "--data", str(tmp_path / "data")]) == 0
    # Nobody has it any more.
    with Store(tmp_path / "data"):
        pass


def test_an_address_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", "--check", "--port", port, "--data", str(tmp_path)]) == 2
    assert "Address already in use. Choose another with --port" in capsys.readouterr().err


def test_a_data_folder_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(tmp_path):
        assert main(["serve", "--check", "--port", "0", "--data", str(tmp_path)]) == 2
    assert "in use by another server" in capsys.readouterr().err


def test_a_data_folder_that_cannot_be_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["serve", "--check", "--port", "0", "--data", str(tmp_path / "file" / "d")]) == 2
    assert "cannot be used as the data folder: Not a directory" in capsys.readouterr().err


def test_a_port_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--check", "--port", "65536", "--data", str(tmp_path)]) == 2
    assert (
        "127.0.0.1:65536: the server cannot listen there: a port is a number from 0 to 65535."
        in (capsys.readouterr().err)
    )


def test_a_host_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--check", "--host", "no.such.invalid", "--data", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert "the server cannot listen there: " in told
    assert "Errno" not in told
