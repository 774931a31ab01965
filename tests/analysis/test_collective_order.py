from app.analysis.collective_order import (
    MOST_PAIRS,
    UnorderedCollectives,
    UnorderedPair,
    find_unordered_collectives,
)
from hlo_parser import parse_module

ALL = "channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=add"
TEXT = """HloModule m, num_partitions=4

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  one = f32[4] all-reduce(x), ALL
  other = f32[4] OTHER
  ROOT r = (f32[4], f32[4]) tuple(one, other)
}
"""


def found_with(other: str) -> tuple[UnorderedCollectives, ...]:
    text = TEXT.replace("OTHER", other).replace("ALL", ALL)
    return find_unordered_collectives(parse_module(text))


def test_nothing_orders_two_collectives_of_the_same_devices() -> None:
    assert found_with("all-reduce(y), ALL") == (
        UnorderedCollectives("main", 1, (UnorderedPair("one", "other", (0, 1, 2, 3)),)),
    )


def test_operands_order_however_far() -> None:
    far = "negate(one)\n  n = f32[4] negate(other)\n  last = f32[4] all-reduce(n), ALL"
    assert found_with(far) == ()


def test_control_predecessors_order() -> None:
    assert found_with("all-reduce(y), ALL, control-predecessors={one}") == ()


def test_devices_of_both_are_named_and_none_shared_is_no_pair() -> None:
    (found,) = found_with("collective-permute(y), channel_id=2, source_target_pairs={{2,3}}")
    assert found.pairs == (UnorderedPair("one", "other", (2, 3)),)
    apart = TEXT.replace(
        "all-reduce(x), ALL", "collective-permute(x), channel_id=1, source_target_pairs={{0,1}}"
    ).replace("OTHER", "collective-permute(y), channel_id=2, source_target_pairs={{2,3}}")
    assert find_unordered_collectives(parse_module(apart)) == ()


def test_too_many_devices_may_overlap() -> None:
    text = TEXT.replace("num_partitions=4", "num_partitions=4096").replace(
        "OTHER", "all-reduce(y), ALL"
    )
    groups = ALL.replace("{{0,1},{2,3}}", "[2048,2]<=[4096]")
    (found,) = find_unordered_collectives(parse_module(text.replace("ALL", groups)))
    assert found.pairs == (UnorderedPair("one", "other", None),)


def test_a_wrapped_collective_is_begun_where_it_is_called() -> None:
    text = TEXT.replace(
        "ENTRY main {",
        """wrapped {
  p = f32[4] parameter(0)
  ROOT q = f32[4] all-reduce(p), ALL
}

ENTRY main {""",
    ).replace(
        "other = f32[4] OTHER",
        """start = ((f32[4]), f32[4], s32[]) async-start(y), calls=wrapped
  other = f32[4] async-done(start)""",
    )
    (found,) = find_unordered_collectives(parse_module(text.replace("ALL", ALL)))
    assert found == UnorderedCollectives("main", 1, (UnorderedPair("one", "start", (0, 1, 2, 3)),))


def test_a_cycle_ends_the_walk() -> None:
    assert found_with("all-reduce(y), ALL, control-predecessors={r}") == ()


def test_all_pairs_are_counted_and_the_first_listed() -> None:
    lines = "".join(f"\n  c{n} = f32[4] all-reduce(y), ALL" for n in range(30))
    (found,) = found_with("negate(y)" + lines)
    assert found.count == 31 * 30 // 2
    assert len(found.pairs) == MOST_PAIRS
