"""Dumps of ranks held against one another: which rank, which instruction, which order."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.analysis.ranks_numbers import rank_numbers
from app.analysis.ranks_order import by_communicator, collective_sequence
from app.errors import UsageError
from app.model.ranks import ACROSS_GROUPS, RankComparison
from app.service import compare_rank_dumps
from app.settings import Settings
from hlo_parser import parse_module

STEP = """\
HloModule jit_step, is_scheduled=true, entry_computation_layout={(f32[8]{0})->f32[8]{0}}, \
num_partitions=4

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}

%body (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %p = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %x = f32[8]{0} get-tuple-element(%p), index=1
  %gather.1 = f32[32]{0} all-gather(%x), channel_id=1, replica_groups=[1,4]<=[4], \
dimensions={0}, use_global_device_ids=true, metadata={source_file="/w/step.py" source_line=12}
  %reduce.2 = f32[8]{0} all-reduce(%x), channel_id=2, replica_groups={{0,1},{2,3}}, \
use_global_device_ids=true, to_apply=%add, metadata={source_file="/w/step.py" source_line=13}
  %reduce.3 = f32[32]{0} all-reduce(%gather.1), channel_id=3, replica_groups={{0,1},{2,3}}, \
use_global_device_ids=true, to_apply=%add, metadata={source_file="/w/step.py" source_line=14}
  %part = f32[8]{0} slice(%reduce.3), slice={[0:8]}
  %next = f32[8]{0} add(%reduce.2, %part)
  ROOT %r = (s32[], f32[8]{0}) tuple(%i, %next)
}

