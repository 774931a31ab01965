"""Meshes that texts state or allow, and the axes that collectives run along."""

import pytest

from analysis.histories import history_of
from app.analysis.collectives import find_collectives
from app.analysis.device_groups import chains_of
from app.analysis.loop_history import follow_loops
from app.analysis.meshes import find_meshes
from app.analysis.tiles import mesh_of_tiles
from app.model.mesh import Mesh, MeshAxis
from app.model.report import Collective

ADD = """%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

"""
STATED = '{mesh = #sdy.mesh<["dp"=2, "tp"=4]>}'
GLOBAL = "channel_id=1, use_global_device_ids=true, to_apply=%add"


def program(
    line: str, *, meshes: str = "", header: str = "num_partitions=8", sharding: str = ""
) -> str:
    attributes = f", frontend_attributes={{xla.sdy.meshes={meshes}}}" if meshes else ""
    shown = f", sharding={sharding}" if sharding else ""
    return (
        f"HloModule m, {header}{attributes}\n\n{ADD}ENTRY %main (x: f32[8]) -> f32[8] {{\n"
        f"  %x = f32[8]{{0}} parameter(0){shown}\n  ROOT %c = {line}\n}}\n"
    )


def collective(*texts: str) -> Collective:
    history = history_of(*texts)
    (found,) = find_collectives(history, follow_loops(history), meshes=find_meshes(history))
    return found


def reduced_over(groups: str, **given: str) -> Collective:
    return collective(
        program(f"f32[8]{{0}} all-reduce(%x), replica_groups={groups}, {GLOBAL}", **given)
    )


def axes(*pairs: tuple[str, int]) -> tuple[MeshAxis, ...]:
    return tuple(MeshAxis(name=name, size=size) for name, size in pairs)


@pytest.mark.parametrize(
    ("groups", "found"),
    [
        ("{{0,1,2,3},{4,5,6,7}}", ("tp",)),
        ("{{6,4,5,7},{3,1,2,0}}", ("tp",)),
        ("[2,4]<=[8]", ("tp",)),
        ("[4,2]<=[2,4]T(1,0)", ("dp",)),
        ("{{0,1,2,3,4,5,6,7}}", ("dp", "tp")),
        ("{}", ("dp", "tp")),
        ("mesh['axis_0'=2,'axis_1'=1,'axis_2'=4] {'axis_2'}", ("tp",)),
        ("mesh['axis_0'=4,'axis_1'=2], device_ids=([2,4]T(1,0)) {'axis_1'}", ("dp",)),
        ("{{0,1},{2,3},{4,5},{6,7}}", ("tp:(1)2",)),
        ("{{0,2},{1,3},{4,6},{5,7}}", ("tp:(2)2",)),
        ("{{0,4,2,6},{1,5,3,7}}", ("dp", "tp:(2)2")),
        ("{{0,1},{2,3},{4,6},{5,7}}", ()),
        ("{{0,5},{1,4},{2,7},{3,6}}", ()),
        ("{{0,1,2},{3,4,5},{6},{7}}", ()),
        ("{{0},{1},{2},{3},{4},{5},{6},{7}}", ()),
    ],
)
def test_groups_are_axes_of_the_stated_mesh(groups: str, found: tuple[str, ...]) -> None:
    seen = reduced_over(groups, meshes=STATED)
    assert (seen.axes, seen.axes_from) == (found, "mesh" if found else None)


def test_axes_of_one_device_are_not_named() -> None:
    mesh = '{m = #sdy.mesh<["a"=1, "b"=8, "c"=1]>}'
    assert reduced_over("{{0,1,2,3,4,5,6,7}}", meshes=mesh).axes == ("b",)
    seen = reduced_over("mesh['a'=1,'b'=8] {'a','b'}", meshes=mesh)
    assert (seen.axes, seen.axes_from) == (("b",), "groups")


def test_the_mesh_may_stand_in_an_earlier_text_only() -> None:
    first = program("f32[8]{0} negate(%x)", meshes=STATED)
    last = program(f"f32[8]{{0}} all-reduce(%x), replica_groups=[2,4]<=[8], {GLOBAL}")
    assert collective(first, last).axes == ("tp",)
    (mesh,) = find_meshes(history_of(last, first))
    assert (mesh.dump, mesh.name, mesh.standing) == (1, "mesh", "stated")
    assert mesh.axes == axes(("dp", 2), ("tp", 4))


