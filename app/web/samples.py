"""The sample dumps that the landing page offers, each one report for all visitors.

They ship with the program and are found by their manifests; the first visitor who asks for one has
it analysed, and from then on it is there.
"""

import functools
import hashlib
import threading
import tomllib
from dataclasses import dataclass
from pathlib import Path

from app.settings import sample_dir
from app.store import Store
from app.web.sample import place_sample

_PLACING = threading.Lock()


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample: `name` is its folder, `title` and `text` say what it shows."""

    name: str
    title: str
    text: str
    folder: Path
    archive: Path
    log: Path


@functools.cache
def offered_samples() -> tuple[Sample, ...]:
    """The samples whose manifests give them a place (`landing`) on the page, in that order."""
    found: list[tuple[int, Sample]] = []
    for path in sorted(sample_dir().glob("*/manifest.toml")):
        manifest = tomllib.loads(path.read_text(encoding="utf-8"))
        landing = manifest.get("landing")
        if landing is not None:
            sample = Sample(
                name=path.parent.name,
                title=manifest["title"],
                text=landing["text"],
                folder=path.parent,
                archive=path.parent / manifest["dump"]["archive"],
                log=path.parent / manifest["dump"]["log"],
            )
            found.append((landing["order"], sample))
    return tuple(sample for _, sample in sorted(found, key=lambda item: item[0]))


def folder_of_sample(store: Store, report_id: str) -> Path | None:
    """The folder of the sample that a report is on, where its program lies; None for any other.

    It is known by its files, whichever server of a store they were placed on: by their sizes, and
    what is of the same sizes by what they hold. A share is on no sample: what was taken out of it
    may stand in the program.
    """
    row = store.reports.find(report_id)
    if row is None or row.parent_key is not None:
        return None
    logs = row.attached("log")
    sizes = (row.bytes, *(log.bytes for log in logs))
    digests = (row.sha256, *(log.blob for log in logs))
    for sample in offered_samples():
        if _sizes(sample) == sizes and _digests(sample) == digests:
            return sample.folder
    return None


@functools.cache
def _sizes(sample: Sample) -> tuple[int, ...]:
    return tuple(file.stat().st_size for file in (sample.archive, sample.log))


@functools.cache
def _digests(sample: Sample) -> tuple[str, ...]:
    files = (sample.archive, sample.log)
    return tuple(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)


def report_of_sample(store: Store, sample: Sample) -> str:
    """The id of a sample's report, whose analysis is queued unless it is there already."""
    # What is known of placed samples is one file.
    with _PLACING:
        return place_sample(store, sample.archive, [sample.log])
