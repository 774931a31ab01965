"""What the elements of a carried tuple are for: small bodies written by hand, one thing each."""

import pytest

from analysis.histories import history_of
from analysis.test_real_dumps import user_module
from app.analysis.carry import describe_carry
from app.analysis.collectives import find_collectives
from app.analysis.loop_history import follow_loops
from app.analysis.loops import find_loops
from app.analysis.summaries import summarize_loops
from app.model.report import CarriedElement
from conftest import Golden
from hlo_parser import Module, parse_module

CARRY = "(s32[], f32[8], f32[8], f32[4,8], f32[4,8])"
GROUPS = "channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true"

ADD = """add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
"""


def loop_module(
    *work: str, out: str = "next, x, w, xs, ys", more: str = "", carry: str = CARRY
) -> Module:
    """A loop of four trips; its body reads i, x, w, xs, ys and hands on `out`."""
    shapes = carry.strip("()").split(", ")
    reads = [
        f"{name} = {shape} get-tuple-element(p), index={index}"
        for index, (name, shape) in enumerate(zip(("i", "x", "w", "xs", "ys"), shapes, strict=True))
    ]
    lines = "\n  ".join([*reads, *work])
    return parse_module(f"""HloModule m, num_partitions=2

{ADD}
{more}
body {{
  p = {carry} parameter(0)
  one = s32[] constant(1)
  zero = s32[] constant(0)
  {lines}
  next = s32[] add(i, one)
  ROOT t = {carry} tuple({out})
}}

condition {{
  p = {carry} parameter(0)
  i = s32[] get-tuple-element(p), index=0
  bound = s32[] constant(4)
  ROOT less = pred[] compare(i, bound), direction=LT
}}

ENTRY main {{
  start = s32[] constant(0)
  x = {shapes[1]} parameter(0)
  w = {shapes[2]} parameter(1)
  xs = {shapes[3]} parameter(2)
  ys = {shapes[4]} parameter(3)
  init = {carry} tuple(start, x, w, xs, ys)
  ROOT loop = {carry} while(init), condition=condition, body=body
}}
""")


def carried(module: Module) -> tuple[CarriedElement, ...]:
    (loop,) = find_loops(module)
    return describe_carry(module, loop)


def kinds(module: Module) -> list[str]:
    return [element.kind for element in carried(module)]


def test_a_counter_and_what_stays() -> None:
    elements = carried(loop_module())
    assert [e.kind for e in elements] == ["counter"] + ["invariant"] * 4
    assert elements[0] == CarriedElement(
        index=0,
        kind="counter",
        shape="s32[]",
        bytes=4,
        instruction="next",
        how="every iteration adds a constant to it",
    )
    assert (elements[3].shape, elements[3].bytes, elements[3].instruction) == (
        "f32[4,8]",
        128,
        None,
    )


def test_what_stays_may_be_copied() -> None:
    module = loop_module("c = f32[8] copy(w)", out="next, x, c, xs, ys")
    assert kinds(module)[2] == "invariant"


def test_what_is_converted_there_and_back_does_not_stay() -> None:
    module = loop_module(
        "h = bf16[8] convert(w)", "c = f32[8] convert(h)", out="next, x, c, xs, ys"
    )
    assert kinds(module)[2] != "invariant"


SUM = "g = f32[8] multiply(w, w)", "s = f32[8] add(x, g)"


def test_a_total() -> None:
    element = carried(loop_module(*SUM, out="next, s, w, xs, ys"))[1]
    assert (element.kind, element.instruction) == ("accumulator", "s")


@pytest.mark.parametrize("opcode", ["maximum", "multiply", "subtract"])
def test_totals_of_other_operations(opcode: str) -> None:
    module = loop_module(f"s = f32[8] {opcode}(x, w)", out="next, s, w, xs, ys")
    assert kinds(module)[1] == "accumulator"


def test_a_total_of_two_steps_is_one() -> None:
    module = loop_module(*SUM, "s2 = f32[8] add(w, s)", out="next, s2, w, xs, ys")
    assert kinds(module)[1] == "accumulator"


