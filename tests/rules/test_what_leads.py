"""A compile that may have died comes before whatever is sure of the part that it finished."""

from pathlib import Path

from app.report.verdict import ranked_findings, verdict_of
from app.service import analyze
from app.settings import Settings

SAMPLES = Path(__file__).parents[2] / "sample_dumps"


def test_an_unfinished_compile_leads_over_surer_notes() -> None:
    report = analyze(SAMPLES / "pipeliner_crash" / "dump.tar.gz", Settings())
    assert {f.severity for f in report.findings} == {"note"}
    assert any(f.confidence in ("certain", "likely") for f in report.findings)
    assert report.findings[0].rule == "DMP001"
    assert ranked_findings(report)[0].rule == "DMP001"
    assert verdict_of(report).tone == "note"
