"""The report page: complete, harmless whatever the dump holds, and the same without a server."""

import json
import re
from html.parser import HTMLParser

import pytest

from app.model.source_lines import Snippet
from app.report.html import PageLinks, page_of, report_page
from app.report.rows import MAX_ROWS
from app.settings import static_dir
from report import builders

LINKS = PageLinks(report="/r/abc", json="/r/abc/report.json", markdown="/r/abc/summary.md")
REPORTS = {
    "crash": builders.crash_report,
    "healthy": builders.healthy_report,
    "log only": builders.log_only_report,
    "hostile": builders.hostile_report,
}
BOTH_WAYS = pytest.mark.parametrize("offline", [False, True], ids=["served", "offline"])


class Reader(HTMLParser):
    """Elements with their attributes, visible text, and the content of scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self.scripts: list[tuple[dict[str, str], str]] = []
        self._inside = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        if tag == "script":
            self.scripts.append((attributes, ""))
        if tag in ("script", "style"):
            self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif not self._inside:
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


@BOTH_WAYS
@pytest.mark.parametrize("name", REPORTS)
def test_page_has_only_known_elements_and_no_inline_code(name: str, offline: bool) -> None:
    reader = Reader(report_page(REPORTS[name](), offline=offline, links=LINKS))
    tags = {tag for tag, _ in reader.elements}
    assert not tags & {"b", "img", "iframe", "object", "embed"} - (
        {"img"} if not offline else set()
    )
    for tag, attributes in reader.elements:
        assert "style" not in attributes, tag
        assert not [key for key in attributes if key.startswith("on")], (tag, attributes)
        for key in ("href", "src", "action"):
            target = attributes.get(key, "#")
            assert target.startswith(("#", "/", "https://github.com/")), (tag, target)


@BOTH_WAYS
def test_hostile_text_is_shown_as_text(offline: bool) -> None:
    html = report_page(builders.hostile_report(), offline=offline, links=LINKS)
    reader = Reader(html)
    for text in ("<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "{{7*7}}"):
        assert text in reader.words
    assert "49" not in re.findall(r"while\.17\S*", reader.words)
    assert "\\x1b[31mred\\x07\\x00" in reader.words
    assert "right\\u202eto left\\u2028line" in reader.words
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202a-\u202e\u2028\u2029]", html)


@BOTH_WAYS
def test_lines_of_the_program_are_shown_as_text(offline: bool) -> None:
    lines = ("\t<b>\u202e\x1b[1m", "x = " + "1" * 5_000)
    snippets = {(builders.PROGRAM, 55): Snippet(55, lines)}
    page = report_page(builders.crash_report(), offline=offline, source_lines=snippets)
    assert "</span>    &lt;b&gt;\\u202e\\x1b[1m\n" in page
    assert "1" * 300 in page
    assert "1" * 500 not in page


@BOTH_WAYS
def test_scripts_are_the_projects_own_and_data_cannot_leave_its_element(offline: bool) -> None:
    reader = Reader(report_page(builders.hostile_report(), offline=offline, links=LINKS))
    assert not any("alert" in attributes.get("src", "") for attributes, _ in reader.scripts)
    data = [text for attributes, text in reader.scripts if attributes.get("id") == "report-data"]
    assert len(data) == 1
    assert "<" not in data[0]
    assert "<script>alert(1)" in json.loads(data[0])["markdown"].replace("\\", "")
    code = [text for attributes, text in reader.scripts if attributes.get("type") == "module"]
    own = (static_dir() / "js" / "report.js").read_text(encoding="utf-8")
    assert [text for text in code if text] == ([own] if offline else [])


def test_offline_page_names_no_outside_address() -> None:
    html = report_page(builders.crash_report(), offline=True)
    # A digest of the policy may hold two slashes.
    shown = re.sub(r"sha256-[\w+/=]+", "", html)
    assert re.findall(r"(?:https?:)?//[a-z0-9]", shown.lower()) == []
    assert "url(" not in html
    assert "@import" not in html
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert policy[1].startswith("default-src &#39;none&#39;; script-src &#39;sha256-")


@pytest.mark.parametrize("name", REPORTS)
def test_page_says_what_the_report_says(name: str) -> None:
    report = REPORTS[name]()
    words = Reader(report_page(report, links=LINKS)).words
    for finding in report.findings:
        assert finding.rule in words
    if report.coverage.unparsed_lines:
        assert "Lines that were not understood" in words
    if not report.findings:
        assert "No known fault was found" in words
        assert "does not prove" in words


def test_an_inferred_line_says_from_what() -> None:
    words = Reader(report_page(builders.crash_report(), links=LINKS)).words
    assert "line inferred from what it is made for" in words


def test_collectives_say_axis_runs_and_bytes_in_one_run() -> None:
    words = Reader(report_page(builders.crash_report(), links=LINKS)).words
    assert "mesh fsdp=8" in words
    assert "NVIDIA H100: 132 cores" in words
    assert "96 % of 908 instructions lead to a line of the program" in words
    for part in ("44 times", "616.0 MiB", "axis_0, axis_1 (inferred)", "at most 2 times"):
        assert part in words


def test_ten_thousand_rows_are_cut_and_counted() -> None:
    html = report_page(builders.huge_report(10_000), offline=True)
    assert len(html) < 4_000_000
    words = Reader(html).words
    left_out = f"{10_000 - MAX_ROWS:,} of 10,000 are not in this page"
    assert words.count(left_out) >= 3
    assert "9,940 of 10,000 are not in this page" in words


def test_card_of_a_link_holds_counts_and_rule_names_only() -> None:
    page = page_of(builders.hostile_report(), offline=False, links=LINKS)
    assert page.card_title == "XLA dump: 1 error, 1 warning"
    assert page.card_text == "3 modules, 3 loops; OVL001, PIP001"
