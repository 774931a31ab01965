"""Every real log at hand: passing over dull lines changes nothing."""

from pathlib import Path

import pytest

from app.analysis.failure_class import diagnose
from app.analysis.topics import TOPIC
from app.ingest import read_log, read_log_file
from conftest import SHARED

LOGS = sorted((SHARED / "dumps").glob("*.log"))


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.stem)
def test_dull_lines_are_dull(log: Path) -> None:
    lines = log.read_text("utf-8", "backslashreplace").split("\n")
    assert read_log_file(log, name="x") == read_log(lines[:-1], name="x")


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.stem)
def test_what_a_run_logs_by_the_way_is_about_nothing(log: Path) -> None:
    """Only a failure may be guessed by what it is about; most of these runs went well."""
    found = diagnose(read_log_file(log, name="x"))
    assert [d.class_ for d in found if d.sign == TOPIC and d.failure is None] == []
