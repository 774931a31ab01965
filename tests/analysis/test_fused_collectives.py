"""Collectives inside fusions stand where the fusion does; a scattered all-reduce is told so."""

import pytest

from analysis.histories import history_of
from analysis.tpu_texts import SCATTERED, WHOLE_BEFORE
from app.analysis.collectives import find_collectives
from app.analysis.fused_collectives import find_fused
from app.analysis.history import describe_dumps
from app.analysis.loop_history import follow_loops
from app.analysis.summaries import summarize_loops
from app.model.report import Collective
from app.views.collectives_schedule import schedules_of
from hlo_parser import Module, parse_module


def collectives_of(*texts: str) -> tuple[Collective, ...]:
    history = history_of(*texts)
    return find_collectives(history, follow_loops(history), backend="TPU")


def test_a_scattered_all_reduce_is_the_reduce_scatter_that_it_is_run_as() -> None:
    (found,) = collectives_of(SCATTERED)
    assert (found.computation, found.instruction) == ("body", "scatter")
    assert (found.opcode, found.printed) == ("reduce-scatter", "all-reduce")
    assert found.fused == "all-reduce-scatter.1.clone"
    # 8 x 64 x 64 float32, padded to 8 x 72 rows, of which 7/8 are sent once.
    assert found.bytes == 8 * 72 * 64 * 4 * 7 // 8
    assert found.executions == 4
    assert found.waited_us is not None
    assert found.source is not None
    assert (found.source.file, found.source.line) == ("t.py", 9)


def test_counts_and_sums_are_those_of_a_reduce_scatter() -> None:
    history = history_of(SCATTERED)
    (row,) = describe_dumps(history)
    sent = 8 * 72 * 64 * 4 * 7 // 8
    assert row.counts == {"fusion": 1, "reduce-scatter": 1, "while": 1}
    assert row.collective_bytes == {"reduce-scatter": 4 * sent}
    loops = follow_loops(history)
    (loop,) = summarize_loops(history, loops, find_collectives(history, loops))
    assert (loop.collectives, loop.collective_bytes) == ({"reduce-scatter": 1}, sent)


def test_it_is_drawn_at_the_place_of_the_fusion() -> None:
    history = history_of(SCATTERED)
    (schedule,) = schedules_of(history.last.module, collectives_of(SCATTERED), history.id)
    assert schedule.computation == "body"
    (window,) = schedule.windows
    # Behind negate, before the addition of the counter.
    assert (window.start, window.end) == (1, 1)
    assert "scatter" not in [work.name for work in schedule.works]


def test_its_history_begins_with_the_all_reduce_on_the_same_operand() -> None:
    (found,) = collectives_of(WHOLE_BEFORE, SCATTERED)
    assert [(event.kind, event.detail) for event in found.history[1:]] == [
        ("became", "all-reduce -> reduce-scatter")
    ]
    assert found.history[0].dump == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # All devices keep the same part.
        ("dynamic-slice(%whole, %offset, %zero)", "dynamic-slice(%whole, %zero, %zero)"),
        # Two devices of eight keep the same half.
        ("[72,64]{1,0} dynamic-slice", "[288,64]{1,0} dynamic-slice"),
        # The whole sum leaves the fusion too.
        ("dynamic-slice(%whole, %offset, %zero)", "dynamic-slice(%other, %offset, %zero)"),
    ],
)
def test_what_keeps_no_part_of_its_own_stays_an_all_reduce(old: str, new: str) -> None:
    text = SCATTERED.replace("all-reduce-scatter.1.clone", "fused.1").replace(
        "  %own = ", "  %other = f32[576,64]{1,0} negate(%whole)\n  %own = "
    )
    assert old in text
    (found,) = collectives_of(text.replace(old, new))
    assert (found.instruction, found.opcode, found.printed) == ("scatter", "all-reduce", None)
    assert found.bytes == 2 * (8 * 72 * 64 * 4) * 7 // 8


def test_outside_of_fusions_the_text_is_taken_at_its_word() -> None:
    (found,) = collectives_of(WHOLE_BEFORE)
    assert (found.instruction, found.opcode, found.fused) == ("all", "all-reduce", None)


def test_any_collective_of_a_fusion_stands_where_its_outermost_fusion_does() -> None:
    text = SCATTERED.replace("calls=%all-reduce-scatter.1.clone", "calls=%outer").replace(
        "%body (",
        "%outer (o: f32[512,64]) -> f32[72,64] {\n"
        "  %o = f32[512,64]{1,0} parameter(0)\n"
        "  ROOT %in = f32[72,64]{1,0} fusion(%o), kind=kCustom, calls=%all-reduce-scatter.1.clone\n"
        "}\n\n%body (",
        1,
    )
    (found,) = collectives_of(text)
    assert (found.computation, found.instruction) == ("body", "scatter")
    assert (found.opcode, found.fused) == ("reduce-scatter", "all-reduce-scatter.1.clone")


