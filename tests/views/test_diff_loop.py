"""The body of a loop before and after a pass: its names, its rows."""

import pytest

from app.model.report import Loop, LoopEvent
from app.views.diff_loop import MAX_ROWS, body_of, body_rows, name_at
from hlo_parser import parse_module
from views.test_diff_rows import reader_of

LOOP = Loop(
    id="m/while.1",
    module="m",
    name="while.9",
    first_dump=1,
    last_dump=6,
    events=(
        LoopEvent(dump=1, kind="created"),
        LoopEvent(dump=3, kind="renamed", detail="while.1 -> while.5"),
        LoopEvent(dump=3, kind="peeled"),
        LoopEvent(dump=5, kind="renamed", detail="while.5 -> while.9"),
    ),
)
TEXT = """HloModule m

body {
  p = (s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  k = s32[] constant(%d)
  n = s32[] add(i, k)
  ROOT t = (s32[]) tuple(n)
}

cond {
  q = (s32[]) parameter(0)
  ROOT b = pred[] constant(true)
}

ENTRY main {
  z = s32[] constant(0)
  init = (s32[]) tuple(z)
  ROOT while.1 = (s32[]) while(init), condition=cond, body=body
}
"""


@pytest.mark.parametrize(
    ("dump", "name"),
    [(0, ""), (1, "while.1"), (2, "while.1"), (3, "while.5"), (5, "while.9"), (7, "")],
)
def test_its_history_tells_what_a_loop_is_called_in_each_text(dump: int, name: str) -> None:
    assert name_at(LOOP, dump) == name


def test_a_history_that_does_not_fit_tells_nothing() -> None:
    broken = Loop(
        id="x",
        module="m",
        name="while.9",
        last_dump=4,
        events=(LoopEvent(dump=3, kind="renamed", detail="a -> b"),),
    )
    assert name_at(broken, 4) == "while.9"
    assert name_at(broken, 0) == ""


def test_the_body_is_shown_where_it_stands() -> None:
    before, after = TEXT % 1, TEXT % 2
    assert body_of(parse_module(after), "while.1") == "body"
    assert body_of(parse_module(after), "while.2") == body_of(parse_module(after), "") == ""
    reader = reader_of(before, after)
    rows = body_rows(reader, "body", "body")
    assert (rows.computation, rows.row, rows.left_out) == ("body", 0, 0)
    assert rows.visible == (0, 1, 2, 3, 4, 5)
    assert body_rows(reader, "body", "").computation == "body"
    assert body_rows(reader, "", "").visible == ()


def test_a_long_body_is_cut() -> None:
    lines = "\n".join(f"  x{n} = s32[] add(i, k)" for n in range(3 * MAX_ROWS))
    text = TEXT.replace("  n = ", f"{lines}\n  n = ")
    after = (text % 1).replace("add(i, k)", "multiply(i, k)")
    reader = reader_of(text % 1, after)
    opened = range(len(reader.rows.folds))
    rows = body_rows(reader, "body", "body", opened)
    assert len(rows.visible) == MAX_ROWS
    assert rows.left_out > MAX_ROWS
