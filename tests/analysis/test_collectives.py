import pytest

from analysis.histories import history_of
from analysis.tpu_texts import ASYNC_FUSIONS
from app.analysis.collectives import find_collectives
from app.analysis.device_groups import group_size
from app.analysis.loop_history import follow_loops
from app.model.report import Collective, Window
from hlo_parser import parse_module

ADD = """%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

"""

HEADER = "HloModule m, num_partitions=8\n\n"


def collectives_in(text: str) -> tuple[Collective, ...]:
    history = history_of(text)
    return find_collectives(history, follow_loops(history))


def one(line: str, *, header: str = HEADER) -> Collective:
    """The collective of an entry that holds `line`, on `%x`, 1,024 bytes."""
    text = (
        header + ADD + "ENTRY %main (x: f32[256]) -> f32[256] {\n"
        "  %x = f32[256]{0} parameter(0)\n"
        f"  %c = {line}\n"
        "  ROOT %r = f32[256]{0} negate(%x)\n}\n"
    )
    (found,) = collectives_in(text)
    return found


GLOBAL = "channel_id=1, replica_groups=[2,4]<=[8], use_global_device_ids=true"


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        (f"f32[1024]{{0}} all-gather(%x), {GLOBAL}, dimensions={{0}}", 1024 * 3),
        (f"f32[64]{{0}} reduce-scatter(%x), {GLOBAL}, dimensions={{0}}, to_apply=%add", 768),
        (f"f32[256]{{0}} all-reduce(%x), {GLOBAL}, to_apply=%add", 2 * 768),
        ("f32[256]{0} all-to-all(%x), channel_id=1, replica_groups=[2,4]<=[8]", 768),
        ("f32[256]{0} collective-broadcast(%x), replica_groups=[2,4]<=[8]", 1024),
        ("f32[256]{0} collective-permute(%x), source_target_pairs={{0,1},{1,0}}", 1024),
        ("f32[256]{0} collective-permute(%x), source_target_pairs={{0,0},{1,1}}", 0),
        ("f32[256]{0} collective-permute(%x), source_target_pairs={}", 0),
        (
            "f32[256]{0} collective-permute(%x, %x, %x, %x), source_target_pairs={{0,1}},"
            " slice_sizes={{16}}",
            64,
        ),
        ("(f32[256]{0}, u32[], token[]) send(%x, %x), channel_id=1", 1024),
        ("(f32[256]{0}, u32[], token[]) recv(%x), channel_id=1", 0),
        (
            "f32[256]{0} ragged-all-to-all(%x, %x, %x, %x, %x, %x), channel_id=1,"
            " replica_groups={{0,1,2,3,4,5,6,7}}",
            896,
        ),
        (f"(f32[256]{{0}}, f32[256]{{0}}) all-reduce(%x, %x), {GLOBAL}, to_apply=%add", 4 * 768),
    ],
)
def test_bytes_that_one_device_sends(line: str, sent: int) -> None:
    assert one(line).bytes == sent


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        ("channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true", 2),
        # Without global ids a group of replicas with a channel has all their partitions.
        ("channel_id=1, replica_groups={{0},{1}}", 4),
        ("channel_id=1, replica_groups={}", 8),
        ("replica_groups={{0,1}}", 2),
        ("replica_groups={}", 2),
        ("channel_id=1, replica_groups={{0,1,2},{3}}, use_global_device_ids=true", 3),
        ("channel_id=1, replica_groups=mesh['a'=2,'b'=4] {'b'}, use_global_device_ids=true", 4),
    ],
)
def test_group_size_of_an_all_reduce(attributes: str, size: int) -> None:
    module = parse_module(
        "HloModule m, replica_count=2, num_partitions=4\n\n" + ADD + "ENTRY %main (x: f32[4])"
        " -> f32[4] {\n  %x = f32[4]{0} parameter(0)\n"
        f"  ROOT %r = f32[4]{{0}} all-reduce(%x), {attributes}, to_apply=%add\n}}\n"
    )
    assert group_size(module, module.entry.root) == size


def test_one_device_alone_sends_nothing() -> None:
    found = one(
        "f32[256]{0} all-reduce(%x), replica_groups={}, to_apply=%add", header="HloModule m\n\n"
    )
    assert found.bytes == 0


def test_groups_channel_and_flags_are_handed_on() -> None:
    found = one(f"f32[256]{{0}} all-reduce(%x), {GLOBAL}, to_apply=%add")
    assert (found.replica_groups, found.channel_id) == ("[2,4]<=[8]", 1)
    assert (found.computation, found.instruction, found.opcode) == ("main", "c", "all-reduce")
    assert not found.is_async
    assert found.window is None
    assert found.loop is None


