"""What passes made of a collective, in histories small enough to tell by hand."""

import pytest

from analysis.histories import history_of
from app.analysis.collectives import find_collectives
from app.analysis.device_groups import devices_of, is_same_groups
from app.analysis.loop_history import follow_loops
from app.ingest import load_dump
from app.model.report import Collective
from app.settings import Settings
from conftest import Golden
from hlo_parser import ReplicaGroups, parse_module
from samples import load_sample

GROUPS = "channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true"
NAMED = 'metadata={op_name="jit(f)/while/body/psum" source_file="f.py" source_line=7}'

ADD = """add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

"""


def entry(*lines: str, result: str = "c") -> str:
    body = "".join(f"  {line}\n" for line in lines)
    return (
        f"HloModule m, num_partitions=4\n\n{ADD}ENTRY main {{\n"
        "  x = f32[8]{0} parameter(0)\n  y = f32[8]{0} parameter(1)\n"
        f"{body}  ROOT out = f32[8]{{0}} negate({result})\n}}\n"
    )


def collectives_of(*texts: str) -> tuple[Collective, ...]:
    history = history_of(*texts)
    return find_collectives(history, follow_loops(history))


def lives(*texts: str) -> dict[str, list[str]]:
    """For each collective of the last text its events, `position pass kind: detail`."""
    return {
        found.instruction: [f"{e.dump} {e.pass_} {e.kind}: {e.detail}" for e in found.history]
        for found in collectives_of(*texts)
    }


PLAIN = entry(f"c = f32[8]{{0}} all-reduce(x), {GROUPS}, to_apply=add, {NAMED}")
STARTED = entry(
    f"c-start = f32[8]{{0}} all-reduce-start(x), {GROUPS}, to_apply=add, {NAMED}",
    "c = f32[8]{0} all-reduce-done(c-start)",
)


def test_a_collective_of_the_program_is_there_in_the_first_text() -> None:
    assert lives(PLAIN, PLAIN) == {
        "c": ["0 None created: there in the first text, for psum at f.py:7"]
    }


def test_one_that_a_pass_made_names_the_pass_and_the_line() -> None:
    before = entry("c = f32[8]{0} negate(x)")
    (created,) = lives(before, PLAIN)["c"]
    assert created == "1 pass1 created: made of negate c, for psum at f.py:7"
    nothing_before = entry("d = f32[8]{0} negate(x)", result="d")
    (created,) = lives(nothing_before, PLAIN.replace("negate(c)", "add(c, y)"))["c"]
    assert created == "1 pass1 created: made by the compiler, for psum at f.py:7"


def test_it_becomes_asynchronous_and_synchronous_again() -> None:
    begin = "0 None created: there in the first text, for psum at f.py:7"
    started = "1 pass1 made_async: all-reduce -> all-reduce-start"
    assert lives(PLAIN, STARTED) == {"c-start": [begin, started]}
    assert lives(PLAIN, STARTED, PLAIN) == {
        "c": [begin, started, "2 pass2 made_sync: all-reduce-start -> all-reduce"]
    }
    marked = STARTED.replace(
        NAMED, NAMED + ', backend_config={"collective_backend_config":{"is_sync":true}}'
    )
    assert lives(STARTED, marked)["c-start"][1:] == ["1 pass1 made_sync: marked in backend_config"]


def test_an_all_reduce_becomes_a_reduce_scatter() -> None:
    before = PLAIN.replace("negate(c)", "add(c, y)")
    after = entry(
        f"c = f32[2]{{0}} reduce-scatter(x), {GROUPS}, dimensions={{0}}, to_apply=add, {NAMED}",
        f"d = f32[8]{{0}} all-gather(c), {GROUPS}, dimensions={{0}}",
        result="d",
    )
    assert lives(before, after)["c"][1:] == ["1 pass1 became: all-reduce -> reduce-scatter"]


