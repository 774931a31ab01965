"""Reducing with a compiler that looks only at the text: what stays, and that it always parses."""

import re

import pytest

from app.errors import UsageError
from app.replay.draft import draft_of, elements_of, loops_of, plain_shape, tidied
from app.replay.edits import KINDS, Kind, cut
from app.replay.reduction import reduce_module
from app.replay.search import OutOfBudget
from hlo_parser import parse_module

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


def fails(text: bytes) -> bool:
    """As a check would that dies of an all-reduce in a loop."""
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
    assert fails(found.text.encode())
    assert (found.before, found.after < 20) == (MODULE.instruction_count, True)
    assert {int(n) for n in re.findall(r"source_line=(\d+)", found.text)} == {55, 78}
    assert "num_partitions=8" in found.text


def test_a_budget_that_ends_leaves_what_was_found() -> None:
    asked: list[bytes] = []

    def patient(text: bytes) -> bool:
        if len(asked) == 5:
            raise OutOfBudget
        asked.append(text)
        return fails(text)

    found = reduce_module(MODULE, patient)
    assert found is not None
    assert not found.is_minimal
    assert fails(found.text.encode())


def test_a_module_that_does_not_fail_is_not_reduced() -> None:
    assert reduce_module(MODULE, lambda text: False) is None


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
    draft = draft_of(MODULE)
    places = kind.places(draft)
    assert places
    for chosen in ([place] for place in places):
        parse_module(cut(kind, draft, chosen).text, strict=True)
    parse_module(cut(kind, draft, places).text, strict=True)


def test_elements_of_nested_tuples() -> None:
    shape = plain_shape("(s32[], (f32[2,3]{1,0}, /*index=1*/pred[]), u8[4]{0:T(8,128)})")
    assert elements_of(shape) == ("s32[]", "(f32[2,3]{1,0}, pred[])", "u8[4]{0:T(8,128)}")
    assert elements_of("()") == ()


def test_what_is_not_understood_is_not_reduced() -> None:
    with pytest.raises(UsageError):
        draft_of(parse_module(TEXT.replace("sine(%twice)", "sine(%twice")))
