"""Logs without end: what is kept has bounds, what is left out is said, and time is linear."""

import random
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.ingest import merge_logs, read_log, read_log_file
from app.ingest.log_kept import Kept
from app.ingest.log_marks import TRIGGERS
from app.ingest.log_words import WordFinder
from app.service import Log, Question, analyze
from app.settings import Settings
from ingest.endless_logs import KINDS, pieces_of
from ingest.test_log_blocks import CHATTER, CHECK, chatter, slowly

STUCK = (
    "2025-03-01 12:00:00.000001: E external/xla/xla/service/rendezvous.cc:38] This thread has been "
    "waiting for `all-reduce` for 20 seconds and may be stuck."
)
UNSTUCK = (
    "2025-03-01 12:00:00.000001: E external/xla/xla/service/rendezvous.cc:44] Thread is unstuck! "
    "Warning above was a false-positive."
)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_has_bounds(kind: str) -> None:
    logs = [b"".join(pieces_of(kind, size)) for size in (2_500_000, 6_000_000)]
    short, long = (read_log(log, name="x") for log in logs)
    assert [facts.lines for facts in (short, long)] == [_lines(log) for log in logs]
    signatures = [[f.signature for f in facts.failures] for facts in (short, long)]
    # The last ones are those of the end.
    assert signatures[0][:2000] == signatures[1][:2000]
    assert len(signatures[0]) == len(signatures[1]) <= 2500
    assert long.hung == short.hung
    assert len(long.verbose) <= 14_500
    assert sum(len(v.text) for v in long.verbose) < 20e6


@pytest.mark.parametrize("kind", ["program", "verbose", "tracebacks", "rendezvous"])
def test_a_failure_behind_an_endless_log_is_found(kind: str) -> None:
    data = b"".join(pieces_of(kind, 6_000_000))
    facts = read_log(data + CHECK.encode() + b"\n", name="x")
    checks = [f for f in facts.failures if f.kind == "check"]
    assert [(f.line_number, f.line) for f in checks] == [(data.count(b"\n") + 1, 675)]
    assert facts.lines == data.count(b"\n") + 1


def test_lines_that_were_told_are_counted_and_that_is_said() -> None:
    log = b"".join(pieces_of("tracebacks", 6_000_000))
    facts = read_log(log, name="run.log")
    (remark, *_) = facts.remarks
    assert remark.startswith("log_repeats: ")
    assert "lines of run.log repeat earlier lines" in remark
    assert facts.lines == log.count(b"\n")
    read = slowly(log)
    assert [f.signature for f in facts.failures] == [f.signature for f in read.failures]
    assert [f.line_number for f in facts.failures] == [f.line_number for f in read.failures]
    assert merge_logs([facts, facts]).remarks == facts.remarks * 2


@pytest.mark.parametrize(
    "caught", ["ValueError: INTERNAL: bad sample", "AssertionError: bad sample"]
)
@pytest.mark.parametrize("count", [9_000, 10_100, 12_000])
def test_the_last_exception_is_read_however_many_came_before(caught: str, count: int) -> None:
    """It is the one of which the run died; those before were caught."""
    died = (
        "RuntimeError: INTERNAL: CUDNN_STATUS_EXECUTION_FAILED in cuda_dnn.cc(4369)\nwhile running"
    )
    names = (chr(97 + n % 26) * (1 + n // 26 % 40) + str(n) for n in range(count))
    log = "".join(f"{caught} {name}\n" for name in names) + died + "\n"
    facts = read_log(log, name="run.log")
    texts = {failure.line_number: failure.text for failure in facts.failures}
    assert texts.get(count + 1) == died.partition(": ")[2]
    assert facts.lines == count + 2
    told = [remark for remark in facts.remarks if "without a traceback" in remark]
    unread = max(count + 1 - 10_000 - 100, 0)
    assert told == (
        [f"log_left_out: {unread:,} exceptions without a traceback in run.log are not read"]
        if unread
        else []
    )


def test_the_report_says_what_was_left_out(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_bytes(b"".join(pieces_of("warnings", 1_000_000)))
    report = analyze(None, Settings(), question=Question(logs=(Log("run.log", file=log),)))
    (remark,) = report.coverage.remarks
    assert remark.startswith("log_left_out: ")
    assert "warnings in run.log" in remark


@pytest.mark.parametrize("is_stuck", [True, False])
def test_the_last_word_on_waiting_is_heard(is_stuck: bool) -> None:
    """It stands in the midst of lines that were all told before."""
    chance = random.Random(5)
    words = [STUCK, UNSTUCK] if is_stuck else [UNSTUCK, STUCK]
    talk = [chance.choice(CHATTER).format(n=111_111) for _ in range(60_000)]
    earlier = [line for n, line in enumerate(talk) for line in (line, words[n // 50 % 2])]
    last = words[0]
    lines = [*earlier, *talk, last, *talk]
    facts = read_log("\n".join(lines), name="x")
    assert any("log_repeats" in remark for remark in facts.remarks)
    assert facts.hung is is_stuck
    assert facts.lines == len(lines)


def test_a_repeated_run_keeps_the_failure_in_its_midst() -> None:
    part = "step 1 done\n" * 100_000
    facts = read_log(part + CHECK + "\n" + part, name="x")
    assert [f.line_number for f in facts.failures] == [100_001]


def test_the_first_of_each_kind_and_the_last_of_all_are_kept() -> None:
    kept = Kept[int](most_alike=2, most=4, last=3)
    for thing in range(20):
        kept.add(thing % 3 if thing < 10 else "new", thing)
    assert kept.all() == [0, 1, 2, 3, 17, 18, 19]
    assert kept.dropped == 20 - len(kept.all())


def test_no_word_that_stands_in_a_block_is_passed_over() -> None:
    chance = random.Random(7)
    finder = WordFinder(TRIGGERS)
    for _ in range(300):
        words = chance.sample(TRIGGERS, 3)
        rest = (bytes(chance.choices(b"abXY _:.'\n*[", k=4)) for _ in range(4))
        block = b"".join(piece for pair in zip(rest, (*words, b""), strict=True) for piece in pair)
        block += chatter(200, chance.randrange(9))
        there = {word for word in TRIGGERS if word in block}
        assert there <= set(finder.possible(block))


def test_words_that_stand_nowhere_are_not_searched() -> None:
    finder = WordFinder(TRIGGERS)
    block = chatter(20_000, 1)
    assert len(finder.possible(block)) < 10
    letters = [bytes([65 + n % 26, 97 + n // 26 % 26, 65 + n // 676]) for n in range(9000)]
    assert set(finder.possible(b" ".join(letters) + block)) >= set(finder.possible(block))


def _lines(log: bytes) -> int:
    return log.count(b"\n") + (not log.endswith(b"\n"))


def _written(path: Path, pieces: Iterator[bytes]) -> int:
    with path.open("wb") as file:
        for piece in pieces:
            file.write(piece)
    return path.stat().st_size


@pytest.mark.long
@pytest.mark.parametrize("kind", ["program", "verbose", "tracebacks", "one_line", "rendezvous"])
def test_200_megabytes_take_seconds(tmp_path: Path, kind: str) -> None:
    log = tmp_path / "run.log"
    size = _written(log, pieces_of(kind, 200_000_000))
    held_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    read_log_file(log, name="x")
    seconds = time.process_time() - start
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held_before
    print(f"{kind}: {size / seconds / 1e6:.0f} MB/s, {held >> 10} MB more", file=sys.stderr)
    assert size / seconds > 20e6
    assert held < 150 << 10
