"""How many public failures are given their class, from nothing but the lines that were printed."""

import json
from typing import Any

import pytest

from app.service import Log, Question, analyze
from app.settings import Settings
from conftest import SHARED
from shared.log_mutations import mutated

RECORDS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (SHARED / "failures" / "failures.jsonl").read_text("utf-8").splitlines()
]
SEEN = [r for r in RECORDS if r["lines_basis"].startswith("seen") and r["failure_lines"]]


def missed(seed: int | None) -> list[tuple[str, str, str | None]]:
    found: list[tuple[str, str, str | None]] = []
    for record in SEEN:
        lines = record["failure_lines"]
        text = "\n".join(lines if seed is None else mutated(lines, seed)) + "\n"
        report = analyze(None, Settings(), question=Question(logs=(Log("run.log", text),)))
        got = report.findings[0].class_ if report.findings else None
        if got != record["class"]:
            found.append((record["id"], record["class"], got))
    return found


@pytest.mark.parametrize("seed", [None, *range(12)])
def test_at_least_95_of_100_are_right(seed: int | None) -> None:
    wrong = missed(seed)
    assert len(wrong) <= 0.05 * len(SEEN), wrong


def test_no_record_goes_unanswered() -> None:
    for record in SEEN:
        text = "\n".join(record["failure_lines"]) + "\n"
        report = analyze(None, Settings(), question=Question(logs=(Log("run.log", text),)))
        assert report.findings, record["id"]
