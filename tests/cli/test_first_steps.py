"""What a newcomer is told to type works as it stands, and ends quietly when interrupted."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli import complaints
from app.cli.commands import COMMANDS
from app.cli.main import build_parser, main
from app.settings import template_dir

ROOT = Path(__file__).resolve().parents[2]


def test_the_first_command_for_a_crash_of_ones_own_needs_nothing_installed() -> None:
    _, section = (ROOT / "README.md").read_text("utf-8").split("## Your own crash\n")
    first = re.search(r"^```sh\n(.+)$", section, re.MULTILINE)
    assert first is not None
    assert first[1].startswith("./run hloscope run ")


def test_the_page_keeps_the_flags_of_the_reader_and_names_the_short_way() -> None:
    page = template_dir().joinpath("upload.html").read_text("utf-8")
    assert 'XLA_FLAGS="$XLA_FLAGS --xla_dump_to=' in page
    assert "hloscope run -- python train.py" in page


@pytest.mark.parametrize(
    ("message", "is_told"),
    [
        ("kept: hloscope analyze d --log l", True),
        ("no such rule. See `hloscope rules`.", True),
        ("interrupted", False),
        ("hloscope has no answer", False),
    ],
)
def test_a_printed_command_that_is_not_on_the_path_is_told_with_its_place(
    message: str,
    is_told: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("sys.argv", ["/some where/bin/hloscope"])
    complaints.complain(message)
    said = capsys.readouterr().err
    assert ("'/some where/bin/hloscope'" in said) is is_told


def test_a_command_on_the_path_is_printed_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = tmp_path / "hloscope"
    command.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.argv", [str(command)])
    complaints.complain("see `hloscope rules`")
    assert capsys.readouterr().err == "hloscope: see `hloscope rules`\n"


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["rules", "--help"]])
def test_help_imports_no_more_than_it_needs(words: list[str]) -> None:
    code = f"""
import sys
from hloscope import main
try:
    main({words!r})
finally:
    heavy = {{"app.service", "app.store", "uvicorn", "sqlalchemy"}} & set(sys.modules)
    assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_list_of_commands_is_that_of_their_modules() -> None:
    assert build_parser("").format_help() == build_parser().format_help()


@pytest.mark.parametrize("command", list(COMMANDS))
def test_an_interrupt_while_a_command_is_imported_ends_quietly(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(name: str) -> object:
        raise KeyboardInterrupt(name)

    monkeypatch.setattr("app.cli.main.import_module", interrupted)
    assert main([command]) == 130
    assert capsys.readouterr().err == "hloscope: interrupted\n"
