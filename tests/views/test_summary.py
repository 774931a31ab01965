"""The card of a report."""

import msgspec

from app.model.report import Coverage, Input, Report, Skipped, Tool
from app.views.summary import SummaryCard, TopFinding, summary_card
from views.reports import LINE, REPORT


def test_card() -> None:
    assert summary_card(REPORT) == SummaryCard(
        name="dump.tar.gz",
        bytes=1234,
        severity="error",
        counts={"error": 1, "warning": 0, "note": 1},
        ruled_out=1,
        top=TopFinding(
            rule="PIP001",
            severity="error",
            confidence="likely",
            title="a title",
            instruction="all-gather.3",
            source=LINE,
        ),
        failure="Check failed: x",
        failing_pass="pipeliner",
        backend="GPU",
        releases=("0.4.30", "0.4.33"),
        num_partitions=8,
        module="jit_step",
        modules=2,
        passes=10,
        loops=3,
        collectives=0,
        unread=5,
    )


def test_nothing_found() -> None:
    report = Report(tool=Tool(name="hloscope", version="0"), input=Input(name="x", bytes=0))
    card = summary_card(report)
    assert (card.severity, card.top, card.failure, card.module, card.passes) == (
        None, None, None, None, 0,
    )  # fmt: skip


def test_only_ruled_out() -> None:
    card = summary_card(msgspec.structs.replace(REPORT, findings=REPORT.findings[1:2]))
    assert (card.severity, card.top, card.ruled_out) == (None, None, 1)


def test_an_archive_that_breaks_off_says_so() -> None:
    assert not summary_card(REPORT).breaks_off
    cut = Coverage(skipped=(Skipped(name="dump.tar", code="truncated", reason="it breaks off"),))
    assert summary_card(msgspec.structs.replace(REPORT, coverage=cut)).breaks_off
