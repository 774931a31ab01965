"""Damaged archives, logs and files: nothing comes out but our own errors, and soon enough."""

import random
from pathlib import Path

import pytest

from ingest import fuzz_files
from ingest.fuzz import Fuzzer, round_of
from ingest.fuzz_files import FileFuzzer
from parser.fuzz import default_dumps

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_dumps"


def test_a_few_hundred_damaged_archives() -> None:
    fuzzer = Fuzzer([])
    chance = random.Random(2024)
    for _ in range(300):
        fuzzer.case(chance)
    assert fuzzer.findings == []
    assert fuzzer.counts["read"] > 30
    assert len(fuzzer.counts) > 6


def test_a_few_damaged_logs_and_files() -> None:
    places = [SAMPLES / "pipeliner_crash_plain_dump", SAMPLES / "psum_under_cond"]
    fuzzer = FileFuzzer(
        [path for place in places for path in place.glob("dump.tar.*")],
        [place / "run.log" for place in places],
    )
    for part, make, count in (
        ("logs", fuzzer.log, 30),
        ("sides", fuzzer.side, 60),
        ("dumps", fuzzer.dump, 2),
    ):
        chance = random.Random(f"2024 {part}")
        for _ in range(count):
            fuzzer.case(part, make(chance))
    assert fuzzer.findings == []
    assert fuzzer.counts == {"logs": 30, "sides": 60, "dumps": 2}


def test_a_folder_adds_its_archives_and_logs(tmp_path: Path) -> None:
    made = [tmp_path / "a.tar.gz", tmp_path / "b" / "dump.tar.gz", tmp_path / "b" / "run.log"]
    made[1].parent.mkdir()
    for path in made:
        path.write_bytes(b"")
    (tmp_path / "notes.txt").write_bytes(b"")
    dumps, logs = fuzz_files.materials(ROOT)
    assert fuzz_files.materials(ROOT, tmp_path) == ([*dumps, *made[:2]], [*logs, made[2]])
    assert default_dumps(tmp_path) == [*default_dumps(), *made[:2]]


@pytest.mark.long
def test_a_minute_of_damaged_logs_and_files() -> None:
    fuzzer = FileFuzzer(*fuzz_files.materials(ROOT))
    fuzz_files.round_of(fuzzer, random.randrange(1000, 1 << 30), 60)
    assert fuzzer.findings == []


@pytest.mark.long
def test_a_minute_of_damaged_archives() -> None:
    fuzzer = Fuzzer(sorted(SAMPLES.glob("*/dump.tar.*")))
    round_of(fuzzer, random.randrange(1000, 1 << 30), 60)
    assert fuzzer.findings == []
