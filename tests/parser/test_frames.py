"""Stack-frame tables and the places they give."""

import pytest

from hlo_parser import Frame, FrameTables, parse_module
from hlo_parser.grammar import GrammarError, read_frames

HEAD = """\
FileNames
1 "/home/me/train.py"
2 "m\\303\\251.py"

FunctionNames
1 "<module>"
2 "loss.<locals>.<lambda>"

FileLocations
1 {file_name_id=1 function_name_id=1 line=20 end_line=21 column=4 end_column=31}
2 {file_name_id=2 function_name_id=2 line=7 end_line=9 column=2 end_column=8}
3 {file_name_id=1 function_name_id=2 line=30 end_line=30 column=0 end_column=0}

StackFrames
"""


def tables(*rows: tuple[int, int]) -> FrameTables:
    """Tables with stack frames of (location, parent as printed)."""
    return FrameTables.from_text(HEAD + frames_text(*rows))


def frames_text(*rows: tuple[int, int]) -> str:
    """The rows of StackFrames."""
    return "".join(
        f"{number} {{file_location_id={location} parent_frame_id={parent}}}\n"
        for number, (location, parent) in enumerate(rows, 1)
    )


def lines(made: FrameTables, frame_id: int) -> list[int]:
    """Lines of the chain from the innermost outwards."""
    location = made.location(frame_id)
    assert location is not None
    return [frame.line for frame in location.frames]


def test_a_place_and_its_chain():
    location = tables((1, 1), (2, 2)).location(2)
    assert location is not None
    assert (location.file, location.line, location.end_line) == ("mé.py", 7, 9)
    assert (location.column, location.function) == (2, "loss.<locals>.<lambda>")
    assert location.frames == (
        Frame("mé.py", 7, "loss.<locals>.<lambda>"),
        Frame("/home/me/train.py", 20, "<module>"),
    )


def test_comments_with_stars_stand_between_and_in_rows():
    text = HEAD.replace(
        "StackFrames\n", "StackFrames /* } **/\n1 /***/ {/*a*b**/ parent_frame_id=1}\n"
    )
    module = parse_module(f"HloModule m\n\n{text}\nENTRY e {{\n  a = f32[] iota()\n}}\n")
    assert module.unparsed == ()
    assert module.frames is not None


def test_parents_are_printed_one_too_high():
    made = tables((1, 1), (2, 2), (3, 3), (2, 2))
    assert [lines(made, number) for number in (1, 2, 3, 4)] == [[20], [7, 20], [30, 7, 20], [7, 20]]


def test_the_first_printer_wrote_parents_plainly():
    made = tables((1, 0), (2, 1), (3, 2))
    assert [lines(made, number) for number in (1, 2, 3)] == [[20], [7, 20], [30, 7, 20]]


def test_a_parent_not_below_its_frame_is_none():
    assert lines(tables((1, 1), (2, 9), (3, 4)), 2) == [7]
    assert lines(tables((1, 1), (2, 9), (3, 4)), 3) == [30]


def test_repeating_chains_are_collapsed():
    rows = [(1, 1)] + [(2 + number % 2, number + 2) for number in range(20)]
    assert lines(tables(*rows), 21) == [30, 7, 20]


@pytest.mark.parametrize("frame_id", [0, -1, 3, 10**9])
def test_unknown_ids_have_no_place(frame_id: int):
    assert tables((1, 1), (2, 2)).location(frame_id) is None


def test_ids_beyond_the_tables_have_no_place():
    assert tables((9, 1)).location(1) is None
    text = HEAD.replace("file_name_id=1", "file_name_id=9") + frames_text((1, 1))
    assert FrameTables.from_text(text).location(1) is None


def test_an_unknown_function_leaves_the_line():
    text = HEAD.replace("function_name_id=1", "function_name_id=9") + frames_text((1, 1))
    location = FrameTables.from_text(text).location(1)
    assert location is not None
    assert (location.line, location.function) == (20, None)


def test_the_grammar_gives_the_same():
    text = HEAD + frames_text((1, 1), (2, 2))
    odd = text.replace(" line=", ", line=").replace("\n\n", "\n")
    assert read_frames(text) == read_frames(odd)
    first, second = FrameTables.from_text(text), FrameTables.from_text(odd)
    assert [first.location(number) for number in (1, 2)] == [
        second.location(number) for number in (1, 2)
    ]


def test_all_four_tables_are_needed():
    with pytest.raises(GrammarError, match="StackFrames"):
        FrameTables.from_text(HEAD.replace("StackFrames", ""))
