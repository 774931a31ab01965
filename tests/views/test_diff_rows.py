"""Two texts side by side: what stands on one row, what is folded, where the other place is."""

from app.analysis.diff import diff_modules
from app.views.diff_alignment import aligned
from app.views.diff_panes import PaneRows
from app.views.diff_rows import pane_rows
from app.views.diff_slices import PaneReader, visible_rows
from hlo_parser import Module, parse_module
from views.modules import SMALL, chain

SCHEDULED = "HloModule m, is_scheduled=true\n\n"


def text_of(*lines: str, head: str = "HloModule m\n\n", others: str = "") -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"{head}{others}ENTRY %main (p: f32[8]) -> f32[8] {{\n{body}\n}}\n"


def reader_of(before: str, after: str) -> PaneReader:
    modules = parse_module(before), parse_module(after)
    return PaneReader(pane_rows(*modules, diff_modules(*modules)), before, after)


def rows_of(before: Module, after: Module) -> PaneRows:
    return pane_rows(before, after, diff_modules(before, after))


BEFORE = text_of(
    "%p = f32[8]{0} parameter(0)",
    "%a = f32[8]{0} negate(%p)",
    "%b = f32[8]{0} add(%a, %p)",
    "ROOT %r = f32[8]{0} multiply(%b, %p)",
)
AFTER = text_of(
    "%p = f32[8]{0} parameter(0)",
    "%new = f32[8]{0} exponential(%p)",
    "%b = f32[8]{0} add(%new, %p)",
    "ROOT %r = f32[8]{0} multiply(%b, %p)",
)


def test_counterparts_stand_on_one_row_and_others_beside_each_other() -> None:
    rows = reader_of(BEFORE, AFTER).rows
    assert (rows.kinds_before, rows.kinds_after) == ("Hsdcs", "Hsacs")
    assert rows.lines_before == rows.lines_after == (3, 4, 5, 6, 7)
    assert [item.kind for item in rows.computations] == ["changed"]


def test_every_instruction_has_exactly_one_place_on_its_side() -> None:
    pairs = [(BEFORE, AFTER), (AFTER, BEFORE)]
    for before, after in pairs:
        modules = parse_module(before), parse_module(after)
        rows = rows_of(*modules)
        for module, lines in zip(modules, (rows.lines_before, rows.lines_after), strict=True):
            expected = sorted(
                [module.first_line(c) for c in module.computations]
                + [module.line_of(c, i) for c in module.computations for i in c.instructions]
            )
            assert sorted(line for line in lines if line) == expected


def test_equal_texts_are_one_fold() -> None:
    rows = rows_of(SMALL, SMALL)
    (fold,) = rows.folds
    assert (fold.row, fold.rows) == (0, len(rows.kinds_before))
    assert fold.words == "2 computations unchanged, 11 instructions"
    assert list(visible_rows(fold.rows, rows.folds, frozenset())) == [-1]
    assert list(visible_rows(fold.rows, rows.folds, frozenset({0}))) == list(range(fold.rows))


def test_a_move_in_the_schedule_knows_its_other_place() -> None:
    lines = [
        "%p = f32[8]{0} parameter(0)",
        "%a = f32[8]{0} negate(%p)",
        "%b = f32[8]{0} abs(%p)",
        "%c = f32[8]{0} sine(%p)",
        "ROOT %r = (f32[8]{0}, f32[8]{0}, f32[8]{0}) tuple(%a, %b, %c)",
    ]
    moved = [lines[0], lines[2], lines[3], lines[1], lines[4]]
    rows = reader_of(text_of(*lines, head=SCHEDULED), text_of(*moved, head=SCHEDULED)).rows
    assert (rows.kinds_before, rows.kinds_after) == ("Hsmss s", "Hs ssms")
    assert rows.links == ((2, 5),)


def test_another_place_in_an_unscheduled_text_is_no_edit() -> None:
    lines = ["%p = f32[8]{0} parameter(0)", "%a = f32[8]{0} negate(%p)", "%b = f32[8]{0} abs(%p)"]
    root = "ROOT %r = (f32[8]{0}, f32[8]{0}) tuple(%a, %b)"
    before, after = text_of(*lines, root), text_of(lines[0], lines[2], lines[1], root)
    modules = parse_module(before), parse_module(after)
    here, there = (module.entry for module in modules)
    found = aligned(here, there, None, scheduled=False)
    assert {kind for row in found.rows for kind in row.kinds} == {"s", "x", " "}


def test_equal_edits_are_shown_once_and_counted_in_the_folds() -> None:
    rows = rows_of(chain(1000), chain(1000, edited=2))
    (edit,) = [edit for edit in rows.edits if edit.what == ("opcode",)]
    assert edit.times == 19
    visible = list(visible_rows(len(rows.kinds_before), rows.folds, frozenset()))
    seen = [row for row in visible if row >= 0 and rows.kinds_after[row] == "c"]
    assert seen == [edit.rows[0]]
    assert sum(fold.rows for fold in rows.folds) + sum(row >= 0 for row in visible) == 1001
    assert any("18 like edit 1" in fold.words for fold in rows.folds)


def test_what_moved_into_another_computation_is_linked_to_it() -> None:
    fused = (
        "%fused (q: f32[8]) -> f32[8] {\n  %q = f32[8]{0} parameter(0)\n"
        "  %e = f32[8]{0} exponential(%q)\n  ROOT %t = f32[8]{0} tanh(%e)\n}\n\n"
    )
    before = text_of(
        "%p = f32[8]{0} parameter(0)",
        "%e = f32[8]{0} exponential(%p)",
        "%t = f32[8]{0} tanh(%e)",
        "ROOT %r = f32[8]{0} negate(%t)",
    )
    after = text_of(
        "%p = f32[8]{0} parameter(0)",
        "%f = f32[8]{0} fusion(%p), kind=kLoop, calls=%fused",
        "ROOT %r = f32[8]{0} negate(%f)",
        others=fused,
    )
    reader = reader_of(before, after)
    gone = reader.row_of(0, "main", "e")
    came = reader.row_of(1, "fused", "e")
    assert (gone, came) in reader.rows.links
    assert [item.kind for item in reader.rows.computations] == ["added", "changed"]


def test_removed_computations_stand_where_they_were() -> None:
    extra = "%extra (x: f32[]) -> f32[] {\n  ROOT %x = f32[] parameter(0)\n}\n\n"
    call = "%k = f32[] constant(0)"
    before = text_of(
        "%p = f32[8]{0} parameter(0)",
        call,
        "%c = f32[] call(%k), to_apply=%extra",
        "ROOT %r = f32[8]{0} negate(%p)",
        others=extra,
    )
    after = text_of("%p = f32[8]{0} parameter(0)", "ROOT %r = f32[8]{0} negate(%p)")
    rows = reader_of(before, after).rows
    assert [item.before for item in rows.computations] == ["extra", "main"]
    assert rows.kinds_before.startswith("Hd")


def test_two_computations_of_one_name_and_very_many_rows_are_no_trouble() -> None:
    twice = "%f (x: f32[]) -> f32[] {\n  ROOT %x = f32[] parameter(0)\n}\n\n"
    other = twice.replace("f32[]", "f64[]")
    before = text_of("ROOT %p = f32[8]{0} parameter(0)", others=twice + other)
    rows = reader_of(before, before).rows
    assert (rows.kinds_before, rows.kinds_after) == ("Hs  HdHs", "HsHa  Hs")
    rows = rows_of(chain(20_000), chain(20_000, edited=50))
    assert len(rows.folds) < 20_001
