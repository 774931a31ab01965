"""A release that somebody told and that dump or log speak against is used, and that is said."""

import pytest

from analysis.test_release_evidence import CHECK, NEW, dump_of
from app.analysis.release_given import remarks_on_release
from app.ingest import read_log
from app.model.dump import LogFacts

USER = "given by the user"


def test_a_check_of_the_log_speaks_against_it_once() -> None:
    (told,) = remarks_on_release("0.9.2", USER, None, read_log(CHECK, name="log"))
    assert told.startswith("release: jaxlib 0.9.2 is used (given by the user), though dump or log")
    assert "0.4.29 to 0.4.30 would fit: " in told
    assert "collective_pipeliner.cc:675" in told


def test_the_dump_speaks_against_it() -> None:
    (told,) = remarks_on_release("0.4.30", USER, dump_of(NEW), LogFacts())
    assert "jaxlib 0.4.30 is used" in told


@pytest.mark.parametrize("release", ["0.4.30", "0.4.29", "9.9.9", None])
def test_what_fits_or_is_not_known_is_taken_in_silence(release: str | None) -> None:
    assert list(remarks_on_release(release, USER, None, read_log(CHECK, name="log"))) == []


def test_of_a_log_of_several_runs_one_is_enough() -> None:
    other = CHECK.replace("collective_pipeliner.cc:675", "collective_pipeliner.cc:1")
    assert list(remarks_on_release("0.4.30", USER, None, read_log(other + CHECK, name="log"))) == []
