"""Matching reaches its targets over real dumps, names and order hidden."""

import runpy
import sys
from pathlib import Path

import pytest

from conftest import SHARED

EVERY = 10
BENCH = Path(__file__).parents[1] / "bench"


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_matching_reaches_its_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    score = runpy.run_path(str(BENCH / "matching_score.py"))
    near = [
        pair
        for path in sorted(SHARED.glob("dumps/*.tar.gz"))
        for pair in score["score_dump"](path, every=EVERY)[0]
    ]
    total, tally = score["total_of"]("all", near), score["Tally"]().count(near)
    assert total.count > 10_000
    assert score["reaches_targets"](total), total
    assert tally.reaches_targets(), tally
