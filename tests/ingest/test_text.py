"""Texts of every encoding, and lines longer than the budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingest.text import read_text
from ingest.archives import FIRST, HLO, load, remarks, tar_of

NAMED = HLO.replace("x.1)\n", 'x.1), metadata={op_name="caf\u00e9"}\n')


def pieces_of(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize(
    ("data", "is_odd"),
    [
        (HLO.encode(), False),
        (b"\xef\xbb\xbf" + HLO.encode(), False),
        (HLO.replace("\n", "\r\n").encode(), False),
        (HLO.encode("utf-16"), True),
        (HLO.encode("utf-16-le"), True),
        (HLO.encode("utf-16-be"), True),
        ("\ufeff".encode("utf-16-be") + HLO.encode("utf-16-be"), True),
    ],
)
def test_encodings_of_one_text(data: bytes, is_odd: bool) -> None:
    text = read_text(iter(pieces_of(data, 7)), 1 << 20)
    assert text.text.removeprefix("\ufeff") == HLO
    assert (text.is_odd, text.byte_size, text.long_lines) == (is_odd, len(data), ())


def test_odd_bytes_are_escaped() -> None:
    text = read_text(iter([b"a\0b caf\xe9\n"]), 1 << 20)
    assert text.text == "a\\x00b caf\\xe9\n"
    assert text.is_odd


@pytest.mark.parametrize(
    "data",
    [
        NAMED.encode("latin-1"),
        HLO.encode("utf-16"),
        NAMED.replace("\u00e9", "\0").encode(),
    ],
)
def test_odd_encoding_is_remarked_and_read(data: bytes) -> None:
    contents = load(tar_of({FIRST: data}))
    assert remarks(contents) == ["encoding"]
    assert contents.modules[0].dumps[0].module.instruction_count == 2


def test_long_lines_leave_an_empty_line() -> None:
    data = b"first\n" + b"x" * 100 + b"\nthird\n" + b"y" * 50 + b"\nfifth"
    for size in (1, 3, 10, 1000):
        text = read_text(iter(pieces_of(data, size)), 20)
        assert text.text == "first\n\nthird\n\nfifth"
        assert text.long_lines == ((2, 101), (4, 51))


def test_long_line_of_an_instruction_is_counted_and_the_rest_read() -> None:
    constant = "  %c.9 = f32[99]{0} constant({" + "1, " * 4000 + "1})\n"
    data = HLO.replace("  ROOT", constant + "  ROOT").encode()
    contents = load(tar_of({FIRST: data}), max_line_bytes=5000)
    assert [(e.reason, e.line) for e in contents.coverage.unparsed] == [("line_too_long", 5)]
    assert contents.coverage.unparsed_lines == 1
    module = contents.modules[0].dumps[0].module
    assert [i.name for i in module.entry.instructions] == ["x.1", "negate.2"]
    assert module.line_of(module.entry, module.entry.root) == 6


@pytest.mark.parametrize(
    "line",
    [
        "c.9 = " + "(" * 100_000 + "f32[]" + ")" * 100_000 + " add(x.1)",
        "c.9 = f32[] custom-call(" + "(" * 100_000 + ")" * 100_000 + ")",
        'c.9 = f32[] add(x.1), backend_config={"a":' + "{" * 100_000 + "}" * 100_000 + "}",
        "c.9 = f32[] constant(" + "{" * 65 + "1" + "}" * 65 + ")",
    ],
    ids=["types", "operands", "configuration", "one too many"],
)
def test_a_line_that_nests_too_deep_is_remarked(line: str) -> None:
    contents = load(tar_of({FIRST: HLO.replace("  ROOT", f"  {line}\n  ROOT").encode()}))
    (remark,) = [each for each in contents.coverage.remarks if each.startswith("too_deep: ")]
    assert f"{FIRST}:" in remark
    assert contents.coverage.unparsed_lines >= 1
    assert "negate.2" in [i.name for i in contents.modules[0].dumps[0].module.entry.instructions]


def test_what_nests_as_deep_as_may_be_is_read() -> None:
    line = 'c.9 = f32[] add(x.1, x.1), backend_config={"a":' + "[" * 62 + "1" + "]" * 62 + "}"
    contents = load(tar_of({FIRST: HLO.replace("  ROOT", f"  {line}\n  ROOT").encode()}))
    assert not any(each.startswith("too_deep") for each in contents.coverage.remarks)
    assert contents.coverage.unparsed_lines == 0


@given(
    lines=st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"")), max_size=8),
    size=st.integers(1, 30),
    limit=st.integers(1, 12),
)
def test_any_cutting_into_pieces_reads_the_same(lines: list[bytes], size: int, limit: int) -> None:
    data = b"\n".join(lines)
    whole = read_text(iter([data]), limit)
    assert read_text(iter(pieces_of(data, size)), limit) == whole
    kept = [line if len(line) + 1 <= limit else None for line in lines[:-1]]
    assert [number - 1 for number, _ in whole.long_lines if number <= len(kept)] == [
        place for place, line in enumerate(kept) if line is None
    ]
