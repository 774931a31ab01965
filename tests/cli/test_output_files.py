"""Files that cannot be written are refused before a command reads, sends or compiles anything."""

from pathlib import Path

import pytest

from app.cli.main import main
from app.cli.output_files import check_outputs, write_all
from app.errors import UsageError

NOWHERE = "http://127.0.0.1:9"
OPTIONS = [
    (("analyze", "a"), ("json", "html", "markdown", "thread", "sarif", "junit", "github")),
    (("compare", "a", "b"), ("json",)),
    (("policy", "a", "--file", "b"), ("json", "markdown")),
    (("replay", "a"), ("json", "html", "markdown")),
    (("replay", "a", "--reduce"), ("out",)),
    (("upload", "a", "--server", NOWHERE), ("json", "html", "sarif")),
]


@pytest.mark.parametrize(
    ("words", "option"), [(words, option) for words, options in OPTIONS for option in options]
)
def test_every_command_refuses_them_first(
    words: tuple[str, ...],
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).write_text("no dump")
    assert main([*words, f"--{option}", "nodir/file"]) == 2
    told = capsys.readouterr().err
    assert told == (
        "hloscope: nodir/file: cannot write: No such file or directory. Name another file.\n"
    )


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (".", "Is a directory"),
        ("file/x", "Not a directory"),
        ("no/file", "No such file or directory"),
        ("x" * 300, "File name too long"),
    ],
)
def test_why_a_file_cannot_be_written(tmp_path: Path, target: str, told: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=told):
        check_outputs(None, "-", str(tmp_path / target))


def test_what_can_be_written_is_let_pass_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("old")
    check_outputs(None, "", "-", str(tmp_path / "new"), str(tmp_path / "there"), "/dev/null")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("there", "old")]


def test_all_that_can_be_written_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = tmp_path / "good"
    outputs = [("/dev/full", b"1"), (str(tmp_path), b"2"), (str(good), b"3")]
    with pytest.raises(UsageError, match="No space left on device"):
        write_all(outputs)
    assert good.read_bytes() == b"3"
    assert f"{tmp_path}: cannot write: Is a directory" in capsys.readouterr().err
