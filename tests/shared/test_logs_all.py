"""Every real log at hand: passing over dull lines changes nothing."""

from pathlib import Path

import pytest

from app.ingest import read_log, read_log_file
from conftest import SHARED

LOGS = sorted((SHARED / "dumps").glob("*.log"))


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.stem)
def test_dull_lines_are_dull(log: Path) -> None:
    lines = log.read_text("utf-8", "backslashreplace").split("\n")
    assert read_log_file(log, name="x") == read_log(lines[:-1], name="x")
