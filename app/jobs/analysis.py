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
from app.model.report import SEVERITIES, Report
from app.report.verdict import ranked_findings, verdict_of
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


def summary_of(report: Report) -> dict[str, Any]:
    """The few words and counts kept beside the bundle; no name of a file, op or person."""
    verdict = verdict_of(report)
    counted = [each for each in ranked_findings(report) if each.confidence != "ruled_out"]
    return {
        "verdict": counted[0].class_ if counted else "",
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
