"""Lines of the user's own files, which must be those that Python counts."""

from pathlib import Path

import pytest

from app.ingest.source_lines import read_program, read_source_lines
from app.model.source_lines import Snippet, lines_of_program
from report import builders


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", ()),
        ("a = 1", ("a = 1",)),
        ("a = 1\n", ("a = 1",)),
        ("a = 1\r\n\rb\n\n", ("a = 1", "", "b", "")),
        ("a\n\f\nb\n", ("a", "\f", "b")),
        ('a = "\x1c\x85\u2028"\nb', ('a = "\x1c\x85\u2028"', "b")),
    ],
)
def test_a_line_ends_where_python_ends_it(text: str, lines: tuple[str, ...]) -> None:
    assert lines_of_program(text) == lines


def test_a_form_feed_moves_no_line(tmp_path: Path) -> None:
    report = builders.crash_report()
    file = tmp_path / Path(builders.PROGRAM).name
    file.write_text("\f\n" + "".join(f"line_{number} = 1\n" for number in range(2, 99)))
    found = read_source_lines(report, [tmp_path])[builders.PROGRAM, 55]
    assert found == Snippet(53, tuple(f"line_{n} = 1" for n in range(53, 58)), str(file))
    assert read_program([builders.PROGRAM], [tmp_path])[builders.PROGRAM].lines[54] == "line_55 = 1"
