"""Every instruction has one class in a diff; what went into or out of a call is told as moved."""

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.hidden_names import hidden
from analysis.test_diff import diff, modules, only
from app.analysis.diff import diff_modules
from app.model.facts import ModuleDiff, Relocated
from hlo_parser import Interner, Module, parse_module

APART = """HloModule m

ENTRY %main {
  %p = f32[8]{0} parameter(0)
  %q = f32[8]{0} parameter(1)
  %s = f32[8]{0} add(%p, %q)
  %e = f32[8]{0} exponential(%s)
  %m = f32[8]{0} multiply(%e, %q)
  ROOT %n = f32[8]{0} negate(%m)
}
"""
FUSED = """HloModule m

%fused {
  %a = f32[8]{0} parameter(0)
  %b = f32[8]{0} parameter(1)
  %s.1 = f32[8]{0} add(%a, %b)
  %e.1 = f32[8]{0} exponential(%s.1)
  ROOT %m.1 = f32[8]{0} multiply(%e.1, %b)
}

ENTRY %main {
  %p = f32[8]{0} parameter(0)
  %q = f32[8]{0} parameter(1)
  %f = f32[8]{0} fusion(%p, %q), kind=kLoop, calls=%fused
  ROOT %n = f32[8]{0} negate(%f)
}
"""
WENT = {
    Relocated(("main", "s"), ("fused", "s.1")),
    Relocated(("main", "e"), ("fused", "e.1")),
    Relocated(("main", "m"), ("fused", "m.1")),
}


def test_fused_is_moved_into_the_fusion() -> None:
    main, fused = sorted(diff(APART, FUSED).computations, key=lambda item: item.before or "~")
    assert (main.before, main.after) == ("main", "main")
    assert (fused.before, fused.after) == (None, "fused")
    assert set(main.moved_out) == set(fused.moved_in) == WENT
    assert main.removed == ()
    assert main.added == ("f",)
    assert set(fused.added) == {"a", "b"}


def test_inlined_is_moved_out_of_what_was_called() -> None:
    for fusion in ("fusion(%p, %q), kind=kLoop, calls=", "call(%p, %q), to_apply="):
        called = FUSED.replace("fusion(%p, %q), kind=kLoop, calls=", fusion)
        found = diff(called, APART)
        (main,) = (item for item in found.computations if item.after == "main")
        (fused,) = (item for item in found.computations if item.after is None)
        assert {Relocated(pair.after, pair.before) for pair in main.moved_in} == WENT
        assert set(fused.moved_out) == set(main.moved_in)
        assert main.added == ()
        assert main.removed == ("f",)


def test_another_computation_of_the_opcodes_is_no_move() -> None:
    """What the fusion computes from other operands was not taken from here."""
    other = FUSED.replace("add(%a, %b)", "subtract(%a, %b)").replace("exponential", "tanh")
    found = diff(APART, other.replace("multiply(%e.1, %b)", "divide(%e.1, %b)"))
    assert [item.moved_in or item.moved_out for item in found.computations] == [(), ()]


@settings(max_examples=100, deadline=None)
@given(modules(), modules())
def test_every_instruction_is_in_one_class(one: str, other: str) -> None:
    interner = Interner()
    before = parse_module(one, interner=interner)
    after = parse_module(other, interner=interner)
    found = diff_modules(before, after)
    told = {item.before for item in found.computations}, {item.after for item in found.computations}
    for item in found.computations:
        paired = [*((c.before, c.after) for c in item.changed), *item.renamed]
        for side, module, alone, elsewhere in (
            (0, before, item.removed, [pair.before[1] for pair in item.moved_out]),
            (1, after, item.added, [pair.after[1] for pair in item.moved_in]),
        ):
            computation = module.get((item.before, item.after)[side] or "")
            names = [*alone, *elsewhere, *(pair[side] for pair in paired)]
            own = Counter(i.name for i in computation.instructions) if computation else Counter()
            assert not Counter(names) - own
            assert len(names) + item.unchanged == own.total()
    for side, module in enumerate((before, after)):
        left = [c for c in module.computations if c.name not in told[side]]
        assert len(left) == found.unchanged


@settings(max_examples=100, deadline=None)
@given(modules(), modules())
def test_what_came_in_is_what_went_out(one: str, other: str) -> None:
    forth, back = diff(one, other), diff(other, one)
    assert _moves(forth) == Counter(pair for item in forth.computations for pair in item.moved_in)
    assert _moves(forth) == Counter(
        Relocated(pair.after, pair.before) for pair in _moves(back).elements()
    )
    assert all(times == 1 for times in _moves(forth).values())


def _moves(found: ModuleDiff) -> Counter[Relocated]:
    return Counter(pair for item in found.computations for pair in item.moved_out)


@settings(max_examples=100, deadline=None)
@given(modules(), st.integers(0, 2**32))
def test_shuffled_and_renamed_is_no_difference(text: str, seed: int) -> None:
    module: Module = parse_module(text)
    found = diff_modules(module, hidden(module, random.Random(seed)).module)
    for item in found.computations:
        assert item.before
        assert item.after
        assert (item.added, item.removed, item.changed) == ((), (), ())
        assert (item.moved_in, item.moved_out, item.copies) == ((), (), ())


def test_a_move_beside_a_change_is_told_apart() -> None:
    found = only(diff(APART, APART.replace("negate", "tanh")))
    assert (found.moved_in, found.moved_out) == ((), ())
    assert [change.what for change in found.changed] == [("opcode",)]
