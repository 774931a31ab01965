"""What dump and log say against the release that somebody told of the run.

The one told is used whatever speaks against it: it may be a vendor's own. But it is said, since
all that depends on the release would else be told for another. Nothing is said of a release that
the tables do not know.
"""

from collections.abc import Iterator

from app import knowledge
from app.analysis.release_evidence import joined, releases_of_checks, releases_of_dump
from app.model.dump import DumpContents, LogFacts
from app.model.report import Releases


def remarks_on_release(
    release: str | None, how: str, contents: DumpContents | None, log: LogFacts
) -> Iterator[str]:
    """That dump or log speak against it, and which is used; `how` says who told it."""
    against = _speaking_against(release, contents, log)
    if against:
        said = "; ".join(f"{_range(each.releases)} would fit: {each.how}" for each in against)
        used = f"jaxlib {release} is used ({how})"
        yield f"release: {used}, though dump or log speak against it. {said}"


def _speaking_against(
    release: str | None, contents: DumpContents | None, log: LogFacts
) -> tuple[Releases, ...]:
    """What the log names, its first check and the strong signs of the dump allow instead."""
    if release not in knowledge.PUBLISHED:
        return ()
    said = [Releases(releases=log.releases, how="named in the log")]
    checks = releases_of_checks(log)
    # A log may hold several runs, of which one is of the release.
    if not any(release in found.releases for _, found in checks):
        said += [joined([found]) for _, found in checks[:1]]
    said += [] if contents is None else [releases_of_dump(contents)]
    return tuple(each for each in said if each.releases and release not in each.releases)


def _range(releases: tuple[str, ...]) -> str:
    return " to ".join(dict.fromkeys((releases[0], releases[-1])))