def test_several_are_combined_and_named() -> None:
    before = entry(
        f"c1 = f32[8]{{0}} all-reduce(x), {GROUPS}, to_apply=add, {NAMED}",
        f"c2 = f32[8]{{0}} all-reduce(y), {GROUPS}, to_apply=add, {NAMED}",
        "c = f32[8]{0} add(c1, c2)",
    )
    after = entry(
        f"both = (f32[8]{{0}}, f32[8]{{0}}) all-reduce(x, y), {GROUPS}, to_apply=add, {NAMED}",
        "c1 = f32[8]{0} get-tuple-element(both), index=0",
        "c2 = f32[8]{0} get-tuple-element(both), index=1",
        "c = f32[8]{0} add(c1, c2)",
    )
    assert lives(before, after)["both"][1:] == ["1 pass1 combined: c1, c2 (operands 1 -> 2)"]


def test_other_types_and_other_groups_are_told() -> None:
    other = PLAIN.replace("x), channel_id", "z), channel_id").replace(
        "f32[8]{0} all", "bf16[8]{0} all"
    )
    other = other.replace("  c = ", "  z = bf16[8]{0} convert(x)\n  c = ")
    assert lives(PLAIN, other)["c"][1:] == ["1 pass1 retyped: f32 -> bf16"]
    pairs = PLAIN.replace("{{0,1,2,3}}", "{{0,1},{2,3}}")
    assert lives(PLAIN, pairs)["c"][1:] == ["1 pass1 regrouped: {{0,1,2,3}} -> {{0,1},{2,3}}"]
    # Another form of the same groups is no event.
    assert lives(PLAIN, PLAIN.replace("{{0,1,2,3}}", "[1,4]<=[4]"))["c"][1:] == []


T = "(s32[], f32[8]{0}, f32[8]{0})"
IN_LOOP = f"""HloModule m, num_partitions=4

{ADD}body {{
  p = {T} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[8]{{0}} get-tuple-element(p), index=1
  w = f32[8]{{0}} get-tuple-element(p), index=2
  c = f32[8]{{0}} all-reduce(w), {GROUPS}, to_apply=add, {NAMED}
  y = f32[8]{{0}} multiply(x, c)
  ROOT t = {T} tuple(next, y, w)
}}

condition {{
  p = {T} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(5)
  ROOT less = pred[] compare(i, n), direction=LT
}}

ENTRY main {{
  x = f32[8]{{0}} parameter(0)
  w = f32[8]{{0}} parameter(1)
  zero = s32[] constant(0)
  init = {T} tuple(zero, x, w)
  loop = {T} while(init), condition=condition, body=body
  ROOT out = f32[8]{{0}} get-tuple-element(loop), index=1
}}
"""
LOOP = "module_0000.m/loop"


def test_a_collective_is_moved_out_of_a_loop() -> None:
    ahead = IN_LOOP.replace(
        "  init = ",
        f"  c = f32[8]{{0}} all-reduce(w), {GROUPS}, to_apply=add, {NAMED}\n  init = ",
    ).replace("tuple(zero, x, w)", "tuple(zero, x, c)")
    hoisted = ahead.replace(
        f"  c = f32[8]{{0}} all-reduce(w), {GROUPS}, to_apply=add, {NAMED}\n  y", "  y"
    ).replace("multiply(x, c)", "multiply(x, w)")
    begin = f"0 None created: there in the first text, in loop {LOOP}, for psum at f.py:7"
    assert lives(IN_LOOP, hoisted) == {"c": [begin, f"1 pass1 moved_out_of_loop: out of {LOOP}"]}


def test_double_buffering_copies_within_the_loop() -> None:
    clone = f"c.double_buffer_clone = f32[8]{{0}} all-reduce(w), {GROUPS}, to_apply=add, {NAMED}"
    doubled = IN_LOOP.replace(
        "  y = f32[8]{0} multiply(x, c)\n",
        "  v = f32[8]{0} multiply(x, c)\n"
        f"  {clone}\n  y = f32[8]{{0}} multiply(v, c.double_buffer_clone)\n",
    )
    assert lives(IN_LOOP, doubled)["c.double_buffer_clone"][1:] == ["1 pass1 copied: copy of c"]
    assert lives(IN_LOOP, doubled)["c"][1:] == []


def test_a_copy_outside_leaves_the_original_in_the_loop() -> None:
    peeled = IN_LOOP.replace(
        "  init = ",
        f"  c.peeled = f32[8]{{0}} all-reduce(w), {GROUPS}, to_apply=add, {NAMED}\n"
        "  y = f32[8]{0} multiply(x, c.peeled)\n  init = ",
    ).replace("tuple(zero, x, w)", "tuple(zero, y, w)")
    begin = f"0 None created: there in the first text, in loop {LOOP}, for psum at f.py:7"
    assert lives(IN_LOOP, peeled) == {
        "c": [begin],
        "c.peeled": [begin, "1 pass1 copied: copy of c, in no loop"],
    }


