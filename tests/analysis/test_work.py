"""Work of texts that are small enough to count by hand."""

import pytest

from analysis.histories import history_of
from app.analysis.bends import find_bends
from app.analysis.convolutions import multiply_adds
from app.analysis.history import describe_dumps
from app.analysis.loop_history import follow_loops
from app.analysis.work import measure_work
from app.ingest import load_dump
from app.model.dump import ModuleHistory
from app.model.work import LARGEST_COUNT, Work
from app.settings import Settings
from conftest import Golden
from hlo_parser import parse_module
from samples import load_sample

# A loop of TRIPS iterations; the body multiplies 4x4 matrices (128 operations) and sends 96 bytes.
LOOP = """HloModule m, num_partitions=4

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

body {
  p = (s32[], f32[4,4]{1,0}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[4,4]{1,0} get-tuple-element(p), index=1
  d = f32[4,4]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ar = f32[4,4]{1,0} all-reduce(d), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add
  ROOT t = (s32[], f32[4,4]{1,0}) tuple(next, ar)
}

condition {
  p = (s32[], f32[4,4]{1,0}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(5)
  ROOT less = pred[] compare(i, n), direction=LT
}

ENTRY main {
  x = f32[4,4]{1,0} parameter(0)
  start = s32[] constant(0)
  init = (s32[], f32[4,4]{1,0}) tuple(start, x)
  loop = (s32[], f32[4,4]{1,0}) while(init), condition=condition, body=body
  ROOT out = f32[4,4]{1,0} get-tuple-element(loop), index=1
}
"""  # noqa: E501 - HLO lines
UNKNOWN_START = ("start = s32[] constant(0)", "start = s32[] parameter(1)")


def work_of(text: str) -> Work:
    (found,) = measure_work(history_of(text))
    return found


def test_a_loop_counts_as_often_as_it_runs() -> None:
    assert work_of(LOOP) == Work(5 * 128, {"all-reduce": 5 * 96})


def test_a_loop_of_unknown_trips_counts_once_and_is_told() -> None:
    assert work_of(LOOP.replace(*UNKNOWN_START)) == Work(128, {"all-reduce": 96}, counted_once=1)


def test_a_loop_without_work_is_not_told() -> None:
    text = LOOP.replace(*UNKNOWN_START).replace("tuple(next, ar)", "tuple(next, x)")
    idle = "\n".join(line for line in text.splitlines() if not line.startswith(("  d =", "  ar =")))
    assert work_of(idle) == Work(0, {})


def test_trips_known_from_an_earlier_text_still_hold() -> None:
    history = history_of(LOOP, LOOP.replace(*UNKNOWN_START))
    assert [w.flops for w in measure_work(history, follow_loops(history))] == [640, 640]
    # Without the loops' history each text speaks for itself.
    assert [w.flops for w in measure_work(history)] == [640, 128]


def test_nested_loops_multiply() -> None:
    outer = LOOP.replace("ENTRY main", "inner").replace(
        "ROOT out = f32[4,4]{1,0} get-tuple-element(loop), index=1",
        "ROOT out = f32[4,4]{1,0} get-tuple-element(loop), index=1\n}\n\n"
        "outer {\n  p = (s32[], f32[4,4]{1,0}) parameter(0)\n"
        "  i = s32[] get-tuple-element(p), index=0\n  one = s32[] constant(1)\n"
        "  next = s32[] add(i, one)\n  x = f32[4,4]{1,0} get-tuple-element(p), index=1\n"
        "  y = f32[4,4]{1,0} call(x), to_apply=inner\n"
        "  ROOT t = (s32[], f32[4,4]{1,0}) tuple(next, y)\n}\n\nENTRY main {\n"
        "  x = f32[4,4]{1,0} parameter(0)\n  start = s32[] constant(2)\n"
        "  init = (s32[], f32[4,4]{1,0}) tuple(start, x)\n"
        "  ROOT loop = (s32[], f32[4,4]{1,0}) while(init), condition=condition, body=outer",
    )
    assert work_of(outer) == Work(3 * 5 * 128, {"all-reduce": 3 * 5 * 96})


