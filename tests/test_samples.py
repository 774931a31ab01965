"""Every sample dump is the one its manifest describes, is understood whole, and explained right."""

import hashlib
import re
import tarfile
from functools import cache
from pathlib import PurePosixPath

import pytest

import hloscope
from app.model.report import Finding, Report
from samples import SAMPLE_DUMPS, ExpectedFinding, Sample, load_sample, load_samples

SAMPLES = load_samples()
EXPECTED = [(sample, finding) for sample in SAMPLES for finding in sample.findings]
SEVERITIES = ["note", "warning", "error"]

every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=[s.name for s in SAMPLES])


@cache
def report_of(name: str) -> Report:
    sample = load_sample(name)
    flags = "" if sample.holds_flags else sample.flags
    return hloscope.analyze(sample.archive, log=sample.log, flags=flags)


@every_sample
def test_digest(sample: Sample) -> None:
    assert hashlib.sha256(sample.archive.read_bytes()).hexdigest() == sample.sha256


def test_no_folder_without_a_manifest() -> None:
    folders = {path.name for path in SAMPLE_DUMPS.iterdir() if path.is_dir()} - {"devices"}
    assert folders == {sample.name for sample in SAMPLES}


@every_sample
def test_source_lines_exist_in_the_program(sample: Sample) -> None:
    lines = sample.program.read_text(encoding="utf-8").splitlines()
    for finding in sample.findings:
        for source in finding.sources:
            file, _, line = source.partition(":")
            assert file == sample.program.name
            assert lines[int(line) - 1].strip()


@every_sample
def test_nothing_is_left_un_understood(sample: Sample) -> None:
    report = report_of(sample.name)
    assert report.coverage.unparsed == ()
    assert report.coverage.unparsed_lines == 0
    assert report.coverage.skipped == ()
    assert report.coverage.hlo_files > 0


@every_sample
def test_every_hlo_file_of_the_archive_was_read(sample: Sample) -> None:
    report = report_of(sample.name)
    if sample.archive.suffix == ".gz":
        with tarfile.open(sample.archive) as archive:
            names = {PurePosixPath(member.name).name for member in archive if member.isfile()}
        assert report.coverage.files == len(names)
        listed = {PurePosixPath(d.file).name for m in report.modules for d in m.dumps}
        assert {n for n in names if re.search(r"\.\d{4}\..*\.txt$", n)} <= listed


@every_sample
def test_environment(sample: Sample) -> None:
    report = report_of(sample.name)
    environment = report.environment
    # Only a check failure pins the release; a healthy dump does not name it.
    assert sample.release in environment.jaxlib.releases or report.failure is None
    assert not environment.jaxlib.releases or sample.release in environment.jaxlib.releases
    given = {flag.removeprefix("--").partition("=")[0] for flag in sample.flags.split()}
    # debug_options leaves out the flags that were set to their default.
    assert not given or environment.flags.keys() & given


@pytest.mark.parametrize(
    ("sample", "expected"), EXPECTED, ids=[f"{s.name}-{f.kind}" for s, f in EXPECTED]
)
def test_right_answer(sample: Sample, expected: ExpectedFinding) -> None:
    finding = matching(report_of(sample.name), expected)
    assert finding.severity == expected.severity
    assert finding.confidence == expected.confidence
    instructions = {c.instruction for c in finding.culprits}
    sources = {
        f"{PurePosixPath(c.source.file).name}:{c.source.line}" for c in finding.culprits if c.source
    }
    assert expected.instructions <= instructions
    assert expected.sources <= sources
    assert not expected.innocent & instructions
    said = " ".join([finding.title, finding.message, *(e.text for e in finding.evidence)])
    assert [words for words in expected.mentions if words not in said] == []


@every_sample
def test_nothing_else_is_claimed(sample: Sample) -> None:
    report = report_of(sample.name)
    wanted = {matching(report, expected).fingerprint for expected in sample.findings}
    others = [f for f in report.findings if f.fingerprint not in wanted]
    allowed = SEVERITIES[: SEVERITIES.index(sample.worst_other) + 1]
    assert [(f.rule, f.title) for f in others if f.severity not in allowed] == []


def matching(report: Report, expected: ExpectedFinding) -> Finding:
    found = [f for f in report.findings if f.class_ == expected.kind and f.severity != "note"]
    assert found, f"no finding of class {expected.kind}: {[f.class_ for f in report.findings]}"
    return found[0]
