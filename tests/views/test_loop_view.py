"""One loop as rows: events, quiet stretches, the loops around it."""

from dataclasses import dataclass

import msgspec
import pytest

from app.errors import NotFound
from app.model.report import LoopEvent
from app.views.loop_view import MAX_ROWS, loop_view
from views.reports import LINE, REPORT, loop


@dataclass(frozen=True)
class Row:
    first: int
    last: int
    kinds: tuple[str, ...] = ()


def rows(loop_id: str) -> list[Row]:
    answer = loop_view(REPORT, loop_id)
    return [
        Row(row.first, row.last, tuple(event.kind for event in row.events)) for row in answer.rows
    ]


def test_rows() -> None:
    assert rows("L1") == [
        Row(0, 0, ("created",)),
        Row(1, 3),
        Row(4, 4, ("double_buffered", "peeled")),
        Row(5, 5, ("renamed",)),
        Row(6, 9),
    ]
    row = loop_view(REPORT, "L1").rows[2]
    assert (row.file, row.pipeline, row.after) == ("m.4.txt", "p", "pass4")


def test_removal_is_one_past_the_last_text() -> None:
    assert rows("L2") == [Row(0, 6), Row(7, 7, ("removed",))]


def test_no_events() -> None:
    assert rows("L3") == [Row(0, 9)]


def test_relatives() -> None:
    inner, outer = loop_view(REPORT, "L2"), loop_view(REPORT, "L1")
    assert inner.parent is not None
    assert (inner.parent.id, inner.parent.name, inner.parent.source) == ("L1", "while.L1", LINE)
    assert [link.id for link in outer.children] == ["L2"]
    assert outer.parent is None
    assert loop_view(REPORT, "L3").parent is None


def test_unknown() -> None:
    with pytest.raises(NotFound, match="there is no loop 'L9'"):
        loop_view(REPORT, "L9")


def test_very_many_events() -> None:
    busy = loop("busy", *(LoopEvent(dump=n * 2, kind="renamed") for n in range(5_000)), last=9_999)
    report = msgspec.structs.replace(REPORT, loops=(busy,))
    answer = loop_view(report, "busy")
    assert len(answer.rows) == MAX_ROWS
    assert answer.rows_left_out == 10_000 - MAX_ROWS


def test_hostile_positions_end() -> None:
    far = loop("far", LoopEvent(dump=10**12, kind="renamed"), last=10**12)
    report = msgspec.structs.replace(REPORT, loops=(far,))
    assert [(row.first, row.last) for row in loop_view(report, "far").rows] == [
        (0, 10**12 - 1),
        (10**12, 10**12),
    ]
