"""What a job says while it goes on; and files of which none is XLA's: a report, or an error."""

import zipfile
from dataclasses import asdict
from pathlib import Path

import pytest

from app.errors import NotADump
from app.ingest import quiet
from app.jobs.analysis import analyse_upload, examined
from app.jobs.runner import FIRST_RESULT
from app.jobs.upload import Upload
from app.store import Question, ReportRow
from app.web.stages import stage_views
from samples import load_sample


def test_foreign_files_are_a_report_only_where_they_are_taken(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        archive.writestr("beach.jpg", b"\xff\xd8\xff")
    upload = Upload(str(tmp_path / "photos.zip"), "photos.zip")
    report = examined(upload, quiet, takes_foreign=True).report
    assert [finding.class_ for finding in report.findings] == ["no_xla_files"]
    with pytest.raises(NotADump) as caught:
        examined(upload, quiet)
    assert caught.value.code == "no_xla_files"


def test_stages_come_in_the_order_that_is_shown_and_are_counted(tmp_path: Path) -> None:
    steps: list[tuple[str, int, int | None]] = []
    upload = Upload(str(load_sample("psum_under_cond").archive), "dump.tar.gz")
    analyse_upload(
        lambda *step: steps.append(step), upload=asdict(upload), bundle=str(tmp_path / "b")
    )
    seen = list(dict.fromkeys(stage for stage, _, _ in steps if not stage.startswith(FIRST_RESULT)))
    row = ReportRow(
        key="",
        owner_key="",
        name="",
        state="running",
        created=0,
        finished=None,
        sha256="",
        bytes=0,
        question=Question(),
        attachments=(),
        summary=None,
        problem=None,
        attempt=1,
        stage="starting",
        done=0,
        total=None,
    )
    shown = [view.key for view in stage_views(row)]
    assert seen == [key for key in shown if key in seen]
    assert set(shown) - set(seen) == {"starting", "pairs"}
    sums = [(done, total) for stage, done, total in steps if stage == "sums"]
    assert sums == [(n, len(sums)) for n in range(len(sums))]