def test_an_asynchronous_start_runs_what_its_fusion_holds() -> None:
    text = SCATTERED.replace(
        "%scatter = f32[72,64]{1,0} fusion(%busy), kind=kCustom, calls=%all-reduce-scatter.1.clone",
        "%start = ((f32[512,64]{1,0}), f32[72,64]{1,0}, u32[]) async-start(%busy), calls=%wrapped\n"
        "  %scatter = f32[72,64]{1,0} async-done(%start)",
    ).replace(
        "%body (",
        "%wrapped (o: f32[512,64]) -> f32[72,64] {\n"
        "  %o = f32[512,64]{1,0} parameter(0)\n"
        "  ROOT %in = f32[72,64]{1,0} fusion(%o), kind=kCustom, calls=%all-reduce-scatter.1.clone\n"
        "}\n\n%body (",
        1,
    )
    (found,) = collectives_of(text)
    assert (found.instruction, found.opcode, found.is_async) == ("start", "reduce-scatter", True)


def test_of_a_tuple_the_one_on_the_same_element_is_followed() -> None:
    both = "%both = (f32[512,64]{1,0}, f32[512,64]{1,0}) custom-call(%x)\n  "
    other = (
        "%first = f32[512,64]{1,0} all-reduce(%both#0), channel_id=5, replica_groups={}, "
        'to_apply=%add, metadata={op_name="jit(f)/other" source_file="t.py" source_line=7}\n  '
    )
    before = WHOLE_BEFORE.replace("%all =", f"{both}{other}%all =").replace(
        "all-reduce(%busy)", "all-reduce(%both#1)"
    )
    after = SCATTERED.replace("%scatter =", f"{both}{other}%scatter =").replace(
        "fusion(%busy)", "fusion(%both#1)"
    )
    found = next(item for item in collectives_of(before, after) if item.fused)
    assert "t.py:9" in found.history[0].detail
    assert [event.kind for event in found.history] == ["created", "became"]


def _fused(fusions: int, *, nested: int = 0, called: bool = False, lines: int = 1) -> Module:
    """A computation with collectives, in so many fusions, each in `nested` further ones."""
    reduces = "".join(
        f"  r.{n} = f32[8]{{0}} all-reduce(q), replica_groups={{{{0,1}}}}, to_apply=add\n"
        for n in range(lines)
    )
    text = "HloModule m, is_scheduled=true\n\n"
    text += "add {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
    text += "  ROOT z = f32[] add(x, y)\n}\n\n"
    text += f"inner.0 {{\n  q = f32[8]{{0}} parameter(0)\n{reduces}"
    text += "  ROOT n = f32[8]{0} negate(q)\n}\n\n"
    for depth in range(nested):
        text += (
            f"inner.{depth + 1} {{\n  q = f32[8]{{0}} parameter(0)\n"
            f"  ROOT f = f32[8]{{0}} fusion(q), kind=kLoop, calls=inner.{depth}\n}}\n\n"
        )
    text += "ENTRY e {\n  p = f32[8]{0} parameter(0)\n"
    for number in range(fusions):
        text += f"  f.{number} = f32[8]{{0}} fusion(p), kind=kLoop, calls=inner.{nested}\n"
    text += "  c = f32[8]{0} call(p), to_apply=inner.0\n" if called else ""
    return parse_module(text + "  ROOT last = f32[8]{0} negate(p)\n}\n\n")


def test_nothing_is_lost_where_others_call_a_fused_computation_too() -> None:
    alone = find_fused(_fused(2, nested=1))
    assert sorted(alone.inside) == [("e", "f.0"), ("e", "f.1")]
    assert alone.placed == {"inner.0"}
    both = find_fused(_fused(2, called=True))
    assert (sorted(both.inside), both.placed) == ([("e", "f.0"), ("e", "f.1")], frozenset())


@pytest.mark.parametrize("odd", [_fused(2_000, lines=500), _fused(1, nested=500)])
def test_collectives_of_very_many_fusions_stay_where_they_are_written(odd: Module) -> None:
    assert find_fused(odd) == ({}, frozenset())


def test_fusions_in_a_circle_lose_nothing() -> None:
    text = """HloModule m

a {
  p = f32[8]{0} parameter(0)
  r = f32[8]{0} all-reduce(p), replica_groups={{0,1}}, to_apply=b
  ROOT f = f32[8]{0} fusion(r), kind=kLoop, calls=b
}

b {
  p = f32[8]{0} parameter(0)
  ROOT f = f32[8]{0} fusion(p), kind=kLoop, calls=a
}

"""
    assert find_fused(parse_module(text)).placed == frozenset()


def test_what_an_all_reduce_comes_to_is_asked_anew_of_each_text() -> None:
    alone = SCATTERED.replace("fusion(", "call(").replace("calls=%all", "to_apply=%all")
    alone = alone.replace(", kind=kCustom", "")
    first, _, third = describe_dumps(history_of(SCATTERED, alone, SCATTERED))
    assert first.counts == third.counts
    assert "reduce-scatter" in first.counts
