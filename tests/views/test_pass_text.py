"""Windows of a text: numbers, limits, and where things stand."""

import pytest

from app.errors import NotFound
from app.views.pass_text import (
    MAX_CHARACTERS,
    MAX_LINE_CHARACTERS,
    MAX_LINES,
    TextLine,
    line_of,
    pass_text,
)
from views.modules import SMALL


def numbers(text: str, **window: int) -> list[int]:
    return [line.number for line in pass_text(text, **window).lines]


def test_window() -> None:
    answer = pass_text("a\nb\nc\nd\n", first=2, count=2)
    assert answer.lines == (TextLine(number=2, text="b"), TextLine(number=3, text="c"))
    assert (answer.first, answer.total_lines, answer.cut) == (2, 4, None)


@pytest.mark.parametrize(
    ("text", "window", "expected"),
    [
        ("a\nb", {}, [1, 2]),
        ("a\nb\n", {}, [1, 2]),
        ("a\nb\n\n", {}, [1, 2, 3]),
        ("", {}, []),
        ("a\nb\n", {"first": 2, "count": 100}, [2]),
        ("a\nb\n", {"first": 99}, [2]),
        ("a\nb\n", {"first": -5, "count": 1}, [1]),
        ("a\nb\n", {"count": 0}, []),
        ("a\nb\n", {"count": -3}, []),
        ("a\r\nb\x0bc\x85d\u2028e\n", {}, [1, 2]),
    ],
)
def test_edges(text: str, window: dict[str, int], expected: list[int]) -> None:
    assert numbers(text, **window) == expected


def test_lines_agree_with_the_parser() -> None:
    text = b"".join(SMALL.pieces).decode()
    answer = pass_text(text)
    assert answer.total_lines == SMALL.line_count
    for computation in SMALL.computations:
        for instruction in computation.instructions:
            line = line_of(SMALL, computation.name, instruction.name)
            assert answer.lines[line - 1].text.strip() == instruction.text
        assert computation.name in answer.lines[line_of(SMALL, computation.name) - 1].text


def test_unknown_names() -> None:
    with pytest.raises(NotFound, match="no computation 'other'"):
        line_of(SMALL, "other")
    with pytest.raises(NotFound, match="no instruction 'other'"):
        line_of(SMALL, "main", "other")


def test_too_many_lines() -> None:
    answer = pass_text("x\n" * 100_000, first=50, count=100_000)
    assert len(answer.lines) == MAX_LINES
    assert answer.total_lines == 100_000
    assert answer.cut is not None
    assert (answer.cut.shown, answer.cut.total) == (MAX_LINES, 99_951)
    assert answer.cut.next_step == f"Ask for lines from {50 + MAX_LINES} on."


def test_long_lines() -> None:
    line = "x" * (MAX_LINE_CHARACTERS + 7)
    answer = pass_text(f"{line}\n" * MAX_LINES, count=MAX_LINES)
    assert answer.lines[0].left_out == 7
    assert sum(len(line.text) for line in answer.lines) <= MAX_CHARACTERS
    assert answer.cut is not None
    assert answer.cut.shown == len(answer.lines) == MAX_CHARACTERS // MAX_LINE_CHARACTERS