IN_A_LOOP = """HloModule m, is_scheduled=true, num_partitions=8

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

%multiply (l: f32[64,64], m: f32[64,64]) -> f32[64,64] {
  %l = f32[64,64]{1,0} parameter(0)
  %m = f32[64,64]{1,0} parameter(1)
  ROOT %dot = f32[64,64]{1,0} dot(%l, %m), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

%wrapped (w: f32[64,64]) -> f32[64,64] {
  %w = f32[64,64]{1,0} parameter(0)
  ROOT %ar = f32[64,64]{1,0} all-reduce(%w), channel_id=3, replica_groups=[1,8]<=[8], use_global_device_ids=true, to_apply=%add, metadata={op_name="psum" source_file="t.py" source_line=7}
}

%body (p: (s32[], f32[64,64])) -> (s32[], f32[64,64]) {
  %p = (s32[], f32[64,64]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %x = f32[64,64]{1,0} get-tuple-element(%p), index=1
  %start = ((f32[64,64]{1,0}), f32[64,64]{1,0}, u32[]) async-start(%x), calls=%wrapped
  %f = f32[64,64]{1,0} fusion(%x, %x), kind=kOutput, calls=%multiply
  %g = (f32[64,64]{1,0}, s8[4]{0}) custom-call(%x, %f), custom_call_target="__cublas$gemm", backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}}
  %done = f32[64,64]{1,0} async-done(%start)
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  ROOT %r = (s32[], f32[64,64]{1,0}) tuple(%next, %done)
}

%cond (q: (s32[], f32[64,64])) -> pred[] {
  %q = (s32[], f32[64,64]{1,0}) parameter(0)
  %j = s32[] get-tuple-element(%q), index=0
  %n = s32[] constant(4)
  ROOT %c = pred[] compare(%j, %n), direction=LT
}

ENTRY %main (x0: f32[64,64]) -> f32[64,64] {
  %x0 = f32[64,64]{1,0} parameter(0)
  %zero = s32[] constant(0)
  %init = (s32[], f32[64,64]{1,0}) tuple(%zero, %x0)
  %loop = (s32[], f32[64,64]{1,0}) while(%init), condition=%cond, body=%body
  ROOT %out = f32[64,64]{1,0} get-tuple-element(%loop), index=1
}
"""  # noqa: E501 - HLO lines


def test_an_asynchronous_collective_in_a_loop() -> None:
    history = history_of(IN_A_LOOP)
    (loop,) = follow_loops(history)
    (found,) = find_collectives(history, (loop,))
    assert (found.computation, found.instruction) == ("body", "start")
    assert found.loop == loop.id
    assert found.is_async
    assert (found.opcode, found.channel_id) == ("all-reduce", 3)
    assert found.bytes == 2 * 64 * 64 * 4 * 7 // 8
    assert found.source is not None
    assert (found.source.file, found.source.line) == ("t.py", 7)
    # One product in the fusion, one by cuBLAS.
    flops = 2 * (2 * 64 * 64 * 64)
    assert found.window == Window(
        start="start", done="done", instructions=2, flops=flops, bytes=found.bytes
    )


def test_a_collective_called_from_a_loop_belongs_to_it() -> None:
    text = IN_A_LOOP.replace(
        "((f32[64,64]{1,0}), f32[64,64]{1,0}, u32[]) async-start(%x), calls=%wrapped",
        "f32[64,64]{1,0} call(%x), to_apply=%wrapped",
    ).replace("async-done(%start)", "negate(%start)")
    (found,) = collectives_in(text)
    assert (found.computation, found.instruction) == ("wrapped", "ar")
    assert found.loop is not None
    assert not found.is_async


def test_is_sync_is_not_async() -> None:
    text = IN_A_LOOP.replace(
        "calls=%wrapped",
        'calls=%wrapped, backend_config={"collective_backend_config":{"is_sync":true}}',
    )
    assert not collectives_in(text)[0].is_async


def test_work_of_a_loop_without_known_trips_is_unknown() -> None:
    inner = "(s32[], f32[64,64]{1,0}) while(%p), condition=%cond, body=%spin"
    spin = """%spin (z: (s32[], f32[64,64])) -> (s32[], f32[64,64]) {
  %z = (s32[], f32[64,64]{1,0}) parameter(0)
  %k = s32[] get-tuple-element(%z), index=0
  %y = f32[64,64]{1,0} get-tuple-element(%z), index=1
  %d = f32[64,64]{1,0} dot(%y, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %v = (s32[], f32[64,64]{1,0}) tuple(%k, %d)
}

"""
    text = IN_A_LOOP.replace("%body (p", spin + "%body (p").replace(
        "  %done =", f"  %inner = {inner}\n  %done ="
    )
    (found,) = collectives_in(text)
    assert found.window is not None
    assert found.window.instructions == 3
    assert found.window.flops is None
    known = text.replace("body=%spin", 'body=%spin, backend_config={"known_trip_count":{"n":"10"}}')
    (found,) = collectives_in(known)
    assert found.window is not None
    assert found.window.flops == (2 + 10) * 2 * 64**3


def test_libtpu_fusions_are_one_collective_under_the_first_fusion() -> None:
    (found,) = collectives_in(ASYNC_FUSIONS)
    assert (found.computation, found.instruction) == ("main", "ac-start")
    assert found.bytes == 16 * 7
    # A bf_io convolution without spatial dimensions is a product of two 8x8 matrices.
    assert found.window == Window(
        start="ac-start", done="ac-done", instructions=2, flops=2 * 8**3, bytes=112
    )


def test_only_the_last_text_counts() -> None:
    empty = "HloModule m\n\nENTRY %main {\n  ROOT %x = f32[4]{0} parameter(0)\n}\n"
    history = history_of(IN_A_LOOP, empty)
    assert find_collectives(history, follow_loops(history)) == ()


def test_a_computation_that_calls_itself_is_answered() -> None:
    text = IN_A_LOOP.replace(
        "dot(%l, %m), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "fusion(%l, %m), kind=kOutput, calls=%multiply",
    )
    (found,) = collectives_in(text)
    assert found.window is not None
    assert found.window.flops is None
