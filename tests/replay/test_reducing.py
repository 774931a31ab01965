"""Reducing with a compiler that looks only at the text: what stays, and that it always parses."""

import re
from collections.abc import Sequence

import pytest

from app.errors import UsageError
from app.replay import draft as drafts
from app.replay.draft import Draft, elements_of, plain_shape
from app.replay.edits import KINDS
from app.replay.kinds import Kind, cut, weights_below
from app.replay.reduction import reduce_module
from app.replay.search import OutOfBudget
from app.replay.sizes import SIZES
from app.replay.tidying import loops_of, tidied
from hlo_parser import Module, parse_module

TEXT = """HloModule m, entry_computation_layout={(f32[8]{0})->(f32[8]{0}, s32[])}, num_partitions=8

add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %sum = f32[] add(%x, %y)
}

condition (c: (s32[], f32[8], f32[8], f32[8])) -> pred[] {
  %c = CARRY parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %n = s32[] constant(4)
  ROOT %less = pred[] compare(%i, %n), direction=LT
}

body (b: (s32[], f32[8], f32[8], f32[8])) -> (s32[], f32[8], f32[8], f32[8]) {
  %b = CARRY parameter(0)
  %j = s32[] get-tuple-element(%b), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%j, %one)
  %u = f32[8]{0} get-tuple-element(%b), index=1
  %v = f32[8]{0} get-tuple-element(%b), index=2
  %w = f32[8]{0} get-tuple-element(%b), index=3
  %twice = f32[8]{0} add(%u, %u)
  %sine = f32[8]{0} sine(%twice)
  %gathered = f32[8]{0} all-reduce(%sine), replica_groups={}, to_apply=add, LINE_55
  %dead = f32[8]{0} cosine(%w)
  ROOT %r = CARRY tuple(%next, %gathered, %v, %dead)
}

ENTRY main (p: f32[8]) -> (f32[8], s32[]) {
  %p = f32[8]{0} parameter(0)
  %zero = s32[] constant(0)
  %q = f32[8]{0} exponential(%p)
  %start = CARRY tuple(%zero, %p, %p, %q)
  %loop = CARRY while(%start), condition=condition, body=body, LINE_78
  %o = f32[8]{0} get-tuple-element(%loop), index=1
  %k = s32[] get-tuple-element(%loop), index=0
  %log = f32[8]{0} log(%o)
  ROOT %out = (f32[8]{0}, s32[]) tuple(%log, %k)
}
"""
for short, long in {
    "CARRY": "(s32[], f32[8]{0}, f32[8]{0}, /*index=3*/f32[8]{0})",
    "LINE_55": 'metadata={source_file="prog.py" source_line=55}',
    "LINE_78": 'metadata={source_file="prog.py" source_line=78}',
}.items():
    TEXT = TEXT.replace(short, long)
MODULE = parse_module(TEXT)
TWO_CARRIES = parse_module(
    TEXT.replace("tuple(%next, %gathered, %v, %dead)", "tuple(%next, %gathered, %twice, %dead)")
    .replace("%log = f32[8]{0} log(%o)", "%log = f32[8]{0} add(%o, %other)")
    .replace("  %log =", "  %other = f32[8]{0} get-tuple-element(%loop), index=2\n  %log =")
)


CALLS = parse_module("""HloModule calls

add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %sum = f32[] add(%x, %y)
}

plus (v: f32[], w: f32[]) -> f32[] {
  %v = f32[] parameter(0)
  %w = f32[] parameter(1)
  ROOT %total = f32[] add(%v, %w)
}

inner (a: f32[1024], b: f32[4,1024]) -> (f32[1024], f32[4,1024]) {
  %b = f32[4,1024]{1,0} parameter(1)
  %a = f32[1024]{0} parameter(0)
  %nought = f32[] constant(0)
  %sine = f32[1024]{0} sine(%a)
  %row = f32[1024]{0} reduce(%b, %nought), dimensions={0}, to_apply=plus
  %both = f32[1024]{0} multiply(%row, %sine)
  ROOT %pair = (f32[1024]{0}, f32[4,1024]{1,0}) tuple(%both, %b)
}

one (s: f32[1024]) -> f32[1024] {
  %s = f32[1024]{0} parameter(0)
  ROOT %e = f32[1024]{0} exponential(%s)
}

two (t: f32[1024]) -> f32[1024] {
  ROOT %t = f32[1024]{0} parameter(0)
}

ENTRY main (p: f32[1024], q: f32[4096], which: s32[]) -> f32[] {
  %p = f32[1024]{0} parameter(0)
  %q = f32[4096]{0} parameter(1)
  %which = s32[] parameter(2)
  %folded = f32[4,1024]{1,0} reshape(%q)
  %sine = f32[1024]{0} cosine(%p)
  %called = (f32[1024]{0}, f32[4,1024]{1,0}) call(%sine, %folded), to_apply=inner
  %left = f32[1024]{0} get-tuple-element(%called), index=0
  %right = f32[4,1024]{1,0} get-tuple-element(%called), index=1
  %zero.1 = f32[] constant(0)
  %zero.2 = f32[] constant(0)
  %chosen = f32[1024]{0} conditional(%which, %left, %p), branch_computations={one, two}
  %rows = f32[1024]{0} reduce(%right, %zero.1), dimensions={0}, to_apply=add
  %joined = f32[1024]{0} add(%chosen, %rows)
  ROOT %result = f32[] reduce(%joined, %zero.2), dimensions={0}, to_apply=add
}
""")


def draft_of(module: Module) -> Draft:
    return tidied(drafts.draft_of(module))


