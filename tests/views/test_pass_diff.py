"""Two passes side by side: rows, folding, marks, exact totals, limits."""

import time

import msgspec
import pytest

from app.analysis.diff import diff_modules
from app.views.edits import differing_parts
from app.views.pass_diff import (
    MAX_COMPUTATIONS,
    MAX_PLACES,
    MAX_TEXT_CHARACTERS,
    DiffPlace,
    DiffRow,
    PassDiff,
    diff_of_computation,
    diff_view,
)
from hlo_parser import Module, parse_module
from views.modules import SMALL, chain


def view(before: Module, after: Module) -> PassDiff:
    return diff_view(before, after, diff_modules(before, after))


def module(*lines: str, others: str = "") -> Module:
    body = "\n".join(f"  {line}" for line in lines)
    return parse_module(
        f"HloModule m\n\n{others}ENTRY %main (p: f32[8]) -> f32[8] {{\n{body}\n}}\n"
    )


def marked(row: DiffRow) -> tuple[str, str]:
    sides = [side for side in (row.before, row.after) if side is not None]
    texts = [side.text[slice(*side.mark)] for side in sides if side.mark is not None]
    assert len(texts) == 2
    return texts[0], texts[1]


BEFORE = module(
    "%p = f32[8]{0} parameter(0)",
    "%a = f32[8]{0} negate(%p)",
    "%b = f32[8]{0} add(%a, %p)",
    "ROOT %r = f32[8]{0} multiply(%b, %p)",
)


def test_equal_modules() -> None:
    answer = view(SMALL, SMALL)
    assert answer.computations == ()
    assert answer.totals.computations_unchanged == 2
    assert answer.cut is None


def test_one_of_each_kind() -> None:
    after = module(
        "%p = f32[8]{0} parameter(0)",
        "%new = f32[8]{0} exponential(%p)",
        "%b = f32[8]{0} add(%new, %p)",
        "ROOT %r = f32[8]{0} multiply(%b, %p)",
    )
    answer = view(BEFORE, after)
    (change,) = answer.computations
    assert (change.kind, change.before, change.after) == ("changed", "main", "main")
    assert (change.added, change.removed, change.changed, change.unchanged) == (1, 1, 1, 2)
    rows = {row.kind: row for row in change.rows}
    assert len(change.rows) == 3
    added, removed, changed = rows["added"].after, rows["removed"].before, rows["changed"]
    assert added is not None
    assert removed is not None
    assert (added.name, added.line, added.text) == ("new", 5, "%new = f32[8]{0} exponential(%p)")
    assert (removed.name, removed.line) == ("a", 5)
    assert changed.what == ("operands",)
    assert marked(changed) == ("%a", "%new")
    assert rows["removed"].after is None
    assert answer.totals.instructions_added == 1
    assert answer.totals.computations_changed == 1


def test_equal_edits_are_one_row() -> None:
    def halves(kind: str) -> Module:
        return module(
            "%p = f32[8]{0} parameter(0)",
            *(
                f'%c.{n} = {kind}[{n}]{{0}} custom-call(%p), custom_call_target="t"'
                for n in range(50)
            ),
            "ROOT %r = f32[8]{0} negate(%p)",
        )

    (change,) = view(halves("f32"), halves("bf16")).computations
    (row,) = change.rows
    assert (row.times, change.changed, row.what) == (50, 50, ("shape",))
    assert marked(row) == ("f32", "bf16")
    assert len(row.also) == MAX_PLACES
    assert row.also[0] == DiffPlace(before="c.1", before_line=6, after="c.1", after_line=6)


def test_edits_that_differ_stay_apart() -> None:
    after = module(
        "%p = f32[8]{0} parameter(0)",
        "%a = f32[8]{0} negate(%p), sharding={replicated}",
        "%b = f32[8]{0} add(%a, %p), sharding={replicated}",
        "ROOT %r = f32[8]{0} multiply(%b, %p), sharding={devices=[2]0,1}",
    )
    (change,) = view(BEFORE, after).computations
    # Equal texts were added, but to other opcodes.
    assert [(row.opcode, row.times) for row in change.rows] == [
        ("negate", 1),
        ("add", 1),
        ("multiply", 1),
    ]
    assert marked(change.rows[0]) == ("", ", sharding={replicated}")


