"""Differences around events, in the file that holds no texts of passes."""

import msgspec

from app.analysis.diff import diff_modules
from app.report.event_diffs import MAX_EVENT_DIFFS, EventDiff, event_diff_views, event_dumps
from app.report.forms import in_form
from app.views.pass_diff import diff_view
from hlo_parser import parse_module
from report import builders

BEFORE = "HloModule m\n\nENTRY %e (p: f32[8]) -> f32[8] {\n  ROOT %p = f32[8]{0} parameter(0)\n}\n"
AFTER = BEFORE.replace("ROOT %p", "%p").replace(
    "\n}\n", '\n  ROOT %bad = f32[8]{0} negate(%p), metadata={op_name="</pre><script>x"}\n}\n'
)


def edits(module: str, dump: int) -> EventDiff:
    before, after = parse_module(BEFORE), parse_module(AFTER)
    return EventDiff(module, dump, diff_view(before, after, diff_modules(before, after)))


def test_texts_after_which_a_loop_is_another_one_are_named_in_order() -> None:
    report = builders.crash_report()
    first, *others = report.loops
    event = next(event for event in first.events if event.dump > 0)
    peeled = msgspec.structs.replace(event, kind="peeled")
    renamed = msgspec.structs.replace(event, kind="renamed", dump=event.dump + 1)
    loop = msgspec.structs.replace(first, events=(peeled, renamed))
    changed = msgspec.structs.replace(report, loops=(loop, *others), failure=None)
    assert event_dumps(changed) == ((first.module, event.dump),)


def test_the_last_text_of_a_failed_compile_that_changed_is_named() -> None:
    report = builders.crash_report()
    module = report.modules[0]
    last = max(n for n, dump in enumerate(module.dumps) if n and dump.changed)
    assert (module.id, last) in event_dumps(report)


def test_no_more_are_named_than_a_file_should_hold() -> None:
    assert len(event_dumps(builders.huge_report(60))) <= MAX_EVENT_DIFFS
    assert event_dumps(builders.log_only_report()) == ()


def test_the_offline_file_holds_them_line_by_line() -> None:
    report = builders.crash_report()
    module, dump = event_dumps(report)[0]
    found = edits(module, dump)
    (view,) = event_diff_views(report, [found])
    page, _ = in_form(report, "html", diffs=[found])
    assert page.count("event-diff") == 1
    assert any("%bad" in line for line in view.lines)
    shown = page.split('class="event-diff"')[1].split("</details>")[0]
    assert len(shown.splitlines()) > len(view.lines)
    assert "<script>" not in shown
    assert "event-diff" not in in_form(report, "html")[0]
