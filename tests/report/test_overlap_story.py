"""Why a collective waits, told from what passes did to it; and what is waited for in all."""

import re

import msgspec
import pytest

from app.analysis.comparison_amounts import exposed_us, module_amounts, sum_collectives
from app.model.device import TargetDevice
from app.model.report import Collective, CollectiveEvent, Dump, Module, Report, Window
from app.report.collectives import CollectivesPlace, collectives_page
from app.report.collectives_drawing import drawn_kinds, schedule_view
from app.report.collectives_sums import exposed_text
from app.report.overlap_story import overlap_reasons, overlap_story
from app.report.program_facts import inferred_text, kind_text
from app.views.collectives_schedule import Schedule, ScheduledCollective
from app.views.window_bounds import Bound
from report import builders

PASSES = ("first", "async-collective-creator", "convert-async-collectives-to-sync")


def module(*, scheduled: bool = True, texts: int = 3) -> Module:
    dumps = tuple(
        Dump(index=n, file=f"m.{n:04}.p.after_{name}.before_z.txt", bytes=1, after=name)
        for n, name in enumerate(PASSES[:texts])
    )
    last = msgspec.structs.replace(dumps[-1], scheduled=scheduled)
    return Module(id="m", name="jit_step", dumps=(*dumps[:-1], last))


def collective(*events: CollectiveEvent, **more: object) -> Collective:
    made = CollectiveEvent(dump=0, pass_=None, kind="created", detail="there in the first text")
    one = Collective(
        module="m",
        dump=2,
        computation="main",
        instruction="all-gather-start",
        opcode="all-gather",
        bytes=4 << 20,
        history=(made, *events),
    )
    return msgspec.structs.replace(one, **more)


ASYNC = CollectiveEvent(dump=1, pass_="async-collective-creator", kind="made_async")
SYNC = CollectiveEvent(dump=2, pass_="convert-async-collectives-to-sync", kind="made_sync")
EMPTY = Window(start="all-gather-start", done="all-gather-done", instructions=0)
BUSY = Window(
    start="s", done="d", instructions=3, flops=9, hidden_us=2.0, exposed_us=6.0, device="H100"
)


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (
            collective(ASYNC, SYNC, window=EMPTY),
            "made asynchronous by 0001 async-collective-creator, synchronous again by 0002 "
            "convert-async-collectives-to-sync; nothing stands between its start and its done in "
            "the schedule",
        ),
        (
            collective(ASYNC, msgspec.structs.replace(SYNC, pass_=None)),
            "made asynchronous by 0001 async-collective-creator, synchronous again since 0002 "
            "convert-async-collectives-to-sync, after texts that are missing",
        ),
        (
            collective(ASYNC, is_async=True, window=BUSY),
            "",
        ),
        (
            collective(is_async=True, window=EMPTY),
            "nothing stands between its start and its done in the schedule",
        ),
        (collective(), "asynchronous in none of 3 texts"),
        # Not followed, as one of very many: nothing is said of its past.
        (collective(history=()), ""),
    ],
)
def test_it_is_told_from_its_history_and_its_window(one: Collective, told: str) -> None:
    assert overlap_story(module(), one) == told


def test_nothing_is_told_of_what_is_hidden_or_not_known() -> None:
    hidden = msgspec.structs.replace(BUSY, exposed_us=0.0)
    assert overlap_story(module(), collective(ASYNC, is_async=True, window=hidden)) == ""
    assert overlap_story(module(scheduled=False), collective(ASYNC, SYNC)) == ""
    assert overlap_story(module(texts=1), collective()) == ""


def test_what_many_rows_say_is_said_once_before_them() -> None:
    many = [collective(ASYNC, SYNC)] * 3 + [collective()]
    assert overlap_reasons(module(), many) == (
        f"3 synchronous: {overlap_story(module(), many[0])}",
    )
    assert overlap_reasons(module(), [collective()]) == (
        "1 synchronous: asynchronous in none of 3 texts",
    )