@pytest.mark.parametrize(
    ("header", "attributes", "opcode", "devices"),
    [
        ("num_partitions=4", GROUPS, "all-reduce", ((0, 1, 2, 3),)),
        ("num_partitions=4", "channel_id=1, replica_groups={}", "all-to-all", ((0, 1, 2, 3),)),
        (
            "replica_count=2, num_partitions=2",
            "replica_groups={{0,1}}",
            "all-reduce",
            ((0, 2), (1, 3)),
        ),
        (
            "replica_count=2, num_partitions=2",
            "channel_id=1, replica_groups={{0,1}}",
            "all-reduce",
            ((0, 1, 2, 3),),
        ),
        (
            "replica_count=2, num_partitions=2",
            "channel_id=1, replica_groups={{1,0}}",
            "all-to-all",
            ((1, 0), (3, 2)),
        ),
        (
            "num_partitions=4",
            GROUPS.replace("{{0,1,2,3}}", "[2,2]<=[2,2]T(1,0)"),
            "all-gather",
            ((0, 2), (1, 3)),
        ),
        ("num_partitions=1", "replica_groups={}", "all-reduce", ()),
        ("num_partitions=4096", "channel_id=1, replica_groups={}", "all-to-all", ()),
        ("num_partitions=4", GROUPS.replace("{{0,1,2,3}}", "[1,4]<=[99999999]"), "all-gather", ()),
    ],
)
def test_groups_as_devices(
    header: str, attributes: str, opcode: str, devices: tuple[tuple[int, ...], ...]
) -> None:
    module = parse_module(
        f"HloModule m, {header}\n\n{ADD}ENTRY main {{\n  x = f32[8]{{0}} parameter(0)\n"
        f"  ROOT c = f32[8]{{0}} {opcode}(x), {attributes}\n}}\n"
    )
    assert devices_of(module, module.entry.root) == devices


def test_groups_that_claim_too_much_are_compared_as_text() -> None:
    huge = ReplicaGroups("[1,4]<=[99999999]")
    assert is_same_groups(huge, ReplicaGroups("[1,4]<=[99999999]"))
    assert not is_same_groups(huge, ReplicaGroups("[1,4]<=[99999998]"))


@pytest.mark.parametrize("sample", ["ring_local_p2p", "psum_under_cond"])
def test_lives_in_real_dumps(sample: str, golden: Golden) -> None:
    history = load_dump(load_sample(sample).archive, settings=Settings()).modules[0]
    found = find_collectives(history, follow_loops(history))
    golden(
        f"{sample}_lives.json",
        {
            f"{c.computation}/{c.instruction}": [
                f"{e.dump} {e.pass_} {e.kind}: {e.detail}" for e in c.history
            ]
            for c in found
        },
    )


def test_combined_pipelined_and_copied_collectives_of_a_train_step() -> None:
    history = load_dump(load_sample("fsdp_pipelined").archive, settings=Settings()).modules[0]
    found = find_collectives(history, follow_loops(history))
    passes = {
        "created": {"spmd-partitioning"},
        "pipelined": {"collective-pipeliner-forward", "collective-pipeliner-backward"},
        "copied": {
            "collective-pipeliner-forward",
            "collective-pipeliner-backward",
            "loop-double-buffer-transformer",
        },
        "became": {"reduce-scatter-creator"},
        "combined": {"gpu-all-gather-combiner", "gpu-reduce-scatter-combiner"},
        "made_async": {"async-collective-creator"},
        "made_sync": {"gpu-convert-async-collectives-to-sync"},
    }
    told: dict[str, set[str | None]] = {}
    for collective in found:
        for event in collective.history:
            told.setdefault(event.kind, set()).add(event.pass_)
    assert told == passes
    # Each of the 24 is four of one layer's weights or gradients, at one of two lines.
    assert len(found) == 24
    assert all(
        e.detail.endswith("(operands 1 -> 4)")
        for c in found
        for e in c.history
        if e.kind == "combined"
    )
    assert {c.source.line for c in found if c.source} == {17, 23}