def test_computations_with_equal_edits_are_one() -> None:
    def bodies(opcode: str) -> Module:
        return module(
            "%p = f32[8]{0} parameter(0)",
            *(f"%c.{n} = f32[8]{{0}} call(%p), to_apply=%body.{n}" for n in range(30)),
            "ROOT %r = f32[8]{0} negate(%p)",
            others="".join(
                f"%body.{n} (q: f32[8]) -> f32[8] {{\n  %q.{n} = f32[8]{{0}} parameter(0)\n"
                f"  ROOT %s.{n} = f32[8]{{0}} {opcode}(%q.{n}, %q.{n})\n}}\n\n"
                for n in range(30)
            ),
        )

    answer = view(bodies("add"), bodies("multiply"))
    (change,) = answer.computations
    assert change.before == "body.0"
    assert change.same_in_count == 29
    assert change.same_in[:2] == ("body.1", "body.2")
    assert answer.totals.computations_changed == 30
    assert answer.totals.computations_unchanged == 1
    assert answer.totals.instructions_changed == 30


def test_whole_computations_have_no_rows() -> None:
    other = "%other (q: f32[8]) -> f32[8] {\n  ROOT %q = f32[8]{0} parameter(0)\n}\n\n"
    lines = [instruction.text for instruction in BEFORE.entry.instructions]
    answer = view(BEFORE, module(*lines, others=other))
    (change,) = answer.computations
    assert (change.kind, change.before, change.after) == ("added", None, "other")
    assert (change.after_line, change.added, change.rows) == (3, 1, ())
    (change,) = view(module(*lines, others=other), BEFORE).computations
    assert (change.kind, change.before, change.after) == ("removed", "other", None)


def test_moved_in_the_schedule() -> None:
    def scheduled(*lines: str) -> Module:
        body = "\n".join(f"  {line}" for line in lines)
        return parse_module(
            f"HloModule m, is_scheduled=true\n\nENTRY %main (p: f32[8]) -> f32[8] {{\n{body}\n}}\n"
        )

    p, a, b = "%p = f32[8]{0} parameter(0)", "%a = f32[8]{0} abs(%p)", "%b = f32[8]{0} negate(%p)"
    root = "ROOT %r = f32[8]{0} add(%a, %b)"
    (change,) = view(scheduled(p, a, b, root), scheduled(p, b, a, root)).computations
    assert change.moved == 1
    assert [(row.kind, row.times) for row in change.rows] == [("moved", 1)]


def test_names_alone() -> None:
    after = module(
        "%p.1 = f32[8]{0} parameter(0)",
        "%a.1 = f32[8]{0} negate(%p.1)",
        "%b.1 = f32[8]{0} add(%a.1, %p.1)",
        "ROOT %r.1 = f32[8]{0} multiply(%b.1, %p.1)",
    )
    answer = view(BEFORE, after)
    assert answer.totals.instructions_renamed == 4
    (change,) = answer.computations
    assert (change.rows, change.renamed) == ((), 4)
    assert change.renames[0] == ("p", "p.1")


def test_one_computation_of_a_diff() -> None:
    before, after = chain(100), chain(100, edited=3)
    diff = diff_modules(before, after)
    assert diff_of_computation(diff, "main").computations == diff.computations
    assert diff_of_computation(diff, "other").computations == ()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("%a = f32[] add(%b)", "%a = f32[] add(%c)", ("%b", "%c")),
        ("%a = f32[] add(%x.12)", "%a = f32[] add(%x.13)", ("%x.12", "%x.13")),
        ("%a = f32[] add(%b)", "%a = f32[] add(%b), x=1", ("", ", x=1")),
        ("%a = f32[] add(%b, %b)", "%a = f32[] add(%b)", (", %b", "")),
        ("%a.5 = f32[] add(%b)", "%a.6 = f32[] sub(%b)", ("add", "sub")),
        ("%a.5 = f32[] add(%b)", "%a.6 = f32[] add(%b)", ("%a.5", "%a.6")),
        ("same", "same", ("", "")),
        ("", "", ("", "")),
    ],
)
def test_differing_parts(before: str, after: str, expected: tuple[str, str]) -> None:
    here, there = differing_parts(before, after)
    assert (before[slice(*here)], after[slice(*there)]) == expected


