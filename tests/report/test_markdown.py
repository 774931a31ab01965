"""Markdown for bug threads: complete enough to act on, and inert whatever the dump holds."""

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.model.report import Coverage
from app.report.inventory import coverage_view
from app.report.markdown import MAX_BYTES, code, escaped, fenced, report_markdown
from report import builders


def test_crash_tells_what_where_and_what_to_try() -> None:
    text = report_markdown(builders.crash_report(), link="https://hlo.example/r/abc")
    assert text.startswith("### Error, likely: The backward pipeliner met an all-gather")
    assert "<https://hlo.example/r/abc>" in text
    assert "- loop at fault: `while.17, prog1.py:55`" in text
    assert "`--xla_gpu_enable_pipelined_all_gather=false` (jaxlib 0.4.14 and later)" in text
    assert "`openxla/xla#14332`" in text
    assert "2 lines not understood" in text


@pytest.mark.parametrize(
    ("coverage", "said", "fact"),
    [
        (Coverage(files=3, skipped_count=3), "read 3 files; 0 lines not", ("Lines of HLO", "0")),
        (Coverage(lines=7), "read 0 files, 7 lines of the log; ", ("Lines of the log", "7")),
        (
            Coverage(files=1, hlo_files=1, lines=9),
            "read 1 file, 9 lines of HLO; ",
            ("Lines of HLO", "9"),
        ),
    ],
    ids=["foreign files", "a log alone", "a dump"],
)
def test_lines_are_those_of_what_was_read(
    coverage: Coverage, said: str, fact: tuple[str, str]
) -> None:
    report = msgspec.structs.replace(builders.healthy_report(), coverage=coverage)
    assert said in report_markdown(report)
    assert fact in coverage_view(coverage).facts


def test_collectives_are_a_table_whatever_their_names() -> None:
    report = builders.crash_report()
    odd = msgspec.structs.replace(report.collectives[0], instruction="a|b`c")
    text = report_markdown(msgspec.structs.replace(report, collectives=(odd,)))
    assert "<summary>1 collective</summary>" in text
    assert "| ``a\\|b`c`` | `fsdp` | `44 x 14.0 MiB` | `616.0 MiB` | `prog1.py:38` |" in text


def outside_code(text: str) -> str:
    """What a forge would act on: everything but code blocks and spans."""
    text = re.sub(r"^(`{3,})text\n.*?^\1$", "", text, flags=re.S | re.M)
    return re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text, flags=re.S)


def test_hostile_text_neither_links_nor_mentions_nor_opens_html() -> None:
    text = outside_code(report_markdown(builders.hostile_report()))
    without_ours = re.sub(r"<details><summary>[\w ]+</summary>|</details>", "", text)
    assert "<" not in without_ours
    assert "@" not in without_ours
    assert not re.search(r"(?<!&)#\d", without_ours)
    assert not re.search(r"(?<!\\)\]\(", without_ours)
    assert "alert" in without_ours


@given(st.text(max_size=60))
def test_a_code_span_ends_where_it_should(text: str) -> None:
    span = code(text)
    one_line = " ".join(text.split())
    if not one_line:
        assert span == ""
        return
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", one_line)), default=0))
    # No run of back-ticks inside is as long as the fence, so nothing ends it early.
    assert span in (f"{fence}{one_line}{fence}", f"{fence} {one_line} {fence}")
    assert (span[len(fence)] == "`") is False


@given(st.text(max_size=60))
def test_escaped_words_hold_no_active_character(text: str) -> None:
    left = re.sub(r"\\(?:[^\w\s]|_)|&(?:lt|gt|amp|#\d+);", "", escaped(text))
    assert not re.search(r"[\\`*_{}\[\]<>#!|~@$]", left)
    assert not re.match(r"[-+=]|\d+[.)](?:\s|$)", escaped(text))
    assert "\n" not in left


@pytest.mark.parametrize("text", ["```\nx\n```", "plain", "````"])
def test_a_code_block_cannot_be_ended_from_inside(text: str) -> None:
    block = fenced(text)
    fence = block.split("text\n", 1)[0]
    assert block == f"{fence}text\n{text}\n{fence}"
    assert fence not in text


def test_the_size_has_a_limit_and_says_so() -> None:
    report = builders.huge_report(200)
    assert len(report_markdown(report).encode()) <= MAX_BYTES
    assert "190 findings more in the report" in report_markdown(report)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("while.17 (prog1.py:55) = all-gather", "while.17 (prog1.py:55) = all-gather"),
        ("see https://evil.example", "see https&#58;//evil.example"),
        ("WWW.evil.example", "WWW&#46;evil.example"),
        ("@team fixes #12", "&#64;team fixes &#35;12"),
        ("- item", "\\- item"),
        ("=== title", "\\=== title"),
        ("12. item", "12\\. item"),
        ("[a](b) ![c](d)", "\\[a\\](b) \\!\\[c\\](d)"),
    ],
)
def test_words_read_well_and_do_nothing(text: str, words: str) -> None:
    assert escaped(text) == words


def test_a_headline_that_is_no_finding_claims_no_weight_and_findings_have_their_own() -> None:
    crash = builders.crash_report()
    only = msgspec.structs.replace(crash.findings[0], confidence="ruled_out")
    text = report_markdown(msgspec.structs.replace(crash, findings=(only,)))
    assert text.startswith("### The run failed: ")
    assert "\n#### Error, ruled out: The backward pipeliner" in text
