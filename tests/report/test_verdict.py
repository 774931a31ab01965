"""The verdict's facts: what is said first of a program and of the input, and what is not."""

import re

import msgspec
import pytest

from app.model.report import Coverage, Report, RuledOut, Skipped, Workaround
from app.report.collectives_drawing import overlap_kind
from app.report.html import report_page
from app.report.loops import collective_views
from app.report.program_sums import overlap_text
from app.report.verdict import (
    FIRST_STEP,
    TRY,
    main_module,
    quiet_labels,
    ranked_findings,
    verdict_of,
)
from report import builders


def scheduled(report: Report, *, is_so: bool) -> Report:
    """The report with all last texts a schedule, or none."""
    modules = tuple(
        msgspec.structs.replace(
            module,
            dumps=(
                *module.dumps[:-1],
                msgspec.structs.replace(module.dumps[-1], scheduled=is_so),
            ),
        )
        for module in report.modules
    )
    return msgspec.structs.replace(report, modules=modules)


def first_screen(report: Report) -> tuple[list[str], list[str], list[str]]:
    """The labels of the facts, of what to do, and of the small print."""
    page = report_page(report)
    parts = [re.search(f'<dl class="{name}">(.*?)</dl>', page, re.DOTALL) for name in _LISTS]
    facts, what_next, quiet = (
        re.findall(r"<dt>([^<]*)", part[1]) if part is not None else [] for part in parts
    )
    return facts, what_next, quiet


_LISTS = ("facts", "what-next", "small-print")


@pytest.mark.parametrize("report", [builders.healthy_report(), builders.crash_report()])
def test_what_every_program_has_is_small_print(report: Report) -> None:
    facts, what_next, quiet = first_screen(report)
    told = [label for label, _ in verdict_of(report).facts]
    program = [] if "Program" in told else ["Program"]
    assert quiet == [*program, *(label for label in told if label in quiet_labels(report))]
    assert facts == [label for label in told if label not in {*quiet, FIRST_STEP, TRY}]
    assert set(what_next) <= {FIRST_STEP, TRY, "Ruled out"}
    assert ("Memory" in quiet_labels(report)) is (report.failure is not None)


def test_the_first_screen_names_what_is_ruled_out_and_counts_the_rest() -> None:
    report = builders.crash_report()
    hypotheses = [f"Hypothesis {number}" for number in range(5)]
    out = tuple(RuledOut(hypothesis=each, why="the dump says so") for each in hypotheses)
    finding = msgspec.structs.replace(ranked_findings(report)[0], ruled_out=out)
    page = report_page(msgspec.structs.replace(report, findings=(finding,)))
    shown = re.search(r"<dt>Ruled out</dt><dd>(.*?)</dd>", page)
    assert shown is not None
    assert re.findall("<li>(.*?)</li>", shown[1]) == [*hypotheses[:2], "and 3 more below"]


def test_without_a_schedule_no_collective_is_called_synchronous() -> None:
    report = builders.crash_report()
    told: dict[bool, tuple[str, set[str], bool]] = {}
    for is_so in (True, False):
        shown = scheduled(report, is_so=is_so)
        module = main_module(shown)
        assert module is not None
        told[is_so] = (
            overlap_text(shown, module),
            {overlap_kind(item, scheduled=is_so) for item in shown.collectives},
            any("synchronous" in view.overlap for view in collective_views(shown).first),
        )
    assert told[False] == ("no schedule known", {"unknown"}, False)
    assert "synchronous" in told[True][0]
    assert "sync" in told[True][1]
    assert told[True][2]


@pytest.mark.parametrize(
    ("name", "code", "reason", "words"),
    [
        (
            "dump.tar.gz",
            "truncated",
            "the compressed data breaks off",
            "the archive breaks off",
        ),
        ("a.txt", "truncated", "the archive breaks off inside a member", "the archive breaks off"),
        ("a.txt.gz", "truncated", "the compressed data breaks off", "a file breaks off"),
        ("dump.tar.gz", "bad_header", "a header has a wrong checksum", "the archive is damaged"),
        ("a.txt", "bad_crc", "the member's checksum is wrong", "a file is damaged"),
    ],
)
def test_an_input_that_is_broken_says_so_first(
    name: str, code: str, reason: str, words: str
) -> None:
    whole = builders.crash_report()
    cut = msgspec.structs.replace(
        whole,
        input=msgspec.structs.replace(whole.input, name="dump.tar.gz"),
        coverage=Coverage(skipped=(Skipped(name=name, code=code, reason=reason),)),
    )
    texts = sum(len(module.dumps) for module in whole.modules)
    assert verdict_of(cut).facts[0] == ("Dump", f"{words}: {texts} texts read")
    assert "Dump" not in dict(verdict_of(whole).facts)
    assert "Last text written" in dict(verdict_of(whole).facts)
    assert "Last text read" in dict(verdict_of(cut).facts)


def test_what_a_rule_puts_before_all_flags_is_the_first_step() -> None:
    report = builders.crash_report()
    look = Workaround(text="Look at the line.")
    flag = Workaround(text="Leave it out.", flags=("--xla_x=false",))
    proved = msgspec.structs.replace(flag, verified=True)

    def first_of(*workarounds: Workaround) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
        finding = msgspec.structs.replace(report.findings[0], workarounds=workarounds)
        verdict = verdict_of(msgspec.structs.replace(report, findings=(finding,)))
        return verdict.flags, [fact for fact in verdict.facts if fact[0] in (TRY, "First step")]

    def tried_of(*workarounds: Workaround) -> str:
        finding = msgspec.structs.replace(report.findings[0], workarounds=workarounds)
        return verdict_of(msgspec.structs.replace(report, findings=(finding,))).tried

    assert first_of(look, flag) == ((), [("First step", "Look at the line.")])
    assert first_of(flag, look) == (("--xla_x=false",), [(TRY, "--xla_x=false")])
    assert tried_of(flag) == ""
    assert tried_of(look, proved) == "tried: works"
    assert first_of(look, proved) == (("--xla_x=false",), [(TRY, "--xla_x=false")])
    assert first_of() == ((), [])


def test_an_exception_of_python_is_told_once_and_without_figures_of_a_compile() -> None:
    crash = builders.crash_report()
    assert crash.failure is not None
    assert verdict_of(crash).statement == crash.failure.text
    assert "Lines known" in dict(verdict_of(crash).facts)
    text = "TypeError: shapes differ"
    raised = msgspec.structs.replace(
        crash,
        failure=msgspec.structs.replace(crash.failure, kind="python", text=text, module=None),
        findings=(
            msgspec.structs.replace(crash.findings[0], title=f"The run died: {text}", culprits=()),
        ),
    )
    told = verdict_of(raised)
    assert (told.headline, told.statement) == (f"The run died: {text}", None)
    assert not dict(told.facts).keys() & {"Memory", "Device", "Lines known"}
