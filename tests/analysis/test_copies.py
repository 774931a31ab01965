"""Loop rewrites: what was copied is said to be a copy, and of what."""

from app.analysis.diff import diff_modules
from app.model.facts import ComputationDiff, ModuleDiff
from hlo_parser import Interner, parse_module

LOOP = """HloModule m

%body (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %p = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %x = f32[8]{0} get-tuple-element(%p), index=1
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %s = f32[8]{0} sine(%x)
  %y = f32[8]{0} multiply(%s, %x)
  %e = f32[8]{0} exponential(%y)
  ROOT %r = (s32[], f32[8]{0}) tuple(%next, %e)
}

%cond (q: (s32[], f32[8])) -> pred[] {
  %q = (s32[], f32[8]{0}) parameter(0)
  %j = s32[] get-tuple-element(%q), index=0
  %n = s32[] constant(4)
  ROOT %c = pred[] compare(%j, %n), direction=LT
}

ENTRY %main (x0: f32[8]) -> f32[8] {
  %x0 = f32[8]{0} parameter(0)
  %zero = s32[] constant(0)
  %init = (s32[], f32[8]{0}) tuple(%zero, %x0)
  %w = (s32[], f32[8]{0}) while(%init), condition=%cond, body=%body
  ROOT %out = f32[8]{0} get-tuple-element(%w), index=1
}
"""


def diff(before: str, after: str) -> ModuleDiff:
    interner = Interner()
    return diff_modules(
        parse_module(before, interner=interner), parse_module(after, interner=interner)
    )


def copies(found: ComputationDiff) -> set[tuple[str, str, tuple[str, ...]]]:
    return {(c.computation, c.instruction, c.copies) for c in found.copies}


def test_a_body_done_twice() -> None:
    again = """  %one.1 = s32[] constant(1)
  %next.1 = s32[] add(%next, %one.1)
  %s.1 = f32[8]{0} sine(%e)
  %y.1 = f32[8]{0} multiply(%s.1, %e)
  %e.1 = f32[8]{0} exponential(%y.1)
  ROOT %r = (s32[], f32[8]{0}) tuple(%next.1, %e.1)"""
    after = LOOP.replace("  ROOT %r = (s32[], f32[8]{0}) tuple(%next, %e)", again)
    (found,) = diff(LOOP, after).computations
    assert set(found.added) == {"one.1", "next.1", "s.1", "y.1", "e.1"}
    assert copies(found) == {
        ("body", name, (f"{name}.1",)) for name in ("one", "next", "s", "y", "e")
    }
    assert diff(after, LOOP).computations[0].copies == ()


def test_a_body_done_three_times_has_two_copies_of_each() -> None:
    again = """  %s.1 = f32[8]{0} sine(%e)
  %y.1 = f32[8]{0} multiply(%s.1, %e)
  %e.1 = f32[8]{0} exponential(%y.1)
  %s.2 = f32[8]{0} sine(%e.1)
  %y.2 = f32[8]{0} multiply(%s.2, %e.1)
  %e.2 = f32[8]{0} exponential(%y.2)
  ROOT %r = (s32[], f32[8]{0}) tuple(%next, %e.2)"""
    after = LOOP.replace("  ROOT %r = (s32[], f32[8]{0}) tuple(%next, %e)", again)
    (found,) = diff(LOOP, after).computations
    assert copies(found) == {("body", name, (f"{name}.1", f"{name}.2")) for name in "sye"}


def test_a_peeled_iteration_comes_from_the_body() -> None:
    peeled = """  %s.7 = f32[8]{0} sine(%x0)
  %y.7 = f32[8]{0} multiply(%s.7, %x0)
  %e.7 = f32[8]{0} exponential(%y.7)
  %init = (s32[], f32[8]{0}) tuple(%zero, %e.7)"""
    after = LOOP.replace("  %init = (s32[], f32[8]{0}) tuple(%zero, %x0)", peeled)
    (found,) = diff(LOOP, after).computations
    assert found.after == "main"
    assert [change.after for change in found.changed] == ["init"]
    assert copies(found) == {("body", name, (f"{name}.7",)) for name in "sye"}


def test_what_merely_resembles_something_is_no_copy() -> None:
    new = """  %s.1 = f32[8]{0} sine(%e)
  %t.1 = f32[8]{0} tanh(%s.1)
  %u.1 = f32[8]{0} cosine(%t.1)
  %v.1 = f32[8]{0} sqrt(%u.1)
  ROOT %r = (s32[], f32[8]{0}) tuple(%next, %v.1)"""
    (found,) = diff(
        LOOP, LOOP.replace("  ROOT %r = (s32[], f32[8]{0}) tuple(%next, %e)", new)
    ).computations
    assert len(found.added) == 4
    assert found.copies == ()


def test_a_cloned_computation_says_what_it_is_a_copy_of() -> None:
    clone = LOOP[LOOP.index("%cond") : LOOP.index("ENTRY")].replace("%cond", "%other")
    found = diff(LOOP, LOOP.replace("ENTRY", clone + "ENTRY"))
    assert [(c.before, c.after, c.how) for c in found.computations] == [
        (None, "other", "copy of cond")
    ]


def test_one_change_in_many_computations_is_told_as_one() -> None:
    conditions = "".join(
        LOOP[LOOP.index("%cond") : LOOP.index("ENTRY")].replace("%cond", f"%cond{n}")
        for n in range(3)
    )
    before = LOOP.replace("ENTRY", conditions + "ENTRY")
    after = before.replace("constant(4)", "constant(5)").replace("constant(5)", "constant(6)", 1)
    found = diff(before, after)
    assert len(found.computations) == 4
    assert found.alike == (("cond0", "cond1", "cond2"),)
