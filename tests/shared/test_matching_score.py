"""Matching reaches its targets over real dumps, names and order hidden."""

import runpy
from pathlib import Path

import pytest

from conftest import SHARED

EVERY = 10


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_matching_reaches_its_targets() -> None:
    score = runpy.run_path(str(Path(__file__).parents[1] / "bench" / "matching_score.py"))
    total, tally = score["Score"]("all"), score["Tally"]()
    for path in sorted(SHARED.glob("dumps/*.tar.gz")):
        dump, large = score["score_dump"](path, every=EVERY, show=0.0)
        total.add(dump)
        tally.add(large)
    assert total.count > 10_000
    assert score["reaches_targets"](total), total
    assert tally.reaches_targets(), tally