def test_a_total_kept_in_another_type_while_adding() -> None:
    carry = "(s32[], bf16[8], f32[8], f32[4,8], f32[4,8])"
    module = loop_module(
        "wide = f32[8] convert(x)",
        "s = f32[8] add(wide, w)",
        "narrow = bf16[8] convert(s)",
        out="next, narrow, w, xs, ys",
        carry=carry,
    )
    assert kinds(module)[1] == "accumulator"


@pytest.mark.parametrize(
    "work",
    [
        # A residual stream: the part depends on what it is added to.
        ("f = f32[8] tanh(x)", "s = f32[8] add(x, f)"),
        ("s = f32[8] add(x, x)",),
        ("s = f32[8] subtract(w, x)",),
        ("s = f32[8] divide(x, w)",),
    ],
)
def test_no_total(work: tuple[str, ...]) -> None:
    element = carried(loop_module(*work, out="next, s, w, xs, ys"))[1]
    assert element.kind == "other"
    assert element.instruction == "s"
    assert "may depend on its former value" in element.how


def test_a_value_made_anew() -> None:
    element = carried(loop_module("s = f32[8] tanh(w)", out="next, s, w, xs, ys"))[1]
    assert (element.kind, element.how) == ("other", "made anew by s in every iteration")


def test_a_total_inside_a_fusion_whose_other_part_is_of_the_fusion_too() -> None:
    fused = """fused {
  acc = f32[8] parameter(0)
  v = f32[8] parameter(1)
  n = f32[8] negate(v)
  ROOT s = f32[8] add(n, acc)
}
"""
    module = loop_module(
        "f = f32[8] fusion(x, w), kind=kLoop, calls=fused", out="next, f, w, xs, ys", more=fused
    )
    element = carried(module)[1]
    assert (element.kind, element.instruction) == ("accumulator", "f")
    same = loop_module(
        "f = f32[8] fusion(x, x), kind=kLoop, calls=fused", out="next, f, w, xs, ys", more=fused
    )
    assert kinds(same)[1] == "other"


READ = "row = f32[1,8] dynamic-slice(xs, i, zero), dynamic_slice_sizes={1,8}"


def test_an_array_read_one_row_an_iteration() -> None:
    element = carried(loop_module(READ))[3]
    assert (element.kind, element.slices, element.instruction) == ("stacked_input", 4, "row")


def test_the_counter_may_run_backwards_and_wrap_around() -> None:
    module = loop_module(
        "three = s32[] constant(3)",
        "back = s32[] subtract(three, i)",
        "low = pred[] compare(back, zero), direction=LT",
        "up = s32[] add(back, three)",
        "at = s32[] select(low, up, back)",
        "row = f32[1,8] dynamic-slice(xs, at, zero), dynamic_slice_sizes={1,8}",
    )
    assert kinds(module)[3] == "stacked_input"


@pytest.mark.parametrize(
    "at",
    [
        # Always the same row.
        "one",
        # Looked up in an array: the place is data.
        "looked",
        # Depends on what the loop computes.
        "found",
    ],
)
def test_an_array_read_elsewhere_is_no_stack(at: str) -> None:
    module = loop_module(
        "cell = f32[1,1] dynamic-slice(ys, i, zero), dynamic_slice_sizes={1,1}",
        "scalar = f32[] reshape(cell)",
        "looked = s32[] convert(scalar)",
        "h = f32[8] tanh(x)",
        "first = f32[1] slice(x), slice={[0:1]}",
        "first_scalar = f32[] reshape(first)",
        "found = s32[] convert(first_scalar)",
        f"row = f32[1,8] dynamic-slice(xs, {at}, zero), dynamic_slice_sizes={{1,8}}",
        out="next, h, w, xs, ys",
    )
    assert kinds(module)[3] == "invariant"


WRITE = (
    "r = f32[1,8] reshape(w)",
    "u = f32[4,8] dynamic-update-slice(ys, r, i, zero)",
)


