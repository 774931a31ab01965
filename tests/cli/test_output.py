"""How wide the commands write, and what becomes of what cannot be written."""

import subprocess
import sys
from pathlib import Path

import pytest
from rich.text import Text

from app.cli.output import console_for_report
from app.report.terminal_columns import table_of

ROW = ("FAIL", "m" * 200, "pipeline_parallel.py:123", "why it is so, in a sentence " * 9)


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    console = console_for_report(stdout_is_taken=False)
    row = [Text(cell) for cell in ROW]
    console.print(table_of(("", "check", "line", "why"), [row], console.width))
    return capsys.readouterr().out


def test_without_a_terminal_no_line_is_folded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert [line.split() for line in printed(capsys).splitlines()][-1] == " ".join(ROW).split()


def test_columns_says_where_lines_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    told = printed(capsys)
    assert max(map(len, told.splitlines())) <= 80
    assert ".py:123 " in told


@pytest.mark.parametrize("words", ["rules", "explain PIP001", "parse - --json -"])
def test_a_full_disk_is_no_finding(words: str) -> None:
    program = [sys.executable, "-m", "hloscope", *words.split()]
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            program,
            input=b"HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n",
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
    assert ended.returncode == 2
    assert ended.stderr == b"hloscope: cannot write: No space left on device\n"
