"""Rows with their texts: marks to the character, names that lead to definitions, finding."""

import pytest

from app.views.diff_marks import MAX_WORDS, Mark, differing_marks, references_in
from app.views.diff_slices import MAX_TEXT_CHARACTERS, PaneSide
from views.test_diff_rows import AFTER, BEFORE, reader_of, text_of


def cut(text: str, marks: list[Mark]) -> list[tuple[str, bool]]:
    return [(text[mark.start : mark.end], mark.renamed) for mark in marks]


@pytest.mark.parametrize(
    ("before", "after", "names", "left", "right"),
    [
        ("%a = add(%x)", "%a = add(%x)", {}, [], []),
        ("%a = add(%x)", "%a = add(%y)", {}, [("%x", False)], [("%y", False)]),
        ("%a = add(%x)", "%a = add(%y)", {"x": "y"}, [("%x", True)], [("%y", True)]),
        ("%a = add(%x, %z)", "%b = mul(%y, %z)", {"x": "y", "a": "b"},
         [("%a", True), ("add", False), ("%x", True)],
         [("%b", True), ("mul", False), ("%y", True)]),
        ('m={op_name="jit(f)/a/x"}', 'm={op_name="jit(f)/b/x"}', {},
         [("a", False)], [("b", False)]),
        ("f32[8]{0} abs(%p)", "f32[16]{0} abs(%p), k=1", {},
         [("8", False)], [("16", False), (", k=1", False)]),
        ("", "x", {}, [], [("x", False)]),
    ],
)  # fmt: skip
def test_marks_are_the_words_that_differ(
    before: str,
    after: str,
    names: dict[str, str],
    left: list[tuple[str, bool]],
    right: list[tuple[str, bool]],
) -> None:
    marks = differing_marks(before, after, names)
    assert cut(before, marks[0]) == left
    assert cut(after, marks[1]) == right


def test_lines_that_differ_in_very_many_words_have_one_mark() -> None:
    before = " ".join(f"a{n}" for n in range(5 * MAX_WORDS))
    after = " ".join(f"b{n}" for n in range(5 * MAX_WORDS))
    assert differing_marks(before, after, {}) == (
        [Mark(0, len(before), False)],
        [Mark(0, len(after), False)],
    )


def test_names_in_strings_opcodes_and_keys_are_no_references() -> None:
    rows = {"add": 1, "x": 2, "f32": 3, "calls": 4, "c": 5}
    text = 'add.1 = f32[8] add(x, %add), calls=c, metadata={op_name="x/add %x"}'
    found = [text[ref.start : ref.end] for ref in references_in(text, rows.get)]
    assert found == ["x", "%add", "c"]


def side(row: int, which: str) -> PaneSide:
    found = reader_of(BEFORE, AFTER).picked([row])[0]
    chosen = found.before if which == "before" else found.after
    assert chosen is not None
    return chosen


def test_a_row_has_texts_lines_and_links() -> None:
    before, after = side(3, "before"), side(3, "after")
    assert (before.name, before.line, before.text) == ("b", 6, "%b = f32[8]{0} add(%a, %p)")
    assert [before.text[m.start : m.end] for m in before.marks] == ["%a"]
    assert [(after.text[n.start : n.end], n.row) for n in after.names] == [("%new", 2), ("%p", 1)]
    row = reader_of(BEFORE, AFTER).picked([3])[0]
    assert "operands" in row.note
    assert "matched by" in row.note


def test_the_part_of_a_long_line_that_differs_is_shown() -> None:
    long = "x" * 3_000
    config = "%a = f32[8]{{0}} custom-call(%p), backend_config={{{}={}}}"
    p, r = "%p = f32[8]{0} parameter(0)", "ROOT %r = f32[8]{0} negate(%a)"
    before, after = (text_of(p, config.format(long, n), r) for n in (1, 2))
    row = reader_of(before, after).picked([2])[0]
    assert row.after is not None
    (mark,) = row.after.marks
    assert row.after.text[mark.start : mark.end] == "2"
    assert row.after.skipped > MAX_TEXT_CHARACTERS
    whole = reader_of(before, after).picked([2], whole=True)[0].after
    assert whole is not None
    assert (whole.skipped, whole.left_out) == (0, 0)


def test_an_instruction_of_several_lines_is_one_row() -> None:
    p, r = "%p = f32[8]{0} parameter(0)", "ROOT %r = f32[8]{0} negate(%p)"
    text = text_of(p, "%k = s32[2,2]{1,0} constant({\n    { 1, 2 },\n    { 3, 4 }\n  })", r)
    reader = reader_of(text, text)
    row = reader.picked([2])[0]
    assert row.before is not None
    assert row.before.text.endswith("{ 3, 4 }\n  })")
    assert reader.row_at(0, 6) == 2


def test_rows_are_found_on_either_side() -> None:
    reader = reader_of(BEFORE, AFTER)
    assert reader.find("NEGATE").rows == (2,)
    assert reader.find("exponential").rows == (2,)
    assert reader.find("%p").total == 4
    assert reader.find("  ").rows == ()


def test_places_lead_to_rows() -> None:
    reader = reader_of(BEFORE, AFTER)
    assert reader.row_of(1, "main", "new") == 2
    assert reader.row_of(1, "main", "gone") == 0
    assert reader.row_of(0, "nothing") is None
    assert reader.row_at(1, 5) == 2
    assert reader.row_at(1, 1) is None
    assert reader.picked([99, 0])[0].row == 0
