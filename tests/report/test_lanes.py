"""Loops as lanes: where bars begin and end, what marks say, how loops nest."""

import msgspec

from app.model.report import Dump
from app.report.lanes import lanes_view, nested_order
from app.report.loops import loop_views
from app.report.passes import tick_word
from report import builders


def test_bars_run_from_the_first_text_to_the_last_in_percent() -> None:
    report = builders.crash_report()
    module = report.modules[0]
    lanes = lanes_view(module, "m", report.loops, {})
    last = len(module.dumps) - 1
    ordered = [loop for loop, _ in nested_order(report.loops)]
    for lane, loop in zip(lanes.lanes, ordered, strict=True):
        assert lane.name == loop.name
        assert abs(lane.start - 100 * loop.first_dump / last) < 0.1
        assert 0 <= lane.start <= lane.start + lane.width <= 100.5
        assert lane.ends_early == (loop.last_dump < last)
        assert [mark.at for mark in lane.marks] == sorted(mark.at for mark in lane.marks)
        assert lane.told.startswith(f"{loop.name} from ")


def test_marks_say_what_passes_did_and_lead_to_them() -> None:
    report = builders.crash_report()
    module = report.modules[0]
    lanes = lanes_view(module, "m", report.loops, {}, pass_href=lambda dump: f"/diff/{dump}")
    marks = [mark for lane in lanes.lanes for mark in lane.marks]
    events = [event for loop in report.loops for event in loop.events]
    assert sum(mark.title.count("\n") for mark in marks) == len(events)
    assert {mark.href for mark in marks} == {
        f"/diff/{event.dump}" if event.dump else "" for event in events
    }


def test_more_loops_than_are_drawn_are_counted() -> None:
    report = builders.crash_report()
    lanes = lanes_view(report.modules[0], "m", report.loops, {}, most=1)
    assert len(lanes.lanes) == 1
    assert lanes.note == f"{len(report.loops) - 1} loops more not drawn."


def test_rows_of_several_modules_name_theirs() -> None:
    report = builders.crash_report()
    assert {row.module for row in loop_views(report, comparable=False).first} == {""}
    other = builders.small_module(7, "jit_other")
    loop = msgspec.structs.replace(report.loops[0], id="other/while.1", module=other.id)
    several = msgspec.structs.replace(
        report, modules=(*report.modules, other), loops=(*report.loops, loop)
    )
    named = {row.module for row in loop_views(several, comparable=False).first}
    assert named == {report.modules[0].name, "jit_other"}


def test_the_ends_of_an_axis_are_named_where_texts_have_no_number() -> None:
    files = ("m.before_optimizations.txt", "m.0003.p.after_x.before_y.txt", "m.z.txt", "m.z.txt")
    dumps = [Dump(index=n, file=file, bytes=1) for n, file in enumerate(files)]
    assert [tick_word(dumps, n) for n in range(4)] == ["start", "0003", "", "end"]
