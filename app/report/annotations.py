"""Findings as marks on lines of a repository, for what CI systems show beside a change.

Takes a report and the folder that the repository's files had where the program was traced, and
gives for each finding one place; `github_commands` and `gitlab_code_quality` write them in the
words of the two. A finding that is ruled out marks nothing. Pure: paths are compared as text, and
no file is looked for.
"""

import hashlib
import json
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from app.model.report import Culprit, Finding, Report, Severity
from app.report.verdict import culprit_text, ranked_findings
from app.report.wording import CONFIDENCE_WORDS, legible, message_text

_MAX_MESSAGE = 4_000
_GITHUB_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "notice"}
_GITLAB_SEVERITIES: dict[Severity, str] = {"error": "critical", "warning": "major", "note": "info"}


@dataclass(frozen=True, slots=True)
class RepositoryPlace:
    """A line of a file: `path` with `/`, relative to the root unless the file lies outside it."""

    path: str
    line: int
    column: int | None = None
    is_inside: bool = True


@dataclass(frozen=True, slots=True)
class Annotation:
    """One finding and the line it is shown at; `place` is None where no source line is known."""

    finding: Finding
    place: RepositoryPlace | None
    text: str


def annotations_of(report: Report, *, root: str = "") -> tuple[Annotation, ...]:
    """The findings that are not ruled out, the gravest and surest first.

    A finding is placed at its first culprit with a line below `root`; where there is none, at the
    first line at all. With no `root` every relative path counts as inside.
    """
    shown = legible(report)
    return tuple(
        Annotation(finding, _place_of_finding(finding, root), _text_of(finding))
        for finding in ranked_findings(shown)
        if finding.confidence != "ruled_out"
    )


def repository_places(culprit: Culprit, root: str) -> Iterator[RepositoryPlace]:
    """The places of one culprit, from the innermost call outwards."""
    source = culprit.source
    if source is None:
        return
    yield _place(source.file, source.line, source.column, root)
    for frame in source.frames:
        if (frame.file, frame.line) != (source.file, source.line):
            yield _place(frame.file, frame.line, None, root)


def github_commands(report: Report, *, root: str = "") -> str:
    """One workflow command a line (`::error file=train.py,line=55,title=...::...`).

    Form of the commands: GitHub Actions, "Workflow commands", setting an error message; data
    escapes `%`, CR and LF, properties `:` and `,` as well.
    """
    lines: list[str] = []
    for annotation in annotations_of(report, root=root):
        finding, place = annotation.finding, annotation.place
        properties = {"title": f"{finding.rule}: {finding.title}"}
        if place is not None:
            properties = {"file": place.path, "line": str(place.line), **properties}
        joined = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
        command = _GITHUB_LEVELS[finding.severity]
        lines.append(f"::{command} {joined}::{_data(annotation.text)}\n")
    return "".join(lines)


def gitlab_code_quality(report: Report, *, root: str = "") -> str:
    """A code quality report as GitLab's merge requests show it: a JSON array.

    GitLab wants a path and a line of every entry; a finding without a source line stands at line 1
    of the input's name.
    """
    entries: list[dict[str, object]] = []
    seen: dict[str, int] = {}
    for annotation in annotations_of(report, root=root):
        finding, place = annotation.finding, annotation.place
        number = seen[finding.fingerprint] = seen.get(finding.fingerprint, 0) + 1
        digest = hashlib.sha256(f"{finding.fingerprint}/{number}".encode()).hexdigest()
        path, line = (place.path, place.line) if place else (report.input.name or "dump", 1)
        entries.append(
            {
                "description": f"{finding.title} ({CONFIDENCE_WORDS[finding.confidence]})",
                "check_name": finding.rule,
                "fingerprint": digest,
                "severity": _GITLAB_SEVERITIES[finding.severity],
                "location": {"path": path, "lines": {"begin": line}},
            }
        )
    return json.dumps(entries, indent=1) + "\n"


def _place_of_finding(finding: Finding, root: str) -> RepositoryPlace | None:
    places = [p for culprit in finding.culprits for p in repository_places(culprit, root)]
    return next((place for place in places if place.is_inside), next(iter(places), None))


def _place(file: str, line: int, column: int | None, root: str) -> RepositoryPlace:
    path, is_inside = repository_path(file, root)
    return RepositoryPlace(path, max(line, 1), column if column and column > 0 else None, is_inside)


def repository_path(file: str, root: str) -> tuple[str, bool]:
    """`file` relative to `root`, and whether it lies below it; both may be of another machine."""
    path = posixpath.normpath(file.replace("\\", "/")) if file else "unknown"
    base = posixpath.normpath(root.replace("\\", "/")) if root else ""
    if base and path.startswith(base.rstrip("/") + "/"):
        return path[len(base.rstrip("/")) + 1 :], True
    is_absolute = path.startswith("/") or path[1:3] == ":/"
    return path, not is_absolute and path != ".." and not path.startswith("../")


def _text_of(finding: Finding) -> str:
    parts = [f"{message_text(finding)} ({CONFIDENCE_WORDS[finding.confidence]})"]
    parts += [
        f"{culprit.role or 'culprit'}: {culprit_text(culprit)}" for culprit in finding.culprits[:5]
    ]
    for workaround in finding.workarounds[:3]:
        flags = " ".join(workaround.flags)
        parts.append(f"To try: {workaround.text}{f' {flags}' if flags else ''}")
    return "\n".join(parts)[:_MAX_MESSAGE]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
