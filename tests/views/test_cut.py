"""What is cut to be shown: the limit, the mark of the cut, bytes that are no text."""

import pytest

from app.views.cut import cut_text, shown_text


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abc…"),
        ("", 0, ""),
        ("a\udcff", 2, "a?"),
        ("é" * 3, 2, "éé…"),
    ],
)
def test_a_cut_is_marked(text: str, limit: int, shown: str) -> None:
    assert cut_text(text, limit) == shown
    kept, left_out = shown_text(text, limit)
    assert len(kept) + left_out == len(text)