def fails(texts: Sequence[bytes]) -> list[bool]:
    """As a check would that dies of an all-reduce in a loop."""
    return [_fails(text) for text in texts]


def _fails(text: bytes) -> bool:
    module = parse_module(text, strict=True)
    loops = [i for c in module.computations for i in c.instructions if i.opcode == "while"]
    for loop in loops:
        body = module.get(loop.attributes["body"].lstrip("%"))
        assert body is not None
        if any(i.opcode == "all-reduce" for i in body.instructions):
            return True
    return False


def test_what_the_failure_needs_stays_with_its_lines() -> None:
    found = reduce_module(MODULE, fails)
    assert found is not None
    assert found.is_minimal
    assert fails([found.text.encode()]) == [True]
    assert (found.before, found.after < 20) == (MODULE.instruction_count, True)
    assert {int(n) for n in re.findall(r"source_line=(\d+)", found.text)} == {55, 78}
    assert "num_partitions=8" in found.text


def test_a_budget_that_ends_leaves_what_was_found() -> None:
    asked: list[bytes] = []

    def patient(texts: Sequence[bytes]) -> list[bool]:
        if len(asked) == 3:
            raise OutOfBudget
        asked.extend(texts)
        return fails(texts)

    found = reduce_module(MODULE, patient)
    assert found is not None
    assert not found.is_minimal
    assert fails([found.text.encode()]) == [True]


def test_a_budget_that_has_ended_is_no_answer() -> None:
    def too_late(_: Sequence[bytes]) -> list[bool]:
        raise OutOfBudget

    with pytest.raises(OutOfBudget):
        reduce_module(MODULE, too_late)


def test_a_module_that_does_not_fail_is_not_reduced() -> None:
    assert reduce_module(MODULE, lambda texts: [False for _ in texts]) is None


def test_tidying_takes_carries_that_nobody_uses() -> None:
    draft = draft_of(MODULE)
    (loop,) = loops_of(draft)
    assert loop.line.shape == "(s32[], f32[8]{0})"
    assert "cosine" not in draft.text
    assert "exponential" not in draft.text
    parse_module(draft.text, strict=True)


def test_tidying_is_done_when_it_is_done() -> None:
    draft = draft_of(MODULE)
    assert tidied(draft) == draft


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_every_cut_and_all_cuts_leave_a_module(kind: Kind) -> None:
    found = 0
    for module in (MODULE, CALLS, TWO_CARRIES):
        draft = draft_of(module)
        places = kind.places(draft)
        found += len(places)
        # A size that others are made of may not shrink alone: such a text is not compiled.
        if not places or kind in SIZES:
            continue
        for chosen in ([place] for place in places):
            smaller = cut(kind, draft, chosen)
            assert smaller.size <= draft.size + 1
            parse_module(smaller.text, strict=True)
        parse_module(cut(kind, draft, places).text, strict=True)
    assert found


def kind(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.name == name)


def all_cut(name: str, module: Module = CALLS) -> str:
    draft = draft_of(module)
    return cut(kind(name), draft, kind(name).places(draft)).text


def test_a_call_is_written_out_with_names_of_its_own() -> None:
    text = all_cut("calls written out")
    assert "call(" not in text
    assert "%sine.copy1 = f32[1024]{0} sine(%sine)" in text
    assert "tuple" not in text


def test_a_conditional_becomes_its_first_branch() -> None:
    text = all_cut("first branches")
    assert "%chosen = f32[1024]{0} call(%left), to_apply=one" in text
    assert "two" not in text


def test_a_loop_becomes_one_run_of_its_body() -> None:
    text = all_cut("loops that run once", MODULE)
    assert "while(" not in text
    assert "to_apply=body, metadata=" in text


def test_lines_and_computations_alike_stand_once() -> None:
    assert all_cut("lines that equal others").count("constant(0)") == 2
    shared = all_cut("computations that equal others")
    assert "plus" not in shared
    assert shared.count("to_apply=add") == 3


def test_a_size_shrinks_wherever_it_stands() -> None:
    text = all_cut("large dimensions")
    assert "%q = f32[64]{0} parameter" in text
    assert "%folded = f32[4,16]{1,0} reshape(%q)" in text
    assert "1024" not in text


def test_carries_of_one_shape_become_one() -> None:
    text = all_cut("carries merged", TWO_CARRIES)
    assert "%loop = (s32[], f32[8]{0}) while" in text


def test_a_trip_count_shrinks_with_its_dimension() -> None:
    module = parse_module(TEXT.replace("f32[8]", "f32[4]"))
    text = all_cut("small dimensions and trips", module)
    assert "%n = s32[] constant(2)" in text


def test_what_stands_for_one_line_alone_is_weighed() -> None:
    found = weights_below(draft_of(CALLS))
    assert found["main", "joined"] == found["main", "result"] - 5
    # The computation that a reduction runs counts along.
    assert found["main", "sine"] == 1
    assert found["inner", "row"] == 1 + 3 + 1


def test_elements_of_nested_tuples() -> None:
    shape = plain_shape("(s32[], (f32[2,3]{1,0}, /*index=1*/pred[]), u8[4]{0:T(8,128)})")
    assert elements_of(shape) == ("s32[]", "(f32[2,3]{1,0}, pred[])", "u8[4]{0:T(8,128)}")
    assert elements_of("()") == ()


def test_what_is_not_understood_is_not_reduced() -> None:
    with pytest.raises(UsageError):
        draft_of(parse_module(TEXT.replace("sine(%twice)", "sine(%twice")))
