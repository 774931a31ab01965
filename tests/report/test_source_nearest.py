"""An address that names a file or a line that nothing is known of leads to the nearest."""

import time
from typing import get_args

import pytest

from app.model.source import SourceHow
from app.report.passes_page import PassesPlace, passes_page
from app.report.source import HOW_WORDS
from app.report.source_nearest import Nearest, nearest_of
from report import builders

TRAIN, MODEL = "/home/me/train.py", "/srv/lib/model.py"
KNOWN = ((TRAIN, 7), (TRAIN, 12), (MODEL, 3))


@pytest.mark.parametrize(
    ("file", "line", "shown", "nearest"),
    [
        ("", 0, "", 0),
        (TRAIN, 0, TRAIN, 0),
        (TRAIN, 7, TRAIN, 0),
        (TRAIN, 10, TRAIN, 12),
        (TRAIN, 9, TRAIN, 7),
        ("/elsewhere/model.py", 3, MODEL, 0),
        ("modul.py", 0, MODEL, 0),
        ("\u202e<script>", 0, TRAIN, 0),
        ("train.py", 7, TRAIN, 0),
    ],
)
def test_the_nearest_is_found(file: str, line: int, shown: str, nearest: int) -> None:
    found = nearest_of(file, line, KNOWN)
    assert (found.file, found.line) == (shown, nearest)
    assert bool(found.missing) == (shown != file or nearest > 0)
    assert "\u202e" not in found.missing


def test_what_was_not_found_is_said() -> None:
    assert nearest_of("/x/modul.py", 4, KNOWN).missing == (
        "The report knows no instruction that states a line of /x/modul.py. Shown is model.py, of "
        "2 files the nearest by name."
    )
    assert nearest_of(TRAIN, 1_000, KNOWN).missing == (
        "The report knows no instruction that states line 1,000 of train.py."
    )
    assert nearest_of("any.py", 4, ()) == Nearest("any.py")
    assert nearest_of("train.py", 4, KNOWN).missing.startswith(
        f"The report knows no instruction that states a line of train.py. Shown is {TRAIN}, of 2"
    )


def test_which_of_equals_is_shown_is_no_matter_of_order() -> None:
    known = [(f"/p{number}/train.py", 1) for number in range(40)]
    asked = ("train.py", "other")
    assert [nearest_of(file, 1, known) for file in asked] == [
        nearest_of(file, 1, known[::-1]) for file in asked
    ]


def test_long_names_of_many_files_are_held_against_each_other_in_no_time() -> None:
    known = [("a" * 4_000 + f"{number}.py", 1) for number in range(5_000)]
    start = time.monotonic()
    assert nearest_of("b" * 4_000, 1, known).file in dict(known)
    assert time.monotonic() - start < 2


def test_there_is_a_word_for_every_way_to_know_a_line() -> None:
    assert set(HOW_WORDS) == set(get_args(SourceHow))


def test_a_text_that_is_not_there_is_told_and_the_last_is_shown() -> None:
    report = builders.crash_report()
    module = report.modules[0]
    last = len(module.dumps) - 1
    told = f"There is no text 99,999 in this page: of {last + 1} texts the last is shown"
    assert told in passes_page(report, PassesPlace("/r/x", module, 99_999))
    assert "There is no text" not in passes_page(report, PassesPlace("/r/x", module, last))
