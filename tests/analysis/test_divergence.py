"""Branches and loops that devices may leave differently; real programs are in the rules' tests."""

import pytest

from analysis.histories import history_of
from app.analysis.divergence import Divergence, find_divergences

BRANCHES = """HloModule m, num_partitions=4

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

with_sum {
  p = f32[4] parameter(0)
  ROOT sum = f32[4] all-reduce(p), channel_id=1, replica_groups={}, to_apply=add
}

without {
  ROOT q = f32[4] parameter(0)
}

ENTRY main {
  x = f32[4] parameter(0)
  flag = pred[] parameter(1)
  number = u32[] partition-id()
  zero = u32[] constant(0)
  first = pred[] compare(number, zero), direction=EQ
  word = s32[] convert(PREDICATE)
  none = s32[] constant(0)
  chosen = pred[] compare(word, none), direction=NE
  ROOT c = f32[4] conditional(chosen, x, x), true_computation=with_sum, false_computation=without
}
"""
LOOP = """HloModule m, num_partitions=4

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

body {
  t = (s32[], s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  n = s32[] get-tuple-element(t), index=1
  v = f32[4] get-tuple-element(t), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  sum = f32[4] all-reduce(v), channel_id=1, replica_groups={}, to_apply=add
  ROOT r = (s32[], s32[], f32[4]) tuple(next, n, sum)
}

condition {
  u = (s32[], s32[], f32[4]) parameter(0)
  j = s32[] get-tuple-element(u), index=0
  m = s32[] get-tuple-element(u), index=1
  ROOT less = pred[] compare(j, m), direction=LT
}

ENTRY main {
  x = f32[4] parameter(0)
  zero = s32[] constant(0)
  number = u32[] partition-id()
  count = s32[] BOUND
  carried = (s32[], s32[], f32[4]) tuple(zero, count, x)
  w = (s32[], s32[], f32[4]) while(carried), condition=condition, body=body
  ROOT y = f32[4] get-tuple-element(w), index=2
}
"""


def found_in(*texts: str) -> tuple[Divergence, ...]:
    return find_divergences(history_of(*texts))


def test_a_branch_on_the_number_of_the_device_is_traced_to_it() -> None:
    (found,) = found_in(BRANCHES.replace("PREDICATE", "first"))
    assert (found.branch.instruction.name, found.cause) == ("c", "device-number")
    assert found.origin.instruction.name == "number"
    assert [place.instruction.name for place in found.collectives] == ["sum"]


def test_a_branch_on_a_value_that_all_devices_hold_is_none() -> None:
    assert found_in(BRANCHES.replace("PREDICATE", "flag")) == ()


def test_a_branch_on_a_part_of_an_array_may_differ() -> None:
    split = BRANCHES.replace("PREDICATE", "flag").replace(
        "flag = pred[] parameter(1)", "flag = pred[] parameter(1), sharding={devices=[4]<=[4]}"
    )
    (found,) = found_in(split)
    assert (found.cause, found.origin.instruction.name) == ("sharded-input", "flag")


def test_what_all_devices_reduced_together_is_the_same_everywhere() -> None:
    summed = BRANCHES.replace("PREDICATE", "same").replace(
        "  word =",
        "  part = f32[] convert(number)\n"
        "  same = f32[] all-reduce(part), channel_id=2, replica_groups={{0,1,2,3}}, to_apply=add\n"
        "  word =",
    )
    assert found_in(summed) == ()
    in_parts = summed.replace("{{0,1,2,3}}", "{{0,1},{2,3}}")
    (found,) = found_in(in_parts)
    assert found.cause == "device-number"


def test_branches_without_collectives_are_none() -> None:
    local = BRANCHES.replace("PREDICATE", "first").replace(
        "all-reduce(p), channel_id=1, replica_groups={}, to_apply=add", "negate(p)"
    )
    assert found_in(local) == ()


@pytest.mark.parametrize(("bound", "count"), [("convert(number)", 1), ("constant(7)", 0)])
def test_a_loop_whose_length_depends_on_the_device(bound: str, count: int) -> None:
    found = found_in(LOOP.replace("BOUND", bound))
    assert len(found) == count
    for divergence in found:
        assert divergence.branch.instruction.name == "w"
        assert divergence.origin.instruction.name == "number"


def test_user_code_for_one_device_is_told_by_its_op_name() -> None:
    branch = BRANCHES.replace("PREDICATE", "first")
    named = branch.replace(
        "false_computation=without",
        'false_computation=without, metadata={op_name="jit(f)/shard_map/cond"}',
    )
    assert [found_in(text)[0].written for text in (branch, named)] == ["unknown", "per-device"]