BRANCHES = """HloModule m

light {
  x = f32[2,2]{1,0} parameter(0)
  ROOT d = f32[2,2]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

heavy {
  y = f32[2,2]{1,0} parameter(0)
  e = f32[2,2]{1,0} fusion(y), kind=kOutput, calls=light
  ROOT f = f32[2,2]{1,0} dot(y, e), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

ENTRY main {
  which = s32[] parameter(0)
  z = f32[2,2]{1,0} parameter(1)
  ROOT c = f32[2,2]{1,0} conditional(which, z, z, z), branch_computations={light, heavy, light}
}
"""


def test_of_a_conditional_the_heaviest_branch_counts() -> None:
    assert work_of(BRANCHES) == Work(2 * 16, {})


def test_an_asynchronous_call_counts_once() -> None:
    text = """HloModule m, num_partitions=2

wrapped {
  p = f32[8]{0} parameter(0)
  ROOT ag = f32[16]{0} all-gather(p), channel_id=1, replica_groups={{0,1}}, dimensions={0}, use_global_device_ids=true
}

ENTRY main {
  x = f32[8]{0} parameter(0)
  s = ((f32[8]{0}), f32[16]{0}) async-start(x), calls=wrapped
  u = ((f32[8]{0}), f32[16]{0}) async-update(s), calls=wrapped
  ROOT d = f32[16]{0} async-done(u), calls=wrapped
}
"""  # noqa: E501 - HLO lines
    assert work_of(text) == Work(0, {"all-gather": 32})


@pytest.mark.parametrize(
    ("call", "flops"),
    [
        (
            'custom-call(x, x), custom_call_target="__cublas$gemm", backend_config={'
            '"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}}',
            2 * 4 * 8 * 16,
        ),
        (
            'custom-call(x, x), custom_call_target="__onednn$matmul", backend_config={'
            '"onednn_matmul_config":{"transpose_a":false}}',
            2 * 4 * 8 * 16,
        ),
        (
            'custom-call(x, x), custom_call_target="__onednn$matmul", backend_config={'
            '"onednn_matmul_config":{"transpose_a":true}}',
            2 * 4 * 8 * 2,
        ),
        ('custom-call(x, x), custom_call_target="other"', 0),
    ],
)
def test_library_calls_that_are_products(call: str, flops: int) -> None:
    text = (
        "HloModule m\n\nENTRY main {\n  x = f32[2,16]{1,0} parameter(0)\n"
        f"  ROOT c = (f32[4,8]{{1,0}}, s8[4]{{0}}) {call}\n}}\n"
    )
    assert work_of(text).flops == flops


def test_a_product_of_unreadable_shape_is_told() -> None:
    text = (
        "HloModule m\n\nENTRY main {\n  x = f32[?,4]{1,0} parameter(0)\n"
        "  ROOT d = f32[?,?]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n}"
    )
    assert work_of(text) == Work(0, {}, uncounted=1)


def test_computations_in_a_circle_and_counts_past_all_sense_are_answered() -> None:
    circle = BRANCHES.replace("fusion(y), kind=kOutput, calls=light", "call(y), to_apply=heavy")
    assert work_of(circle) == Work(16, {})
    deep = "HloModule m\n\nc0 {\n  x = f32[2,2]{1,0} parameter(0)\n" + (
        "  ROOT d = f32[2,2]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}"
    )
    for level in range(1, 3000):
        deep += (
            f"\n\nc{level} {{\n  x = f32[2,2]{{1,0}} parameter(0)\n"
            f"  y = f32[2,2]{{1,0}} call(x), to_apply=c{level - 1}\n"
            f"  ROOT z = f32[2,2]{{1,0}} call(y), to_apply=c{level - 1}\n}}"
        )
    assert work_of(deep.replace("c2999 {", "ENTRY c2999 {")).flops == LARGEST_COUNT


