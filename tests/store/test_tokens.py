"""Tokens of the API: told once, found by a hash, with an end, taken back; and what is gone."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.store import NewReport, Owner, Question, Store, is_token
from app.store.tokens import PREFIX, new_token

NOW = 1_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "data") as opened:
        yield opened


def test_a_token_is_told_once_and_only_its_hash_is_stored(store: Store) -> None:
    secret, row = store.tokens.create("CI", frozenset({"upload"}), now=NOW)
    assert store.tokens.all() == (row,)
    stored = b"".join(path.read_bytes() for path in store.folder.glob("hloscope.sqlite*"))
    assert row.key.encode() in stored
    assert secret.encode() not in stored
    assert secret[len(PREFIX) :].encode() not in stored


def test_a_good_token_is_found_and_its_use_noted(store: Store) -> None:
    secret, row = store.tokens.create("CI", frozenset({"upload", "read"}), now=NOW)
    found = store.tokens.find(secret, now=NOW + 5)
    assert found is not None
    assert (found.handle, found.scopes) == (row.handle, {"upload", "read"})
    (noted,) = store.tokens.all()
    assert noted.used == NOW + 5
    store.tokens.find(secret, now=NOW + 9)
    assert store.tokens.all() == (noted,)


def test_a_token_ends_and_can_be_taken_back(store: Store) -> None:
    short, _ = store.tokens.create("a", frozenset({"read"}), now=NOW, expires=NOW + 10)
    other, row = store.tokens.create("b", frozenset({"read"}), now=NOW)
    assert store.tokens.find(short, now=NOW + 9) is not None
    assert store.tokens.find(short, now=NOW + 10) is None
    assert store.tokens.revoke(row.handle, now=NOW)
    assert store.tokens.find(other, now=NOW) is None
    assert not store.tokens.revoke(row.handle, now=NOW)
    assert not store.tokens.revoke("nothing", now=NOW)


@pytest.mark.parametrize(
    ("scopes", "read", "upload", "admin"),
    [
        ({"read"}, True, False, False),
        ({"upload"}, False, True, False),
        ({"admin"}, True, True, True),
        (set(), False, False, False),
    ],
)
def test_scopes(store: Store, scopes: set[str], read: bool, upload: bool, admin: bool) -> None:
    _, row = store.tokens.create("x", frozenset(scopes), now=NOW)  # pyright: ignore[reportArgumentType]
    assert [row.allows(scope) for scope in ("read", "upload", "admin")] == [read, upload, admin]


def test_scanners_find_a_token_by_its_prefix_and_checksum() -> None:
    made = {new_token() for _ in range(200)}
    assert len(made) == 200
    for token in made:
        assert re.fullmatch(r"hloscope_[0-9A-Za-z]{36}[0-9a-f]{8}", token)
        assert is_token(token)
        assert not is_token(token[:-1] + ("0" if token[-1] != "0" else "1"))
        assert not is_token(token + "x")
    assert not is_token("")


def test_a_report_that_is_gone_is_known_to_whoever_had_it_and_to_nobody_else(store: Store) -> None:
    owner, stranger = Owner("o" * 40), Owner("s" * 40)
    new = NewReport("a", Question(), ())
    made = store.reports.create(new, now=NOW, owner=owner)
    other = store.reports.create(new, now=NOW)
    assert not store.reports.was_of(made.report_id, token=made.delete_token, owner=owner)
    store.reports.delete(store.reports.find(made.report_id).key)  # pyright: ignore[reportOptionalMemberAccess]
    store.reports.delete(store.reports.find(other.report_id).key)  # pyright: ignore[reportOptionalMemberAccess]
    was_of = store.reports.was_of
    assert was_of(made.report_id, token=made.delete_token, owner=None)
    assert was_of(made.report_id, token="", owner=owner)
    assert not was_of(made.report_id, token="", owner=stranger)
    assert not was_of(made.report_id, token=other.delete_token, owner=None)
    assert was_of(other.report_id, token=other.delete_token, owner=None)
    assert not was_of(other.report_id, token="", owner=Owner(""))
    assert not was_of("never", token="", owner=owner)


def test_uploads_are_counted_by_sender(store: Store) -> None:
    for sender in ("a", "a", "b"):
        store.uploads.create(10, {}, expires=NOW, sender=sender)
    assert [store.uploads.count_open(sender) for sender in ("a", "b", "c")] == [2, 1, 0]
    store.uploads.expire(now=NOW)
    assert store.uploads.count_open("a") == 0