@pytest.mark.parametrize(
    "meshes",
    [
        '"{mesh = #sdy.mesh<[\\"dp\\"=2, \\"tp\\"=4]>}"',
        '{empty = #sdy.mesh<[]>, mesh = #sdy.mesh<["dp"=2,"tp"=4], device_ids=[0,1,2,3,4,5,6,7]>}',
    ],
)
def test_spellings_of_a_stated_mesh(meshes: str) -> None:
    (mesh,) = find_meshes(history_of(program("f32[8]{0} negate(%x)", meshes=meshes)))
    assert (mesh.axes, mesh.device_ids) == (axes(("dp", 2), ("tp", 4)), ())


def test_devices_of_a_mesh_in_an_order_of_their_own() -> None:
    mesh = '{m = #sdy.mesh<["a"=2, "b"=2], device_ids=[0,3,1,2]>}'
    header = "num_partitions=4"
    assert reduced_over("{{0,3},{2,1}}", meshes=mesh, header=header).axes == ("b",)
    assert reduced_over("{{0,1},{2,3}}", meshes=mesh, header=header).axes == ("a",)
    assert reduced_over("{{0,2},{1,3}}", meshes=mesh, header=header).axes == ()


@pytest.mark.parametrize("ids", ["[0,1,2,2]", "[0,1,2,9]", "[0,1]"])
def test_a_mesh_that_holds_other_devices_names_nothing(ids: str) -> None:
    mesh = f'{{m = #sdy.mesh<["a"=2, "b"=2], device_ids={ids}>}}'
    assert reduced_over("{{0,1},{2,3}}", meshes=mesh, header="num_partitions=4").axes == ()


def test_meshes_of_shardings_and_groups_in_their_newest_printing() -> None:
    line = f"f32[8]{{0}} all-reduce(%x), replica_groups=mesh['x'=2,'y'=4] {{'y':(2)2}}, {GLOBAL}"
    text = program(line, sharding="{mesh['x'=4,'y'=2], device_ids=([2,4]T(1,0)), [{'x'}]}")
    named, printed = find_meshes(history_of(text))
    assert (named.axes, named.device_ids) == (
        axes(("x", 4), ("y", 2)),
        (0, 4, 1, 5, 2, 6, 3, 7),
    )
    assert (printed.axes, printed.device_ids) == (axes(("x", 2), ("y", 4)), ())
    seen = collective(text)
    assert (seen.axes, seen.axes_from) == (("y:(2)2",), "groups")


def test_names_that_xla_made_up_are_no_mesh() -> None:
    line = f"f32[8]{{0}} all-reduce(%x), replica_groups=mesh['axis_0'=8] {{'axis_0'}}, {GLOBAL}"
    assert find_meshes(history_of(program(line))) == ()
    assert collective(program(line)).axes == ()


def test_made_up_names_stand_where_the_program_has_them() -> None:
    seen = reduced_over("mesh['axis_0'=8] {'axis_0'}", meshes='{m = #sdy.mesh<["axis_0"=8]>}')
    assert (seen.axes, seen.axes_from) == (("axis_0",), "groups")


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        ("{{0,1},{1,2},{2,3},{3,0},{4,5},{5,6},{6,7},{7,4}}", ("tp",)),
        ("{{0,4},{4,0}}", ("dp",)),
        ("{{0,5}}", ("dp", "tp")),
        ("{{0,0},{1,1}}", ()),
        ("{{0,99}}", ()),
    ],
)
def test_axes_of_a_permute(pairs: str, found: tuple[str, ...]) -> None:
    line = f"f32[8]{{0}} collective-permute(%x), channel_id=1, source_target_pairs={pairs}"
    assert collective(program(line, meshes=STATED)).axes == found


def test_a_permute_has_the_devices_of_its_pairs() -> None:
    line = "f32[8]{0} collective-permute(%x), source_target_pairs={{0,1},{1,0}}"
    header = "replica_count=2, num_partitions=2"
    replicas = collective(program(line, header=header))
    assert replicas.pairs == ((0, 2), (2, 0), (1, 3), (3, 1))
    assert replicas.groups == ((0, 2), (1, 3))
    partitions = collective(program(f"{line}, channel_id=1", header=header))
    assert partitions.pairs == ((0, 1), (1, 0), (2, 3), (3, 2))