%condition (q: (s32[], f32[8])) -> pred[] {
  %q = (s32[], f32[8]{0}) parameter(0)
  %j = s32[] get-tuple-element(%q), index=0
  %n = s32[] constant(5)
  ROOT %go = pred[] compare(%j, %n), direction=LT
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x.0 = f32[8]{0} parameter(0)
  %zero = s32[] constant(0)
  %start = (s32[], f32[8]{0}) tuple(%zero, %x.0)
  %loop = (s32[], f32[8]{0}) while(%start), condition=%condition, body=%body
  ROOT %out = f32[8]{0} get-tuple-element(%loop), index=1
}
"""
LINES = STEP.splitlines()
SECOND = next(line for line in LINES if "%reduce.2 =" in line)
THIRD = next(line for line in LINES if "%reduce.3 =" in line)
REORDERED = STEP.replace(SECOND, "@").replace(THIRD, SECOND).replace("@", THIRD)
WIDER = (
    STEP.replace("f32[32]", "f32[16]")
    .replace("slice={[0:8]}", "slice={[0:8]}")
    .replace("replica_groups=[1,4]<=[4]", "replica_groups=[2,2]<=[4]")
)

Ranks = Callable[..., RankComparison]


@pytest.fixture
def ranks(tmp_path: Path) -> Ranks:
    def compare(*texts: str, before: str = STEP) -> RankComparison:
        dumps: dict[int, Path] = {}
        for rank, text in enumerate(texts):
            folder = dumps[rank] = tmp_path / f"rank{rank}"
            folder.mkdir(parents=True)
            stem = f"module_{rank:04d}.jit_step"
            (folder / f"{stem}.before_optimizations.txt").write_text(before)
            (folder / f"{stem}.0001.scheduling.after_scheduler.before_pipeline-end.txt").write_text(
                text
            )
            (folder / f"{stem}.sm_9.0_gpu_after_optimizations.txt").write_text(text)
        return compare_rank_dumps(dumps, Settings())

    return compare


def test_equal_ranks_acquit_the_hlo(ranks: Ranks) -> None:
    renamed = STEP.replace("%reduce.2", "%reduce.99").replace("channel_id=2", "channel_id=7")
    found = ranks(STEP, renamed, STEP.replace("/w/", "/other/place/"))
    assert not found.is_hlo_the_cause
    assert found.verdict.startswith("The HLO is not the cause: all 3 ranks have the same graphs")
    (module,) = found.modules
    assert module.same == (0, 1, 2)
    assert found.orders == ()
    assert {(c.devices, c.collectives, c.is_same) for c in found.communicators} == {
        ((0, 1, 2, 3), 1, True),
        ((0, 1), 2, True),
        ((2, 3), 2, True),
    }


def test_a_reordered_collective_is_named(ranks: Ranks) -> None:
    found = ranks(STEP, STEP, REORDERED, STEP)
    assert found.is_hlo_the_cause
    assert {(order.devices, order.position, order.ranks) for order in found.orders} == {
        ((0, 1), 0, (2,)),
        ((2, 3), 0, (2,)),
    }
    theirs, usual = found.orders[0].theirs, found.orders[0].usual
    assert theirs is not None
    assert usual is not None
    assert (theirs.instruction, usual.instruction) == ("reduce.3", "reduce.2")
    assert usual.source is not None
    assert usual.source.line == 13
    assert "Rank 2 begins reduce.3 (all-reduce of f32[32], step.py:14)" in found.verdict
    (difference,) = found.modules[0].differences
    assert (difference.ranks, difference.reference, difference.what) == ((2,), 0, ("order",))
    assert (
        difference.file
        == "module_0002.jit_step.0001.scheduling.after_scheduler.before_pipeline-end.txt"
    )
    assert difference.theirs is not None
    assert difference.theirs.instruction == "reduce.3"


def test_groups_that_share_devices_must_take_the_same_turns(ranks: Ranks) -> None:
    first = next(line for line in LINES if "%gather.1 =" in line)
    turned = STEP.replace(first, "@").replace(SECOND, first).replace("@", SECOND)
    found = ranks(STEP, turned, STEP)
    (order,) = found.orders
    assert (order.groups, order.position, order.ranks) == (ACROSS_GROUPS, 0, (1,))
    assert order.theirs is not None
    assert order.theirs.instruction == "reduce.2"
    assert all(communicator.is_same for communicator in found.communicators)
    assert "all groups together" in found.verdict


def test_groups_without_a_common_device_take_turns_as_they_like(ranks: Ranks) -> None:
    apart = STEP.replace(SECOND, SECOND.replace("{{0,1},{2,3}}", "{{0,1}}")).replace(
        THIRD, THIRD.replace("{{0,1},{2,3}}", "{{2,3}}")
    )
    lines = apart.splitlines()
    second = next(k for k, line in enumerate(lines) if "%reduce.2 =" in line)
    lines[second], lines[second + 1] = lines[second + 1], lines[second]
    found = ranks(apart, "\n".join(lines), apart)
    assert found.modules[0].differences
    assert found.orders == ()


def test_another_shape_is_named_where_it_begins(ranks: Ranks) -> None:
    found = ranks(STEP, WIDER, STEP)
    (difference,) = found.modules[0].differences
    assert difference.ranks == (1,)
    assert difference.theirs is not None
    assert difference.theirs.instruction == "gather.1"
    assert "shape" in difference.what
    assert "gather.1" in found.verdict
    assert {order.ranks for order in found.orders} == {(1,)}
    ended = [order for order in found.orders if order.devices == (0, 1, 2, 3)]
    assert ended[0].theirs is None


def test_a_graph_that_differs_in_no_collective_keeps_the_order(ranks: Ranks) -> None:
    found = ranks(STEP, STEP, STEP.replace("constant(5)", "constant(6)"))
    assert found.orders == ()
    (difference,) = found.modules[0].differences
    assert difference.theirs is not None
    assert (difference.ranks, difference.theirs.instruction) == ((2,), "n")
    assert found.verdict.endswith("the order of collectives is the same.")


def test_a_program_that_differs_differs_from_the_first_text_on(
    ranks: Ranks, tmp_path: Path
) -> None:
    ranks(STEP, STEP)
    changed = next((tmp_path / "rank1").glob("*before_optimizations.txt"))
    changed.write_text(STEP.replace("constant(5)", "constant(7)"))
    found = compare_rank_dumps({0: tmp_path / "rank0", 1: tmp_path / "rank1"}, Settings())
    assert found.modules[0].differences[0].dump == 0
    assert "from the first text on" in found.verdict


def test_a_module_that_one_rank_lacks_is_named(ranks: Ranks, tmp_path: Path) -> None:
    ranks(STEP, STEP)
    more = tmp_path / "rank1" / "module_0007.jit_more.before_optimizations.txt"
    more.write_text(STEP.replace("jit_step", "jit_more"))
    found = compare_rank_dumps({0: tmp_path / "rank0", 1: tmp_path / "rank1"}, Settings())
    assert found.is_hlo_the_cause
    assert found.verdict.startswith("Rank 0 does not compile jit_more")


def test_communicators_that_share_devices_are_listed(ranks: Ranks) -> None:
    found = ranks(STEP, STEP)
    assert {(o.devices, o.other_devices, o.shared) for o in found.overlaps} == {
        ((0, 1, 2, 3), (0, 1), (0, 1)),
        ((0, 1, 2, 3), (2, 3), (2, 3)),
    }
    assert {(o.first, o.second) for o in found.overlaps} == {("gather.1", "reduce.2")}
    assert {o.unordered for o in found.overlaps} == {2}


BRANCHING = """\
HloModule m, num_partitions=2

