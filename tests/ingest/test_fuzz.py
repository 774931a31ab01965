"""Damaged archives from a seed: nothing comes out but our own errors, and nothing takes long."""

import random
from pathlib import Path

import pytest

from ingest.fuzz import Fuzzer, round_of

SAMPLES = Path(__file__).resolve().parents[2] / "sample_dumps"


def test_a_few_hundred_damaged_archives() -> None:
    fuzzer = Fuzzer([])
    chance = random.Random(2024)
    for _ in range(300):
        fuzzer.case(chance)
    assert fuzzer.findings == []
    assert fuzzer.counts["read"] > 30
    assert len(fuzzer.counts) > 6


@pytest.mark.long
def test_a_minute_of_damaged_archives() -> None:
    fuzzer = Fuzzer(sorted(SAMPLES.glob("*/dump.tar.*")))
    round_of(fuzzer, random.randrange(1000, 1 << 30), 60)
    assert fuzzer.findings == []
