"""Files of which none is XLA's are a report where an upload may be anything, else an error."""

import zipfile
from pathlib import Path

import pytest

from app.errors import NotADump
from app.ingest import quiet
from app.jobs.analysis import examined
from app.jobs.upload import Upload


def test_foreign_files_are_a_report_only_where_they_are_taken(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        archive.writestr("beach.jpg", b"\xff\xd8\xff")
    upload = Upload(str(tmp_path / "photos.zip"), "photos.zip")
    report = examined(upload, quiet, takes_foreign=True).report
    assert [finding.class_ for finding in report.findings] == ["no_xla_files"]
    with pytest.raises(NotADump) as caught:
        examined(upload, quiet)
    assert caught.value.code == "no_xla_files"