TIGHT = ScheduledCollective(
    index=0,
    start=3,
    end=5,
    lane=0,
    made_by=Bound(name="fusion.5", between=0),
    taken_by=Bound(name="dot<b>", between=0),
)
LOOSE = msgspec.structs.replace(
    TIGHT,
    made_by=Bound(name="fusion.5", between=1),
    taken_by=Bound(name="dot.2", between=2),
)


def test_what_is_partly_hidden_is_told_by_what_bounds_its_window() -> None:
    partly = collective(ASYNC, is_async=True, window=BUSY)
    assert overlap_story(module(), partly, TIGHT) == (
        "its start stands right behind fusion.5, which makes what it sends; dot<b> takes its "
        "result right behind its done"
    )
    assert overlap_story(module(), partly, LOOSE) == (
        "1 instruction between fusion.5, which makes what it sends, and its start; "
        "2 instructions between its done and dot.2, the first to take its result"
    )
    bare = msgspec.structs.replace(TIGHT, made_by=None, taken_by=None)
    assert overlap_story(module(), partly, bare) == ""
    empty = collective(ASYNC, is_async=True, window=EMPTY)
    assert overlap_story(module(), empty, TIGHT).startswith("nothing stands between")
    hidden = msgspec.structs.replace(BUSY, exposed_us=0.0)
    assert overlap_story(module(), collective(is_async=True, window=hidden), TIGHT) == ""


def test_bounds_that_many_share_are_told_once_without_names() -> None:
    partly = collective(ASYNC, is_async=True, window=BUSY)
    other = msgspec.structs.replace(TIGHT, made_by=Bound(name="fusion.9", between=0))
    assert overlap_reasons(module(), [partly] * 5, [TIGHT, other, LOOSE, LOOSE, None]) == (
        "2 partly hidden: its start stands right behind what makes its data; its result is taken "
        "right behind its done",
        "2 partly hidden: what it sends is there before its start; its done stands before its "
        "result is needed",
    )


def page_of(*collectives: Collective, **more: object) -> str:
    report = msgspec.structs.replace(
        builders.crash_report(), modules=(module(),), collectives=collectives, **more
    )
    return collectives_page(report, CollectivesPlace("/r/x", report.modules[0]), ())


def test_synchronous_ones_are_counted_apart_from_windows() -> None:
    page = page_of(
        collective(ASYNC, is_async=True, window=BUSY, executions=2),
        collective(ASYNC, SYNC, waited_us=10.0, executions=3),
    )
    facts = dict(zip(*[iter(_texts(page, "dt", "dd"))] * 2, strict=True))
    assert facts["Exposed in windows, once each"] == "6.0 µs"
    assert facts["Synchronous, once each"] == "10 µs"
    assert facts["Exposed in a run"] == "42 µs"
    assert facts["Times estimated for"] == "H100"
    assert 'data-value="6.0">6.0 µs<span class="pipeline">hidden 2.0 µs' in page
    assert 'data-value="10.0">10 µs<span class="pipeline">all of it' in page


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"executions": None}, "at least 10 µs"),
        ({"conditional": True, "executions": 3}, "at most 30 µs"),
        ({"conditional": True, "executions": None}, "about 10 µs"),
    ],
)
def test_of_a_run_it_is_said_how_far_it_is_known(change: dict[str, object], told: str) -> None:
    device = TargetDevice(name="H100", standing="assumed", origin="stand-in")
    environment = msgspec.structs.replace(builders.crash_report().environment, device=device)
    page = page_of(collective(waited_us=10.0, **change), environment=environment)
    assert f"{told}</dd>" in page
    assert "H100, assumed" in page


def test_a_computation_without_collectives_is_told_to_be_none() -> None:
    report: Report = msgspec.structs.replace(
        builders.crash_report(), modules=(module(),), collectives=(collective(),)
    )
    place = CollectivesPlace("/r/x", report.modules[0], computation="<b>no")
    schedule = Schedule(
        computation="main",
        loop=None,
        places=1,
        scheduled=True,
        lanes=1,
        windows=(),
        works=(),
        in_flight=(),
    )
    page = collectives_page(report, place, (schedule,))
    assert "No collective stands in a computation &lt;b&gt;no" in page


