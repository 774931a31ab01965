"""What the backward direction of the collective pipeliner may move."""

from app.analysis.loops import find_loops
from app.analysis.pipelining import backward_candidates, find_containments
from app.model.facts import WhileLoop
from hlo_parser import parse_module

LOOP = """HloModule m

body {{
  p = (s32[], f32[8]{{0}}, f32[4]{{0}}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[8]{{0}} get-tuple-element(p), index=1
  w = f32[4]{{0}} get-tuple-element(p), index=2
  mine = f32[1]{{0}} dynamic-slice({source}, i), dynamic_slice_sizes={{1}}
  all-gather.1 = f32[8]{{0}} all-gather(mine), replica_groups={{}}, dimensions={{0}}
  y = f32[8]{{0}} multiply(x, all-gather.1)
  ROOT t = (s32[], f32[8]{{0}}, f32[4]{{0}}) tuple(next, y, w)
}}

condition {{
  p = (s32[], f32[8]{{0}}, f32[4]{{0}}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] {bound}
  ROOT less = pred[] compare(i, n), direction=LT
}}

ENTRY main {{
  x = f32[8]{{0}} parameter(0)
  w = f32[4]{{0}} parameter(1)
  zero = s32[] constant(0)
  init = (s32[], f32[8]{{0}}, f32[4]{{0}}) tuple(zero, x, w)
  loop = (s32[], f32[8]{{0}}, f32[4]{{0}}) while(init), condition=condition, body=body
  ROOT out = f32[8]{{0}} get-tuple-element(loop), index=1
}}
"""


def loop_of(source: str = "w", bound: str = "constant(4)") -> WhileLoop:
    (loop,) = find_loops(parse_module(LOOP.format(source=source, bound=bound)))
    return loop


def test_an_invariant_and_the_counter_may_end_the_chain() -> None:
    (candidate,) = backward_candidates(loop_of())
    assert candidate.instruction.name == "all-gather.1"
    assert candidate.ends == {0, 2}
    assert [i.name for i in candidate.chain] == ["mine"]


def test_a_varying_element_may_not() -> None:
    assert backward_candidates(loop_of(source="x")) == ()


def test_an_unknown_trip_count_keeps_the_pass_away() -> None:
    assert backward_candidates(loop_of(bound='custom-call(), custom_call_target="n"')) == ()


def test_one_loop_contains_nothing() -> None:
    assert find_containments([loop_of()]) == ()