def test_an_array_written_one_row_an_iteration() -> None:
    element = carried(loop_module(*WRITE, out="next, x, w, xs, u"))[4]
    assert (element.kind, element.slices, element.instruction) == ("stacked_output", 4, "u")


def test_a_doubled_body_writes_two_rows() -> None:
    module = loop_module(
        *WRITE,
        "second = s32[] add(i, one)",
        "u2 = f32[4,8] dynamic-update-slice(u, r, second, zero)",
        out="next, x, w, xs, u2",
    )
    assert kinds(module)[4] == "stacked_output"


def test_writing_into_another_array_is_no_stack() -> None:
    module = loop_module(
        "r = f32[1,8] reshape(w)",
        "u = f32[4,8] dynamic-update-slice(xs, r, i, zero)",
        out="next, x, w, xs, u",
    )
    assert kinds(module)[4] == "other"


FUSED_UPDATE = """update {
  whole = f32[4,8] parameter(0)
  row = f32[8] parameter(1)
  at = s32[] parameter(2)
  zero = s32[] constant(0)
  r = f32[1,8] reshape(row)
  u = f32[4,8] dynamic-update-slice(whole, r, at, zero)
  ROOT both = (f32[4,8], f32[8]) tuple(u, row)
}
"""


def test_stacks_are_found_through_fusions_of_several_results() -> None:
    module = loop_module(
        "f = (f32[4,8], f32[8]) fusion(ys, w, i), kind=kLoop, calls=update",
        "u = f32[4,8] get-tuple-element(f), index=0",
        out="next, x, w, xs, u",
        more=FUSED_UPDATE,
    )
    element = carried(module)[4]
    assert (element.kind, element.slices, element.instruction) == ("stacked_output", 4, "f")


def test_operands_may_hide_the_tuple_access() -> None:
    module = parse_module(f"""HloModule m

{FUSED_UPDATE}
body {{
  p = (s32[], f32[8], f32[4,8]) parameter(0)
  one = s32[] constant(1)
  next = s32[] add(p#0, one)
  f = (f32[4,8], f32[8]) fusion(p#2, p#1, p#0), kind=kLoop, calls=update
  ROOT t = (s32[], f32[8], f32[4,8]) tuple(next, p#1, f#0)
}}

condition {{
  p = (s32[], f32[8], f32[4,8]) parameter(0)
  bound = s32[] constant(4)
  ROOT less = pred[] compare(p#0, bound), direction=LT
}}

ENTRY main {{
  init = (s32[], f32[8], f32[4,8]) parameter(0)
  ROOT loop = (s32[], f32[8], f32[4,8]) while(init), condition=condition, body=body
}}
""")
    assert kinds(module) == ["counter", "invariant", "stacked_output"]


def test_elements_that_swap_places() -> None:
    element = carried(loop_module(out="next, w, x, xs, ys"))[1]
    assert (element.kind, element.how) == ("double_buffer", "takes over element 2")


PERMUTED = (
    "s = (f32[8], f32[8]) collective-permute-start(x), source_target_pairs={{0,1},{1,0}}",
    "d = f32[8] collective-permute-done(s)",
)


def test_a_value_that_goes_round_in_a_ring() -> None:
    element = carried(loop_module(*PERMUTED, out="next, d, w, xs, ys"))[1]
    assert (element.kind, element.instruction) == ("double_buffer", "d")


def test_a_value_gathered_for_the_next_iteration() -> None:
    module = loop_module(
        "half = f32[4] slice(w), slice={[0:4]}",
        f"g = f32[8] all-gather(half), {GROUPS}, dimensions={{0}}",
        "use = f32[8] tanh(x)",
        out="next, g, w, xs, ys",
    )
    assert kinds(module)[1] == "double_buffer"


