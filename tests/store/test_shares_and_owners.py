"""Copies of reports, whose reports they are, and when they have had their time."""

import pytest

from app.store import (
    NewReport,
    NewShare,
    Owner,
    Question,
    ReceivedFile,
    Secrets,
    Store,
    hash_of,
    is_owner_secret,
)
from store.conftest import Place, all_rows

ANA, BEN = Owner("a" * 40), Owner("b" * 40)


def create(store: Store, owner: Owner | None = None, *, now: float = 1.0) -> Secrets:
    with store.blobs.receive() as writer:
        writer.write(b"log")
        files = (ReceivedFile("log", "run.log", writer.finish()),)
    new = NewReport("run.log", Question(label="nightly"), files, expires=now + 100)
    return store.reports.create(new, now=now, owner=owner)


def finish(store: Store, bundle: bytes, now: float = 2.0) -> None:
    claimed = store.jobs.claim("w", now=now, lease_s=9.0)
    assert claimed is not None
    with store.blobs.receive() as writer:
        writer.write(bundle)
        assert store.jobs.finish(claimed, writer.finish(), {}, now=now)


def share(store: Store, parent: Secrets) -> Secrets:
    new = NewShare(hash_of(parent.report_id), "run.log", {"op_names": True}, 50.0)
    return store.reports.create_share(new, now=3.0)


def test_an_owner_can_tell_the_ids_of_their_reports_again(store: Store) -> None:
    first, second = create(store, ANA, now=1.0), create(store, ANA, now=2.0)
    create(store, BEN)
    create(store)
    rows, total = store.reports.owned_by(ANA)
    assert [report_id for report_id, _ in rows] == [second.report_id, first.report_id]
    assert total == 2
    assert rows[0][1].question.label == "nightly"
    assert [i for i, _ in store.reports.owned_by(ANA, offset=1, limit=1)[0]] == [first.report_id]
    assert store.reports.is_owned_by(rows[0][1].key, ANA)
    assert not store.reports.is_owned_by(rows[0][1].key, BEN)


def test_neither_ids_nor_secrets_of_owners_are_stored(place: Place, store: Store) -> None:
    secrets = create(store, ANA)
    assert len(secrets.report_id) == 32
    store.close()
    stored = all_rows(place.database_file)
    assert "run.log" in stored
    assert secrets.report_id not in stored
    assert ANA.secret not in stored


@pytest.mark.parametrize(("text", "fits"), [("a" * 32, True), ("a" * 31, False), ("é" * 40, False)])
def test_a_secret_must_be_long_and_plain(text: str, fits: bool) -> None:
    assert is_owner_secret(text) is fits


def test_a_share_has_an_id_a_token_and_an_end_of_its_own(store: Store) -> None:
    parent = create(store)
    finish(store, b"private")
    shared = share(store, parent)
    row = store.reports.find(shared.report_id)
    assert row is not None
    assert (row.parent_key, row.redaction) == (hash_of(parent.report_id), {"op_names": True})
    assert (row.expires, row.state, row.attachments) == (50.0, "queued", ())
    (listed,) = store.reports.shares_of(hash_of(parent.report_id))
    assert listed.handle == row.handle
    assert shared.delete_token != parent.delete_token


def test_a_share_goes_with_its_report_and_not_the_reverse(store: Store) -> None:
    parent = create(store)
    finish(store, b"private")
    kept, dropped = share(store, parent), share(store, parent)
    finish(store, b"redacted")
    assert store.reports.delete(hash_of(dropped.report_id))
    assert store.reports.find(parent.report_id) is not None
    assert store.reports.delete(hash_of(parent.report_id))
    assert store.reports.find(kept.report_id) is None
    assert list(store.blobs.kept()) == []


def test_what_was_to_go_by_now_is_gone(store: Store) -> None:
    parent = create(store)
    finish(store, b"private")
    shared = share(store, parent)
    assert store.reports.expire(now=49.0) == 0
    assert store.reports.expire(now=50.0) == 1
    assert store.reports.find(shared.report_id) is None
    assert store.reports.find(parent.report_id) is not None
    assert store.reports.expire() == 0
    assert store.reports.expire(now=101.0) == 1