%sum (p: f32[], q: f32[]) -> f32[] {
  %p = f32[] parameter(0)
  %q = f32[] parameter(1)
  ROOT %s = f32[] add(%p, %q)
}

%then (a: f32[4]) -> f32[4] {
  %a = f32[4]{0} parameter(0)
  ROOT %psum = f32[4]{0} all-reduce(%a), channel_id=1, replica_groups={{0,1}}, to_apply=%sum
}

%else (b: f32[4]) -> f32[4] {
  ROOT %b = f32[4]{0} parameter(0)
}

ENTRY %main (x: f32[4], n: s32[]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %n = s32[] parameter(1)
  ROOT %c = f32[4]{0} conditional(%n, %x, %x), branch_computations={%then, %else}
}
"""


def test_a_collective_in_a_branch_acquits_nothing(ranks: Ranks) -> None:
    found = ranks(BRANCHING, BRANCHING, BRANCHING)
    assert not found.is_hlo_the_cause
    assert found.verdict.startswith("No rank's HLO differs: all 3 ranks have the same graphs")
    assert "but psum (all-reduce of f32[4]) stands in a branch" in found.verdict


def test_collectives_count_where_they_are_called_and_circles_end() -> None:
    text = """\
HloModule m, num_partitions=2

%inner (a: f32[4]) -> f32[4] {
  %a = f32[4]{0} parameter(0)
  %again = f32[4]{0} call(%a), to_apply=%inner
  ROOT %permute = f32[4]{0} collective-permute(%again), channel_id=1, \
source_target_pairs={{0,1},{1,0}}
}

ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %one = f32[4]{0} call(%x), to_apply=%inner
  ROOT %two = f32[4]{0} call(%one), to_apply=%inner
}
"""
    found = by_communicator(collective_sequence(parse_module(text)))
    assert {key: len(steps) for key, steps in found.items()} == {((0, 1), ""): 2}


def test_numbers_of_ranks_come_from_names_or_from_the_order() -> None:
    assert rank_numbers(["run/rank_12/d.tgz", "run/rank_3/d.tgz"], None) == (12, 3)
    assert rank_numbers(["a.tgz", "b.tgz"], None) == (0, 1)
    assert rank_numbers(["rank1", "rank1"], None) == (0, 1)
    assert rank_numbers(["x7.tgz", "x9.tgz"], r"x(\d+)") == (7, 9)
    for wrong in ("x(", r"x\d+", r"y(\d+)"):
        with pytest.raises(UsageError):
            rank_numbers(["x7.tgz", "x9.tgz"], wrong)