def test_a_permute_taken_apart_keeps_its_pairs() -> None:
    sent = (
        "(f32[8]{0}, u32[], token[]) send(%x, %x), channel_id=1, frontend_attributes="
        "{_xla_send_recv_source_target_pairs={{0,4},{4,0}}}"
    )
    seen = collective(program(sent, meshes=STATED))
    assert (seen.pairs, seen.groups, seen.axes) == (((0, 4), (4, 0)), ((0, 4),), ("dp",))
    header = "replica_count=2, num_partitions=4"
    assert collective(program(sent, header=header)).pairs == ()


@pytest.mark.parametrize(
    ("pairs", "chains"),
    [
        (((1, 2), (2, 3), (0, 1)), ((0, 1, 2, 3),)),
        (((2, 0), (0, 1), (1, 2), (4, 3)), ((4, 3), (2, 0, 1))),
        (((5, 5), (6, 7)), ((6, 7),)),
        (((0, 1), (0, 2), (3, 1)), ((0, 2), (3, 1))),
        ((), ()),
    ],
)
def test_chains_of_pairs(
    pairs: tuple[tuple[int, int], ...], chains: tuple[tuple[int, ...], ...]
) -> None:
    assert chains_of(pairs) == chains


@pytest.mark.parametrize(
    ("shardings", "sizes"),
    [
        (["{devices=[8,1]<=[8]}"], (8,)),
        (["{devices=[2,1,4]<=[8]}", "{devices=[8]<=[8]}", "{replicated}"], (2, 4)),
        (["{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"], (2, 4)),
        (["{devices=[2,2,2]<=[8] last_tile_dims={manual, replicated}}"], (2, 2, 2)),
        (["{devices=[4,2]0,1,2,3,4,5,6,7}"], (4, 2)),
        (["{devices=[4,2]0,4,1,5,2,6,3,7}"], (2, 4)),
        # An axis that is cut once after two and once after four devices is two axes.
        (["{devices=[4,2]<=[8]}", "{devices=[2,4]<=[8]}"], (2, 2, 2)),
        (["{devices=[8]<=[2,4]T(1,0)}"], (2, 4)),
        (["{{devices=[2,4]<=[8]}, {replicated}}"], (2, 4)),
        # No order of plain numbers, cuts that contradict each other, other devices, no tiles.
        (["{devices=[4,2]0,5,1,4,2,7,3,6}"], None),
        (["{devices=[4,2]<=[4]}"], None),
        (["{devices=[4]<=[4]}"], None),
        (["{devices=[2,3]<=[8]}"], None),
        (["{devices=[4,2]<=[2,4]T(1,1)}"], None),
        (["{replicated}", "{manual}"], None),
    ],
)
def test_the_mesh_that_tiles_are_cut_from(
    shardings: list[str], sizes: tuple[int, ...] | None
) -> None:
    assert mesh_of_tiles(shardings, 8) == sizes


def test_tiles_that_cut_the_devices_differently_allow_no_mesh() -> None:
    assert mesh_of_tiles(["{devices=[2,3]<=[6]}", "{devices=[3,2]<=[6]}"], 6) is None


def test_a_mesh_is_inferred_where_none_is_stated() -> None:
    tiles = "{devices=[2,4]<=[8]}"
    seen = reduced_over("[4,2]<=[2,4]T(1,0)", sharding=tiles)
    assert (seen.axes, seen.axes_from) == (("axis_0",), "shardings")
    # An inferred axis is not cut any further.
    assert reduced_over("{{0,1},{2,3},{4,5},{6,7}}", sharding=tiles).axes == ()
    (mesh,) = find_meshes(history_of(program("f32[8]{0} negate(%x)", sharding=tiles)))
    assert mesh == Mesh(
        module="module_0000.m",
        name="",
        axes=axes(("axis_0", 2), ("axis_1", 4)),
        standing="inferred",
        dump=0,
    )


def test_absurd_sizes_are_looked_at_and_left() -> None:
    huge = '{m = #sdy.mesh<["a"=999999999, "b"=999999999]>}'
    header = "num_partitions=999999998000000001"
    assert reduced_over("[1,4]<=[4]", meshes=huge, header=header).axes == ()
    groups = "mesh['q'=2], device_ids=([999999999,999999999]T(1,0)) {'q'}"
    assert reduced_over(groups).axes == ("q",)
