"""The page of passes, of which nothing is left out without a word."""

import json
import re

import msgspec

from app.model.report import LoopEvent
from app.report.passes_page import PassesPlace, passes_page
from app.report.wording import change_text
from report import builders


def test_events_that_are_not_listed_are_counted() -> None:
    report = builders.crash_report()
    loop = report.loops[0]
    module = next(each for each in report.modules if each.id == loop.module)
    at = len(module.dumps) - 1
    events = tuple(LoopEvent(dump=at, kind="peeled", detail=f"way {n}") for n in range(33))
    loop = msgspec.structs.replace(loop, events=events)
    report = msgspec.structs.replace(report, loops=(loop,))
    page = passes_page(report, PassesPlace("/r/x", module, at))
    assert page.count("peeled <code>") == 20
    assert page.count("<li>and 13 more</li>") == 1
    assert page.count('<li class="detail">and 13 more</li>') == 1
    found = re.search(r'id="report-data">(.*?)</script>', page, re.S)
    assert found is not None
    told = json.loads(found[1])["passes"]["list"][at]["events"]
    assert (len(told), told[-1]) == (21, "and 13 more")


def test_changes_have_signs() -> None:
    assert [change_text(n) for n in (0, 12, -3_000)] == ["", "+12", "\u22123,000"]
