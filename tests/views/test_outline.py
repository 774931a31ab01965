"""The computations of a dump."""

from app.views.outline import MAX_COMPUTATIONS, ComputationRow, outline
from hlo_parser import parse_module
from views.modules import SMALL


def test_rows() -> None:
    answer = outline(SMALL)
    first = SMALL.first_line(SMALL.computations[0])
    assert answer.computations == (
        ComputationRow(name="sum", first_line=first, lines=5, instructions=3, callers=1),
        ComputationRow(name="main", first_line=first + 6, lines=10, instructions=8, is_entry=True),
    )
    assert answer.total == 2


def test_part_of_a_name() -> None:
    assert [row.name for row in outline(SMALL, containing="MAI").computations] == ["main"]
    assert outline(SMALL, containing="nothing").total == 0


def test_very_many() -> None:
    module = parse_module(
        "HloModule m\n\n"
        + "".join(
            f"%c.{n} () -> f32[] {{\n  ROOT %r = f32[] constant({n})\n}}\n\n" for n in range(5_000)
        )
    )
    answer = outline(module)
    assert (len(answer.computations), answer.total) == (MAX_COMPUTATIONS, 5_000)
    assert answer.cut is not None
    assert (answer.cut.shown, answer.cut.total) == (MAX_COMPUTATIONS, 5_000)
