"""What runs in the child: one analysis from the files of an upload to a bundle on disk."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.bundle import write_bundle
from app.ingest import Progress
from app.jobs.aligning import add_costly_pairs
from app.jobs.room import room_told
from app.jobs.runner import FIRST_RESULT
from app.jobs.upload import Upload
from app.model.report import SEVERITIES, Finding, Report
from app.report.verdict import ranked_findings, verdict_of
from app.rules.frame import load_rules
from app.service import Analysis, Log, Question, examine, tool_version
from app.settings import Settings


def analyse_upload(progress: Progress, *, upload: dict[str, Any], bundle: str) -> dict[str, Any]:
    """Analyse an `Upload`, write `bundle`, and sum it up.

    Raises:
        InputError: the upload cannot be read.
        JobFailed: the disk is full (`no_space`).
    """
    analysis = examined(
        Upload(**upload),
        progress,
        tell=lambda words: progress(f"{FIRST_RESULT}{words}", 0, None),
        takes_foreign=True,
    )
    progress("bundle", 0, None)
    with room_told():
        write_bundle(Path(bundle), analysis.report, analysis.contents)
    add_costly_pairs(Path(bundle), analysis.contents, progress)
    return summary_of(analysis.report)


def examined(
    upload: Upload,
    progress: Progress,
    *,
    tell: Callable[[str], None] | None = None,
    takes_foreign: bool = False,
) -> Analysis:
    """The report on an upload, with what it was made from; all as `app.service.examine`."""
    question = Question(
        logs=tuple(Log(label, file=Path(file)) for label, file in upload.logs),
        flags=upload.flags,
        release=upload.release,
        hung=upload.hung,
    )
    return examine(
        Path(upload.archive) if upload.archive else None,
        Settings(**(upload.settings or {})),
        question=question,
        name=upload.name,
        progress=progress,
        tell=tell,
        takes_foreign=takes_foreign,
    )


def _verdict_word(report: Report, leading: Finding | None) -> str:
    """The class of what failed; of a compile that ended well, the slug of what was found in it.

    Classes are those of failures: of a note on a peak, `oom-buffers` would say that memory ran out.
    """
    if leading is not None and (leading.severity == "error" or not report.modules):
        return leading.class_
    if report.failure is not None:
        return report.failure.kind
    slugs = {rule.code: rule.slug for rule in load_rules()} if leading else {}
    return slugs.get(leading.rule, leading.rule.lower()) if leading else ""


def summary_of(report: Report) -> dict[str, Any]:
    """The few words and counts kept beside the bundle; no name of a file, op or person."""
    verdict = verdict_of(report)
    counted = [each for each in ranked_findings(report) if each.confidence != "ruled_out"]
    leading = counted[0] if counted else None
    return {
        "verdict": _verdict_word(report, leading),
        "rule": leading.rule if leading else "",
        "class": leading.class_ if leading else "",
        "tone": verdict.tone,
        "headline": verdict.headline,
        "findings": {
            severity: sum(each.severity == severity for each in counted) for severity in SEVERITIES
        },
        "modules": len(report.modules),
        "texts": sum(len(module.dumps) for module in report.modules),
        "unparsed_lines": report.coverage.unparsed_lines,
        "version": tool_version(),
    }
