"""A module gives its text back to the byte, in pieces that texts of one dump share."""

import pytest

from hlo_parser import Interner, parse_module

TEXT = b"""HloModule m, entry_computation_layout={()->f32[]}

%f () -> f32[] {
  ROOT %c = f32[] constant(1)
}

ENTRY %main () -> f32[] {
  %d = f32[] constant(2)
  ROOT %r = f32[] call(), to_apply=%f
}

"""


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.rstrip(),
        TEXT.rstrip() + b"\n",
        TEXT + b"\n \n",
        b"\n" + TEXT,
        b"noise before\n\n" + TEXT,
        TEXT + b"noise after",
        TEXT.replace(b"}\n\n", b"} // f\n\n\n"),
        TEXT.replace(b"call()", b"call(\xff)"),
        TEXT.replace(b"%d = f32[] constant(2)", b"%d = not HLO at all ((("),
        TEXT.replace(b"\n", b"\r\n"),
        TEXT.replace(b"\n", b"\r\n", 4),
        TEXT.replace(b"\n\n", b"\r\n\n"),
        b"\xef\xbb\xbf" + TEXT,
        b"\xef\xbb\xbf" + TEXT.replace(b"\n", b"\r\n").rstrip(),
        TEXT[TEXT.index(b"%f") :],
    ],
    ids=range(16),
)
def test_text_comes_back(text: bytes) -> None:
    interner = Interner()
    for _ in range(2):
        assert b"".join(parse_module(text, interner=interner).pieces) == text


def test_equal_pieces_are_one_object() -> None:
    interner = Interner()
    first = parse_module(TEXT, interner=interner).pieces
    second = parse_module(TEXT.replace(b"constant(2)", b"constant(3)"), interner=interner).pieces
    assert len(first) == len(second) == 3
    assert [a is b for a, b in zip(first, second, strict=True)] == [True, True, False]
