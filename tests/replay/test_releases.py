"""One row a release, and where the failure came and went."""

from pathlib import Path

from app.replay.experiments import Laboratory
from app.replay.outcome import Attempt, Kind
from app.replay.releases import try_releases
from app.replay.subject import Subject

SUBJECT = Subject(b"HloModule m\n", "text")
WANTED = "check:collective_pipeliner.cc:last_cloned"
HISTORY = {
    "0.4.28": Attempt(Kind.ANOTHER, "check:other.cc:x"),
    "0.4.30": Attempt(Kind.ANOTHER, WANTED),
    "0.4.31": Attempt(Kind.COMPILES),
}


def laboratory(folder: Path, release: str, seconds: float = 60) -> Laboratory:
    return Laboratory(release, lambda *_: HISTORY[release], folder, seconds=seconds)


def test_the_oldest_stands_first(tmp_path: Path) -> None:
    table = try_releases(
        ["0.4.31", "0.4.28", "0.4.30"], lambda r: laboratory(tmp_path, r), SUBJECT, {}, WANTED
    )
    assert [row.release for row in table.rows] == list(HISTORY)
    assert table.bad == ("0.4.30",)


def test_another_failure_is_not_the_one_looked_for(tmp_path: Path) -> None:
    table = try_releases(["0.4.28"], lambda r: laboratory(tmp_path, r), SUBJECT, {}, WANTED)
    assert table.bad == ()


def test_releases_for_which_the_time_did_not_last_are_told(tmp_path: Path) -> None:
    table = try_releases(["0.4.30"], lambda r: laboratory(tmp_path, r, -1), SUBJECT, {}, WANTED)
    assert [row.attempt for row in table.rows] == [None]
