"""What runs in the child: one analysis from the files of an upload to a bundle on disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.bundle import write_bundle
from app.ingest import Progress
from app.jobs.room import room_told
from app.jobs.runner import FIRST_RESULT
from app.model.report import Report
from app.report.verdict import verdict_of
from app.service import Log, Question, examine, tool_version
from app.settings import Settings


def analyse_upload(
    progress: Progress,
    *,
    archive: str | None,
    name: str,
    logs: Sequence[tuple[str, str]],
    flags: str,
    release: str | None,
    hung: bool,
    settings: dict[str, Any],
    bundle: str,
) -> dict[str, Any]:
    """Analyse the file `archive` and the `logs` (label, file), write `bundle`, and sum it up.

    `settings` are the budgets as `portable_settings` gives them.

    Raises:
        InputError: the upload cannot be read or holds no XLA dump.
        JobFailed: the disk is full (`no_space`).
    """
    question = Question(
        logs=tuple(Log(label, file=Path(file)) for label, file in logs),
        flags=flags,
        release=release,
        hung=hung,
    )
    analysis = examine(
        Path(archive) if archive else None,
        Settings(**settings),
        question=question,
        name=name,
        progress=progress,
        tell=lambda words: progress(f"{FIRST_RESULT}{words}", 0, None),
    )
    progress("bundle", 0, None)
    with room_told():
        write_bundle(Path(bundle), analysis.report, analysis.contents)
    return summary_of(analysis.report)


def summary_of(report: Report) -> dict[str, Any]:
    """The few words and counts kept beside the bundle; no name of a file, op or person."""
    verdict = verdict_of(report)
    counted = [each for each in report.findings if each.confidence != "ruled_out"]
    return {
        "tone": verdict.tone,
        "headline": verdict.headline,
        "findings": {
            severity: sum(each.severity == severity for each in counted)
            for severity in ("error", "warning", "note")
        },
        "modules": len(report.modules),
        "texts": sum(len(module.dumps) for module in report.modules),
        "unparsed_lines": report.coverage.unparsed_lines,
        "version": tool_version(),
    }
