"""What a newcomer is told to type works as it stands, and ends quietly when interrupted."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli import complaints, worker
from app.cli.commands import COMMANDS
from app.cli.main import build_parser, main
from app.settings import Settings, template_dir

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


def test_a_log_in_the_place_of_the_dump_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "a run.log"
    log.write_text("F0412 10:11:12.345678 4242 some_pass.cc:12] Check failed: a != b\n")
    assert main(["analyze", str(log)]) == 3
    assert f"hloscope analyze --log '{log}'" in capsys.readouterr().err


def test_without_a_command_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    told = capsys.readouterr()
    assert not told.out
    assert all(f"    {name} " in told.err for name in COMMANDS)


def test_without_an_action_admin_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["admin"]) == 2
    told = capsys.readouterr()
    assert not told.out
    actions = ("stats", "sweep", "check", "backup", "restore", "tokens")
    assert all(re.search(f"^    {name} +[a-z]", told.err, re.MULTILINE) for name in actions)


@pytest.mark.parametrize(
    ("words", "usage", "meant"),
    [
        ("anlyze x", "hloscope [", "did you mean analyze?"),
        ("--verison", "hloscope [", "did you mean --version?"),
        ("run --tiemout 3 -- true", "hloscope run [", "did you mean --timeout?"),
        ("analyze x --jsno=a", "hloscope analyze [", "did you mean --json?"),
        ("analyze x --fail-on erorr", "hloscope analyze [", "did you mean error?"),
        ("analyze --frobnicate", "hloscope analyze [", "unrecognized arguments: --frobnicate\n"),
        ("rules x y", "hloscope rules [", "unrecognized arguments: x y\n"),
    ],
)
def test_a_mistyped_word_is_told_with_what_is_known(
    words: str, usage: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith(f"usage: {usage}")
    assert told.endswith((meant, f"{meant}\n"))


def test_a_log_that_is_not_there_is_not_taken_for_the_dump(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "module.txt"
    text.write_text("HloModule m\n\nENTRY e {\n  ROOT x = f32[] parameter(0)\n}\n")
    log = tmp_path / "nope.log"
    assert main(["analyze", str(text), "--log", str(log)]) == 3
    told = capsys.readouterr().err
    assert f"{log}: cannot read" in told
    assert "--log" not in told


def test_an_empty_log_is_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "empty.log"
    log.touch()
    assert main(["analyze", "--log", str(log)]) == 3
    assert "the log is empty" in capsys.readouterr().err
    text = tmp_path / "module.txt"
    text.write_text("HloModule m\n\nENTRY e {\n  ROOT x = f32[] parameter(0)\n}\n")
    assert main(["analyze", str(text), "--log", str(log)]) == 0
    assert "empty.log: the log is empty" in capsys.readouterr().err


def test_that_no_release_is_installed_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HLOSCOPE_REPLAY_DIR", str(tmp_path))
    assert main(["replay", "--list"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "no release is installed. hloscope replay --install R" in said.err


def test_both_sides_are_looked_for_before_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def read(*args: object, **given: object) -> None:
        raise AssertionError("a dump was read")

    monkeypatch.setattr("app.cli.compare.compare_dumps", read)
    assert main(["compare", str(tmp_path), str(tmp_path / "nosuch")]) == 3
    assert "nosuch: no such file or folder" in capsys.readouterr().err


def test_a_size_that_is_none_is_told_what_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HLOSCOPE_MAX_UPLOAD_BYTES", "abc")
    assert main(["rules"]) == 2
    assert "8GiB" in capsys.readouterr().err


def test_the_store_of_a_worker_is_told_without_its_password() -> None:
    settings = Settings(
        database_url="postgresql://me:secret@db/hloscope", blobs_url="s3://bucket/a?key=secret"
    )
    assert worker.store_of(settings) == "postgresql://db/hloscope and s3://bucket/a"
    assert worker.store_of(Settings()) == str(Path("data").resolve())