@pytest.mark.parametrize(
    ("shapes", "window", "labels", "count"),
    [
        # 3x3 kernel over 5x5 without padding: 9 outputs, 9 elements each.
        ("1,5,5,1 3,3,1,1 1,3,3,1", "{size=3x3}", "b01f_01io->b01f", 81),
        # Padding adds outputs but no elements: along one side 2 + 3 + 3 + 3 + 2 = 13.
        ("1,5,5,1 3,3,1,1 1,5,5,1", "{size=3x3 pad=1_1x1_1}", "b01f_01io->b01f", 13 * 13),
        ("1,5,1 3,1,1 1,3,1", "{size=3 stride=2 pad=1_1}", "b0f_0io->b0f", 2 + 3 + 2),
        ("1,5,1 3,1,1 1,1,1", "{size=3 rhs_dilate=2}", "b0f_0io->b0f", 3),
        # Every other element of the dilated input is a hole: outputs meet 2, 1, 2, ... elements.
        ("1,4,1 3,1,1 1,5,1", "{size=3 lhs_dilate=2}", "b0f_0io->b0f", 2 + 1 + 2 + 1 + 2),
        # A product of 4 pairs of 2x3 and 3x5 matrices, as libtpu writes it.
        ("2,3,4 3,5,4 2,5,4", "{size=4 stride=3 lhs_dilate=4}", "bf0_io0->bf0", 4 * 2 * 3 * 5),
        ("2,3,4 3,5,4 2,5,7", "{size=4 pad=3_3 rhs_reversal=1}", "bf0_io0->bf0", 4 * 4 * 2 * 3 * 5),
        # Four groups: the kernel holds the features of one.
        ("8,16 4,32 8,32", "", "bf_io->bf", 8 * 4 * 32),
        ("1,5,1 3,1,1 1,3,1", "{size=3 stride=?}", "b0f_0io->b0f", 9),
        ("1,5,1 99999999,1,1 1,3,1", "{size=99999999 pad=99999997_0}", "b0f_0io->b0f", 299999997),
    ],
)
def test_multiply_adds_of_a_convolution(shapes: str, window: str, labels: str, count: int) -> None:
    lhs, kernel, output = shapes.split()
    text = (
        f"HloModule m\n\nENTRY main {{\n  x = f32[{lhs}] parameter(0)\n"
        f"  k = f32[{kernel}] parameter(1)\n"
        f"  ROOT c = f32[{output}] convolution(x, k), dim_labels={labels}\n}}\n"
    )
    x, k, c = parse_module(text).entry.instructions
    attributes = {"window": window, "dim_labels": labels}
    assert multiply_adds(attributes, x.shape, k.shape, c.shape) == count


def bends_of(history: ModuleHistory) -> list[tuple[int, str | None, str, int, int]]:
    rows = describe_dumps(history, measure_work(history, follow_loops(history)))
    return [(b.dump, b.pass_, b.curve, b.before, b.after) for b in find_bends(history, rows)]


def test_a_bend_names_pass_and_curve() -> None:
    shorter = LOOP.replace("s32[] constant(5)", "s32[] constant(4)")
    assert bends_of(history_of(LOOP, LOOP, shorter)) == [
        (2, "pass2", "flops", 640, 512),
        (2, "pass2", "collective_bytes", 480, 384),
    ]


def test_small_steps_are_no_bends() -> None:
    longer = LOOP.replace("s32[] constant(5)", "s32[] constant(100)")
    longest = LOOP.replace("s32[] constant(5)", "s32[] constant(102)")
    assert bends_of(history_of(longer, longest)) == []


@pytest.mark.parametrize("sample", ["fsdp_pipelined", "ring_local_p2p", "work_done_twice"])
def test_work_and_bends_of_real_dumps(sample: str, golden: Golden) -> None:
    contents = load_dump(load_sample(sample).archive, settings=Settings())
    history = contents.modules[0]
    rows = describe_dumps(history, measure_work(history, follow_loops(history)))
    changes: dict[str, object] = {}
    before: tuple[object, ...] = ()
    for row in rows:
        here = row.flops, row.collective_bytes, row.counted_once, row.uncounted
        if here != before:
            changes[f"{row.index} {row.after}"] = {"flops": row.flops, **row.collective_bytes}
        before = here
    bends = [
        f"{b.dump} {b.pass_} {b.curve} {b.before} -> {b.after}" for b in find_bends(history, rows)
    ]
    golden(f"{sample}_work.json", {"work": changes, "bends": bends})