@pytest.mark.parametrize("word", ["a-", "a.", "%a", "a%-.", "1.", "é", " = "])
def test_hostile_texts_take_no_longer(word: str) -> None:
    def text(end: str) -> Module:
        value = word * 200_000 + end
        return module("%p = f32[8]{0} parameter(0)", f'ROOT %r = f32[] abs(%p), x="{value}"')

    answer = view(text(word), text("b" * 1000 + word * 1000))
    assert answer.totals.instructions_changed == 1
    assert len(msgspec.json.encode(answer)) < 20_000


def test_the_mark_of_a_long_text_is_shown() -> None:
    def long(end: str) -> Module:
        value = ", ".join("1" for _ in range(5_000))
        return module(
            f"%p = f32[5001]{{0}} constant({{{value}, {end}}})", "ROOT %r = f32[] tuple()"
        )

    (change,) = view(long("2"), long("3")).computations
    (row,) = change.rows
    assert marked(row) == ("2", "3")
    assert row.before is not None
    assert row.before.skipped > 10_000
    assert len(row.before.text) <= MAX_TEXT_CHARACTERS


def test_long_modules() -> None:
    before, after = chain(50_000), chain(50_000, edited=2)
    start = time.perf_counter()
    answer = view(before, after)
    assert time.perf_counter() - start < 20
    assert answer.totals.instructions_changed == 999
    (change,) = answer.computations
    assert sum(row.times for row in change.rows) == 999
    assert len(msgspec.json.encode(answer)) < 500_000


def test_very_many_computations() -> None:
    def bodies(opcodes: tuple[str, str]) -> Module:
        return module(
            "ROOT %p = f32[8]{0} parameter(0)",
            others="".join(
                f"%body.{n} (q: f32[8]) -> f32[{n}] {{\n  %q = f32[8]{{0}} parameter(0)\n"
                f"  ROOT %s = f32[{n}]{{0}} {opcodes[n % 2]}(%q), dimensions={{{n}}}\n}}\n\n"
                for n in range(2_000)
            ),
        )

    answer = view(bodies(("slice", "reverse")), bodies(("reverse", "slice")))
    assert answer.totals.computations_changed == 2_000
    shown = sum(1 + change.same_in_count for change in answer.computations)
    if answer.cut is None:
        assert shown == 2_000
    else:
        assert len(answer.computations) == MAX_COMPUTATIONS == answer.cut.shown


FUSED = """HloModule m

%fused {
  %a = f32[8]{0} parameter(0)
  %s.1 = f32[8]{0} tanh(%a)
  ROOT %e.1 = f32[8]{0} exponential(%s.1)
}

ENTRY %main {
  %p = f32[8]{0} parameter(0)
  %f = f32[8]{0} fusion(%p), kind=kLoop, calls=%fused
  ROOT %n = f32[8]{0} negate(%f)
}
"""
APART = """HloModule m

ENTRY %main {
  %p = f32[8]{0} parameter(0)
  %s = f32[8]{0} tanh(%p)
  %e = f32[8]{0} exponential(%s)
  ROOT %n = f32[8]{0} negate(%e)
}
"""


def test_what_was_fused_moved_into_the_fusion() -> None:
    seen = view(parse_module(APART), parse_module(FUSED))
    assert (seen.totals.instructions_moved_between, seen.totals.instructions_removed) == (2, 0)
    main, fused = seen.computations
    assert [row.where for row in main.rows if row.kind == "moved"] == [
        "into %fused, %s.1 there",
        "into %fused, %e.1 there",
    ]
    assert [row.where for row in fused.rows] == ["out of %main, %s there", "out of %main, %e there"]
    assert (main.moved_out, fused.moved_in, fused.added) == (2, 2, 1)


REPEATED = """HloModule m

ENTRY %main {
  %p = f32[8]{0} parameter(0)
  %q = f32[8]{0} parameter(1)
  %s = f32[8]{0} add(%p, %q)
  %m = f32[8]{0} multiply(%s, %q)
  %s.2 = f32[8]{0} add(%m, %q)
  %m.2 = f32[8]{0} multiply(%s.2, %q)
  ROOT %n = f32[8]{0} negate(%m.2)
}
"""


def test_a_copy_names_what_it_is_a_copy_of() -> None:
    once = REPEATED.replace("negate(%m.2)", "negate(%m)")
    once = "\n".join(line for line in once.split("\n") if ".2 =" not in line)
    (change,) = view(parse_module(once), parse_module(REPEATED)).computations
    copied = [row for row in change.rows if row.kind == "copied"]
    assert {row.where for row in copied} == {"copy of %s", "copy of %m"}
    assert (change.copied, change.added) == (2, 2)
