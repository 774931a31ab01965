"""One report in any of the forms that are not the page: for CI, for threads, as a file to keep.

The command line and the server give the same bytes: both ask here.
"""

from collections.abc import Callable, Sequence
from typing import Literal

from app.model.codec import report_to_json
from app.model.report import Report
from app.model.source_lines import NO_SOURCE_LINES, SourceLines
from app.report.annotations import github_commands, gitlab_code_quality
from app.report.event_diffs import EventDiff
from app.report.html import report_page
from app.report.junit import report_junit
from app.report.markdown import report_markdown
from app.report.sarif import report_sarif
from app.report.thread import report_thread

ReportForm = Literal["json", "html", "md", "thread", "sarif", "junit", "github", "gitlab"]

_KINDS: dict[ReportForm, str] = {
    "json": "application/json",
    "html": "text/html",
    "md": "text/markdown",
    "thread": "text/markdown",
    "sarif": "application/sarif+json",
    "junit": "application/xml",
    "github": "text/plain",
    "gitlab": "application/json",
}
MEDIA_TYPES = frozenset(_KINDS.values())


def in_form(
    report: Report,
    form: ReportForm,
    *,
    root: str = "",
    fail_on: str = "error",
    link: str = "",
    source_lines: SourceLines = NO_SOURCE_LINES,
    diffs: Sequence[EventDiff] = (),
) -> tuple[str, str]:
    """The text and its media type.

    Args:
        report: what is written.
        form: `md` and `html` are for people, `thread` for a bug thread, `json` is the whole of it,
            the others are for CI.
        root: where the repository was when the program was traced (SARIF, JUnit, GitHub, GitLab).
        fail_on: the least severity that JUnit shows as a failure.
        link: the address of the report's page, for the Markdown of `md` and `thread`.
        source_lines: lines of the user's program, for `html`; only ever for the user's own eyes.
        diffs: what passes changed around events, for `html`, which holds no texts of passes.
    """
    writers: dict[ReportForm, Callable[[], str]] = {
        "json": lambda: report_to_json(report, indent=1).decode() + "\n",
        "html": lambda: report_page(report, offline=True, source_lines=source_lines, diffs=diffs),
        "md": lambda: report_markdown(report, link=link),
        "thread": lambda: report_thread(report, link=link),
        "sarif": lambda: report_sarif(report, root=root),
        "junit": lambda: report_junit(report, fail_on=fail_on, root=root),
        "github": lambda: github_commands(report, root=root),
        "gitlab": lambda: gitlab_code_quality(report, root=root),
    }
    return writers[form](), _KINDS[form]
