"""Flags, code and numbers of lines: kept whole, and everything else as text."""

import pytest

from app.report.marked import marked, whole

FLAG = '<span class="flag-word">--xla_gpu_x=true</span>'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain words -- and a-b", "plain words -- and a-b"),
        ("--xla_gpu_x=true with more", f"{FLAG} with more"),
        ("set (--xla_gpu_x=true), then", f"set ({FLAG}), then"),
        ("`a != b` fails", "<code>a != b</code> fails"),
        ("one ` alone", "one ` alone"),
        (
            "`<b>` & --x<i>",
            '<code>&lt;b&gt;</code> &amp; <span class="flag-word">--x</span>&lt;i&gt;',
        ),
        ("<script>`", "&lt;script&gt;`"),
        ("", ""),
    ],
)
def test_only_flags_and_code_are_marked(text: str, html: str) -> None:
    assert marked(text) == html


def test_a_long_hostile_text_is_read_in_one_go() -> None:
    text = "`" * 50_000 + "--" * 50_000
    assert len(marked(text)) >= len(text)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("train.py:55", 'train.py<span class="whole-number">:55</span>'),
        (
            "dot.3 (a.py:5), b.py:61 (inferred)",
            'dot.3 (a.py<span class="whole-number">:5</span>), '
            'b.py<span class="whole-number">:61</span> (inferred)',
        ),
        ("<b>:5 & x:5y", "&lt;b&gt;:5 &amp; x:5y"),
        ("", ""),
    ],
)
def test_the_number_of_a_line_is_in_one_piece(text: str, html: str) -> None:
    assert whole(text) == html
