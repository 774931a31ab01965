"""Replica groups in their three forms, against the same groups written as lists."""

import pytest

from hlo_parser import ReplicaGroups


@pytest.mark.parametrize(
    ("text", "form", "groups"),
    [
        ("{{0,1},{2,3}}", "list", ((0, 1), (2, 3))),
        ("{{0,1,2},{3}}", "list", ((0, 1, 2), (3,))),
        ("[2,4]<=[8]", "iota", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("[4,2]<=[2,4]T(1,0)", "iota", ((0, 4), (1, 5), (2, 6), (3, 7))),
        ("[2,4]<=[2,2,2]T(1,0,2)", "iota", ((0, 1, 4, 5), (2, 3, 6, 7))),
        ("[1,8]<=[8]", "iota", ((0, 1, 2, 3, 4, 5, 6, 7),)),
        ("mesh['a'=2,'b'=4] {'a'}", "mesh", ((0, 4), (1, 5), (2, 6), (3, 7))),
        ("mesh['a'=2,'b'=4] {'b'}", "mesh", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("mesh['a'=2,'b'=2] {'a','b'}", "mesh", ((0, 1, 2, 3),)),
        ("mesh['a'=2,'b'=2] {'b','a'}", "mesh", ((0, 2, 1, 3),)),
        ("mesh['a'=8] {'a':(1)2}", "mesh", ((0, 4), (1, 5), (2, 6), (3, 7))),
        ("mesh['a'=8] {'a':(2)4}", "mesh", ((0, 1, 2, 3), (4, 5, 6, 7))),
        ("mesh['a'=8] {'a':(2)2}", "mesh", ((0, 2), (1, 3), (4, 6), (5, 7))),
        ("mesh['a'=2,'b'=2], device_ids=(0,2,1,3) {'b'}", "mesh", ((0, 2), (1, 3))),
        ("mesh['a'=2,'b'=2], device_ids=([2,2]T(1,0)) {'b'}", "mesh", ((0, 2), (1, 3))),
        ("mesh['a]'=2,'}\"'=2] {'}\"'}", "mesh", ((0, 1), (2, 3))),
        ("mesh['axis_0'=8,'axis_1'=1] {'axis_0'}", "mesh", (tuple(range(8)),)),
    ],
)
def test_groups(text, form, groups):
    made = ReplicaGroups(text)
    assert made.form == form
    assert made.expand() == groups
    assert made.group_count == len(groups)
    sizes = {len(group) for group in groups}
    assert made.group_size == (sizes.pop() if len(sizes) == 1 else None)


@pytest.mark.parametrize("text", ["{}", "{{}}"])
def test_empty_groups_mean_all_devices(text):
    made = ReplicaGroups(text)
    assert (made.expand(), made.group_size, made.group_count) == ((), None, 1)


@pytest.mark.parametrize(
    "text",
    [
        "[2,4]<=[9]",
        "[2,4]<=[4,2]T(0,0)",
        "mesh['a'=2]",
        "mesh['a'=2], device_ids=(1) {'a'}",
        "nothing",
    ],
)
def test_groups_that_do_not_fit_give_none(text):
    assert ReplicaGroups(text).expand() == ()


def test_a_mesh_with_impossible_parts_gives_an_answer():
    for text in ("mesh['a'=0] {'a'}", "mesh['a'=2] {'a':(0)2}", "mesh['a'=2] {'b'}", "mesh[] {}"):
        made = ReplicaGroups(text)
        made.expand()
        assert made.group_count is not None


def test_too_many_devices_are_not_listed():
    made = ReplicaGroups("[1000000,1000000]<=[1000000000000]")
    assert (made.group_count, made.group_size) == (1_000_000, 1_000_000)
    with pytest.raises(ValueError, match="too many"):
        made.expand()
