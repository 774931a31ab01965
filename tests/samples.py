"""The dumps of `sample_dumps/`, with what their manifests say about them."""

import tarfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SAMPLE_DUMPS = Path(__file__).resolve().parent.parent / "sample_dumps"


@dataclass(frozen=True, slots=True)
class ExpectedFinding:
    """What one finding of a right report holds.

    Its culprits are `instructions` at `sources` (`file:line`, without folders) and never
    `innocent`; its words or evidence have all of `mentions`.
    """

    kind: str
    severity: str
    confidence: str
    instructions: frozenset[str]
    sources: frozenset[str]
    innocent: frozenset[str]
    mentions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """One folder of `sample_dumps/`."""

    name: str
    archive: Path
    log: Path
    program: Path
    sha256: str
    release: str
    flags: str
    """XLA_FLAGS of the run."""
    holds_flags: bool
    """Whether the dump itself says which flags were set."""
    exit_code: int
    """Exit code of `hloscope analyze` on this dump with its log."""
    worst_other: str
    """The highest severity a finding may have that the manifest does not list."""
    findings: tuple[ExpectedFinding, ...]


def unpack(archive: Path, folder: Path, wanted: Callable[[str], bool] = lambda name: True) -> Path:
    """`folder`, with the files of one of our own archives that are `wanted` by name in it.

    By hand: `extractall` has no filters in Python 3.11.2, which Debian 12 ships, and warns without
    them in 3.12.
    """
    with tarfile.open(archive) as members:
        for member in members:
            body = members.extractfile(member) if member.isfile() and wanted(member.name) else None
            if body is not None:
                path = folder / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(body.read())
    return folder


def load_samples() -> tuple[Sample, ...]:
    """Every sample, by name."""
    return tuple(_load(path) for path in sorted(SAMPLE_DUMPS.glob("*/manifest.toml")))


def load_sample(name: str) -> Sample:
    """The sample of that folder name."""
    return _load(SAMPLE_DUMPS / name / "manifest.toml")


def _load(path: Path) -> Sample:
    manifest = tomllib.loads(path.read_text(encoding="utf-8"))
    dump, run, answer = manifest["dump"], manifest["run"], manifest["answer"]
    return Sample(
        name=path.parent.name,
        archive=path.parent / dump["archive"],
        log=path.parent / dump["log"],
        program=path.parent / run["program"],
        sha256=dump["sha256"],
        release=run["jaxlib"],
        flags=" ".join(run["flags"]),
        holds_flags=dump["holds_flags"],
        exit_code=answer["exit_code"],
        worst_other=answer["worst_other"],
        findings=tuple(
            ExpectedFinding(
                kind=item["class"],
                severity=item["severity"],
                confidence=item["confidence"],
                instructions=frozenset(item["instructions"]),
                sources=frozenset(item["sources"]),
                innocent=frozenset(item["innocent"]),
                mentions=tuple(item["mentions"]),
            )
            for item in answer.get("findings", [])
        ),
    )