def test_a_value_left_for_a_collective_of_the_next_iteration() -> None:
    module = loop_module(
        "b = f32[8] bitcast(x)",
        f"r = f32[4] reduce-scatter(b), {GROUPS}, dimensions={{0}}, to_apply=add",
        "part = f32[8] multiply(w, w)",
        out="next, part, w, xs, ys",
    )
    element = carried(module)[1]
    assert (element.kind, element.instruction) == ("double_buffer", "r")


def test_a_value_that_others_read_too_is_not_left_for_the_collective() -> None:
    module = loop_module(
        f"r = f32[4] reduce-scatter(x), {GROUPS}, dimensions={{0}}, to_apply=add",
        "n = f32[8] negate(x)",
        "part = f32[8] multiply(w, w)",
        out="next, part, w, xs, ys",
    )
    assert kinds(module)[1] == "other"


def test_an_all_reduce_result_is_no_prefetched_value() -> None:
    module = loop_module(
        "h = f32[8] tanh(x)",
        f"r = f32[8] all-reduce(h), {GROUPS}, to_apply=add",
        out="next, r, w, xs, ys",
    )
    assert kinds(module)[1] == "other"


def test_the_number_of_the_last_iteration_follows_the_counter() -> None:
    carry = "(s32[], s32[], f32[8], f32[4,8], f32[4,8])"
    module = loop_module(
        "row = f32[1,8] dynamic-slice(xs, x, zero), dynamic_slice_sizes={1,8}",
        out="next, i, w, xs, ys",
        carry=carry,
    )
    elements = carried(module)
    assert [e.kind for e in elements] == [
        "counter", "counter", "invariant", "stacked_input", "invariant",
    ]  # fmt: skip
    assert elements[1].how == "computed from the counter in every iteration"


def test_a_loop_over_one_value_that_is_no_tuple() -> None:
    module = parse_module("""HloModule m

body {
  p = f32[8] parameter(0)
  ROOT t = f32[8] tanh(p)
}

condition {
  p = f32[8] parameter(0)
  ROOT c = pred[] constant(false)
}

ENTRY main {
  x = f32[8] parameter(0)
  ROOT loop = f32[8] while(x), condition=condition, body=body
}
""")
    (element,) = carried(module)
    assert (element.kind, element.instruction) == ("other", "t")


def test_sizes_beyond_all_memory_still_fit_into_json() -> None:
    huge = "f32[999999999,999999999,999999999]"
    carry = f"(s32[], f32[8], {huge}, f32[4,8], f32[4,8])"
    assert carried(loop_module(carry=carry))[2].bytes == (1 << 63) - 1


def test_collective_bytes_of_a_loop_are_those_of_one_iteration() -> None:
    module_text = loop_module(*PERMUTED, out="next, d, w, xs, ys")
    history = history_of("\n\n".join([HEADER, *(c.text for c in module_text.computations)]))
    loops = follow_loops(history)
    (loop,) = summarize_loops(history, loops, find_collectives(history, loops))
    assert loop.collective_bytes == 32
    assert [element.kind for element in loop.carry][:2] == ["counter", "double_buffer"]


HEADER = "HloModule m, num_partitions=2"


@pytest.mark.parametrize("sample", ["fsdp_pipelined", "ring_local_p2p", "pipeliner_crash"])
def test_carried_tuples_of_real_dumps(sample: str, golden: Golden) -> None:
    history = user_module(sample)
    loops = follow_loops(history)
    rows: list[str] = []
    for loop in summarize_loops(history, loops, find_collectives(history, loops)):
        sent = "unknown" if loop.collective_bytes is None else f"{loop.collective_bytes} bytes sent"
        rows.append(f"{loop.id} {loop.name}, trips {loop.trip_count}, {sent}")
        for e in loop.carry:
            place = f"{e.source.file.rpartition('/')[2]}:{e.source.line}" if e.source else "-"
            slices = f" of {e.slices}" if e.slices is not None else ""
            rows.append(f"  {e.index} {e.kind}{slices} {e.shape} {e.instruction or '-'} {place}")
    golden(f"{sample}_carry.txt", "\n".join(rows))