def _texts(page: str, *tags: str) -> list[str]:
    return re.findall(rf"<(?:{'|'.join(tags)})>([^<]*)</", page)


def test_a_comparison_tells_synchronous_time_apart_from_that_of_windows() -> None:
    one = msgspec.structs.replace(
        builders.crash_report(),
        modules=(module(),),
        collectives=(
            collective(ASYNC, is_async=True, window=BUSY),
            collective(ASYNC, SYNC, waited_us=10.0),
        ),
    )
    amounts = module_amounts(one, one, (one.modules[0], one.modules[0]))
    found = {amount.name: (amount.a, amount.unit) for amount in amounts}
    assert (found["exposed_us"], found["synchronous_us"]) == ((6, "us"), (10, "us"))


def test_a_report_that_knows_no_synchronous_time_is_not_held_against_one_that_does() -> None:
    new, old = (
        msgspec.structs.replace(
            builders.crash_report(), modules=(module(),), collectives=(collective(waited_us=time),)
        )
        for time in (10.0, None)
    )
    amounts = module_amounts(old, new, (old.modules[0], new.modules[0]))
    assert "synchronous_us" not in {amount.name for amount in amounts}
    (both,) = sum_collectives(old.collectives, new.collectives, ())
    assert (both.exposed_us_a, both.exposed_us_b) == (None, None)


def test_what_is_waited_for_is_no_less_where_a_collective_turns_synchronous() -> None:
    window = collective(ASYNC, is_async=True, window=BUSY)
    assert exposed_us((window, collective(ASYNC, SYNC, waited_us=10.0))) == 16
    again = collective(ASYNC, is_async=True, window=BUSY, opcode="all-gather")
    assert exposed_us((window, again)) == 6


def test_a_window_of_several_collectives_counts_once() -> None:
    several = [
        collective(ASYNC, is_async=True, window=BUSY, opcode=opcode)
        for opcode in ("all-gather", "all-reduce")
    ]
    assert exposed_text(several, of_async=True) == "6.0 µs"
    waited = [collective(waited_us=10.0, opcode=each.opcode) for each in several]
    assert exposed_text(waited, of_async=False) == "20 µs"


def test_the_legend_names_what_is_drawn() -> None:
    waits = Window(start="s", done="d", instructions=3, hidden_us=2.0, exposed_us=6.0)
    report = msgspec.structs.replace(
        builders.crash_report(),
        collectives=(collective(is_async=True, window=waits), collective(waited_us=1.0)),
    )

    def legend(*indices: int, scheduled: bool = True) -> list[str]:
        windows = tuple(ScheduledCollective(index=n, start=n, end=n + 1, lane=0) for n in indices)
        schedule = Schedule(
            computation="main",
            loop=None,
            places=9,
            scheduled=scheduled,
            lanes=1,
            windows=windows,
            works=(),
            in_flight=(),
        )
        return [words for _, words in drawn_kinds([schedule_view(report, schedule, 0, {}, {})])]

    assert legend(0) == ["behind computation", "waited for"]
    assert legend(1) == ["synchronous"]
    assert legend(1, scheduled=False) == ["no schedule known"]
    assert legend() == []


def test_what_is_inferred_of_a_fusion_is_said_with_its_reason() -> None:
    printed = collective()
    inferred = collective(
        instruction="fusion.7", opcode="reduce-scatter", fused="scatter.clone", printed="all-reduce"
    )
    assert inferred_text([printed]) == ""
    told = inferred_text([printed, inferred])
    assert told.startswith("Inferred: 1 reduce-scatter. The text prints an all-reduce")
    assert "fusion.7 calls scatter.clone" in told
    assert kind_text(inferred) == "reduce-scatter (inferred)"
    page = page_of(printed, inferred)
    assert "reduce-scatter (inferred)" in page
    assert "Inferred: 1 reduce-scatter." in page
