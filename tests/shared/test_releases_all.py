"""The release of every real dump is among those inferred from it alone; how many is printed."""

import re
import sys
from functools import cache
from pathlib import Path

import pytest

from app import knowledge
from app.analysis.release_evidence import releases_that_fit
from app.ingest import load_dump
from app.model.dump import LogFacts
from app.model.report import Releases
from app.settings import Settings
from conftest import SHARED

ARCHIVES = sorted((SHARED / "dumps").glob("*.tar.gz"))
RELEASE = re.compile(r"(?:jax|seed1_\w+_)(?P<release>0\.\d+\.\d+)")


@cache
def inferred(archive: Path) -> Releases:
    return releases_that_fit(load_dump(archive, settings=Settings()), LogFacts(), {})


def release_of(archive: Path) -> str:
    found = RELEASE.search(archive.name)
    assert found is not None, archive.name
    return found["release"]


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.gz"))
def test_the_true_release_fits(archive: Path) -> None:
    found = inferred(archive)
    if found.releases:
        assert release_of(archive) in found.releases, found.how
        assert "contradicts" not in found.how


def test_how_narrow_it_is() -> None:
    known = [archive for archive in ARCHIVES if inferred(archive).releases]
    for archive in ARCHIVES:
        releases = inferred(archive).releases
        span = f"{releases[0]}-{releases[-1]}" if releases else "unknown"
        print(
            f"{archive.name.removesuffix('.tar.gz'):48} {release_of(archive):8} {span:16} "
            f"{len(releases):3} of {len(knowledge.PUBLISHED)}  {inferred(archive).how}",
            file=sys.stderr,
        )
    assert len(known) >= len(ARCHIVES) - 1
    narrow = [archive for archive in known if len(inferred(archive).releases) <= 13]
    assert len(narrow) >= 0.9 * len(known)
