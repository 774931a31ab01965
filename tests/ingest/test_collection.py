"""Python's search for cycles rests while a dump is read, and is as before afterwards."""

import gc

import pytest

from app.ingest.collection import collection_paused


def test_the_search_rests_and_goes_on() -> None:
    assert gc.isenabled()
    with collection_paused():
        assert not gc.isenabled()
        with collection_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_what_was_made_meanwhile_is_not_searched_as_new() -> None:
    with collection_paused():
        made = [[number] for number in range(1_000)]
    assert any(each is made for each in gc.get_objects(generation=2))


def test_a_search_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_a_program_set_apart_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    undone: list[None] = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 7)
    monkeypatch.setattr(gc, "unfreeze", lambda: undone.append(None))
    with collection_paused():
        pass
    assert not undone
