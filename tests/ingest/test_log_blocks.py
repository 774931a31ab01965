"""Passing over dull lines as bytes comes to the same as reading every one of them."""

import random
import resource
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.ingest import read_log, read_log_file
from app.ingest.log_blocks import (
    BLOCK_BYTES,
    LONGEST_LINE,
    blocks_of_bytes,
)
from app.ingest.log_marks import TRIGGERS, LineMarker
from app.ingest.log_shapes import _MENTIONS
from app.model.dump import LogFacts
from ingest.test_log_shapes import SHAPES
from samples import SAMPLE_DUMPS

CHECK = (
    "2024-07-01 12:57:35.488299: F external/xla/xla/service/collective_pipeliner.cc:675] Check "
    "failed: last_cloned != nullptr (0 vs. nullptr)"
)
CHATTER = [
    "step {n} | loss 0.1234 | lr 3.0e-4",
    "\x1b[32mINFO\x1b[0m 2025-03-01 12:00:01.123 trainer.py:120] step {n}",
    "\rTraining:  10%|##  | 1/10\rTraining:  20%|####| 2/10",
    "[rank3] I0301 12:00:01.123456 1003 pjrt_executor.cc:{n}] Executing step {n}",
    "(train pid=4001) 2025-03-01 12:00:00.123456: I external/xla/xla/service/service.cc:7] ok",
    "worker-0 | metrics {{'loss': {n}}}",
    "nobody knows >> I0301 12:00:01.123456 1003 service.cc:{n}] hello",
    "",
    "    indented {n}",
]
TELLING = [line for shape in SHAPES.values() for line in shape.log.split("\n")]


def slowly(data: bytes) -> LogFacts:
    """The answer of reading each line."""
    lines = data.decode("utf-8", "backslashreplace").split("\n")
    return read_log(lines[:-1] if lines[-1] == "" else lines, name="x")


def chatter(size: int, seed: int) -> bytes:
    chance = random.Random(seed)
    lines: list[str] = []
    while size > 0:
        lines.append(chance.choice(CHATTER).format(n=chance.randrange(10**6)))
        size -= len(lines[-1]) + 1
    return ("\n".join(lines) + "\n").encode()


@pytest.mark.parametrize("log", sorted(SAMPLE_DUMPS.glob("*/run.log")), ids=lambda p: p.parent.name)
def test_logs_of_samples_are_read_alike(log: Path) -> None:
    data = log.read_bytes()
    assert read_log_file(log, name="x") == slowly(data) == read_log(data, name="x")
    inside = chatter(3000, 1) + data + chatter(3000, 2) + data
    assert read_log(inside, name="x") == slowly(inside)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(TELLING + CHATTER * 8), max_size=60), st.integers(1, 300))
def test_any_mixture_is_read_alike(lines: list[str], piece: int) -> None:
    data = "\n".join(lines).encode()
    pieces = [data[at : at + piece] for at in range(0, len(data), piece)]
    joined = b"".join(blocks_of_bytes(pieces))
    assert read_log(joined, name="x") == slowly(data) == read_log(data, name="x")


def test_lines_that_speak_of_failures_are_marked() -> None:
    triggers = [word.decode() for word in TRIGGERS]
    marked = ("_ERROR_", "_STATUS_", "_CHECK", "_EXHAUSTED", "::", *triggers)
    unmarked = [w for w in _MENTIONS if not any(t in w for t in marked) and w[-2:] != ": "]
    assert unmarked == []


def test_a_far_failure_keeps_its_line() -> None:
    data = chatter(3 * BLOCK_BYTES, 3)
    lines = data.count(b"\n")
    facts = read_log(data + CHECK.encode() + b"\n" + data, name="x")
    assert [f.line_number for f in facts.failures] == [lines + 1]
    assert facts.lines == 2 * lines + 1


@pytest.mark.parametrize("filler", [b"x", b"x\r", b"0x7 ::", b"\x1b[0m\xff"])
def test_a_giant_line_is_cut_and_ends(filler: bytes) -> None:
    giant = filler * (3 * LONGEST_LINE // len(filler))
    data = b"before\n" + giant + b"\r" + CHECK.encode() + b"\nafter\n" + giant
    pieces = [data[at : at + 60_000] for at in range(0, len(data), 60_000)]
    assert max(len(block) for block in blocks_of_bytes(pieces)) < 3 * LONGEST_LINE
    for source in (data, b"".join(blocks_of_bytes(pieces))):
        facts = read_log(source, name="x")
        assert [(f.line_number, f.line) for f in facts.failures] == [(2, 675)]
        assert facts.lines == 4


@pytest.mark.long
@pytest.mark.parametrize("place", [0.5, 1.0])
def test_a_log_of_200_megabytes(tmp_path: Path, place: float) -> None:
    log = tmp_path / "run.log"
    part = chatter(1 << 20, 5)
    giant = b"y" * (20 << 20) + b"\n"
    with log.open("wb") as file:
        for number in range(180):
            if number == int(180 * place):
                file.write(CHECK.encode() + b"\n")
            file.write(giant if number == 7 else part)
        if place == 1.0:
            file.write(CHECK.encode() + b"\n")
    before = resource.getrusage(resource.RUSAGE_SELF)
    facts = read_log_file(log, name="x")
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert [f.line for f in facts.failures] == [675]
    seconds, held = after.ru_utime - before.ru_utime, after.ru_maxrss - before.ru_maxrss
    print(
        f"{log.stat().st_size / 1e6:.0f} MB: {seconds:.1f} s, {held >> 10} MB more", file=sys.stderr
    )
    assert seconds < 30
    assert held < 100 << 10


@pytest.mark.parametrize("word", [b"::a", b"_CHECK", b"a.cc:1] ", b"x"])
def test_words_without_end_on_one_line_take_no_longer_each(word: bytes) -> None:
    def seconds(count: int) -> float:
        start = time.process_time()
        LineMarker(lambda _: False).mark(word * count + b"\n")
        return time.process_time() - start

    assert seconds(160_000) < 10 * max(seconds(40_000), 0.02)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.sampled_from(TELLING + CHATTER), min_size=1, max_size=12), max_size=40))
def test_what_was_judged_before_is_marked_alike(blocks: list[list[str]]) -> None:
    marker = LineMarker(lambda file: file.startswith("collective"))
    for number, lines in enumerate(blocks):
        block = ("\n".join(lines).replace("{n}", str(number)) + "\n").encode()
        alone = LineMarker(lambda file: file.startswith("collective")).mark(block)
        assert marker.mark(block) == alone


@pytest.mark.parametrize("file", ["service.cc", "hlo_pass_pipeline.cc"])
def test_lines_that_differ_in_numbers_are_judged_once(file: str) -> None:
    def seconds(count: int) -> float:
        lines = [
            f"I1130 08:24:{n % 60:02}.{n % 10**6:06} 2 {file}:70] run {n}" for n in range(count)
        ]
        data = "\n".join(lines).encode()
        start = time.process_time()
        facts = read_log(data, name="x")
        assert facts.lines == count
        return (time.process_time() - start) / len(data)

    # Words are looked for in each line at some 20 MB a second; here nearly all is counted only.
    assert seconds(400_000) < 1 / 40e6
