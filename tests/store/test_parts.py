"""Uploads in parts, in a file of one server and as objects that several share."""

from pathlib import Path

import pytest

from app.store import Store
from store.conftest import Place

LENGTH = 10


def begin(store: Store) -> tuple[str, str]:
    """The id and the key of a new upload."""
    upload_id = store.uploads.create(LENGTH, {"name": "dump"}, expires=100.0)
    row = store.uploads.find(upload_id)
    assert row is not None
    assert row.offset == 0
    return upload_id, row.key


def offset(store: Store, upload_id: str) -> int | None:
    row = store.uploads.find(upload_id)
    return None if row is None else row.offset


def test_grows_to_a_blob(place: Place, store: Store) -> None:
    upload_id, key = begin(store)
    for at, data in ((0, b"01234"), (5, b"56"), (7, b"789")):
        assert store.uploads.append(key, data, at=at)
        assert offset(store, upload_id) == at + len(data)
    assert store.uploads.first_bytes(key, 6) == b"012345"
    incoming = store.uploads.take(key)
    assert incoming.bytes == LENGTH
    assert offset(store, upload_id) == LENGTH
    store.blobs.keep(incoming)
    store.uploads.delete(key)
    assert offset(store, upload_id) is None
    assert store.blobs.path(incoming.sha256).read_bytes() == b"0123456789"
    assert place.blob_names() == [incoming.sha256]


def test_a_part_that_begins_where_another_does_is_refused(store: Store) -> None:
    upload_id, key = begin(store)
    assert store.uploads.append(key, b"0123", at=0)
    assert not store.uploads.append(key, b"xxxx", at=0)
    assert offset(store, upload_id) == 4
    assert store.uploads.append(key, b"4", at=4)
    assert store.uploads.first_bytes(key, LENGTH) == b"01234"


def test_what_was_not_completed_goes_and_so_do_bytes_of_no_upload(
    place: Place, store: Store
) -> None:
    upload_id, key = begin(store)
    store.uploads.append(key, b"0123", at=0)
    assert store.uploads.expire(now=99.0) == 0
    assert store.uploads.expire(now=100.0) == 1
    assert offset(store, upload_id) is None
    assert place.blob_names() == []


def test_another_server_takes_the_next_part(scaled_place: Place) -> None:
    with scaled_place.open("a") as a, scaled_place.open("b") as b:
        upload_id, key = begin(a)
        assert a.uploads.append(key, b"01234", at=0)
        assert offset(b, upload_id) == 5
        assert b.uploads.append(key, b"56789", at=5)
        assert not a.uploads.append(key, b"xxxxx", at=5)
        assert a.uploads.first_bytes(key, LENGTH) == b"0123456789"


def test_what_comes_after_an_upload_is_gone_is_swept(scaled_place: Place) -> None:
    with scaled_place.open("a") as a, scaled_place.open("b") as b:
        _, key = begin(a)
        _, other = begin(a)
        assert a.uploads.append(other, b"0", at=0)
        assert a.uploads.append(key, b"01234", at=0)
        b.uploads.delete(key)
        a.uploads.append(key, b"56789", at=5)
        assert a.uploads.first_bytes(key, LENGTH) == b""
        assert b.uploads.drop_orphans(older_than_s=3600) == 0
        assert b.uploads.drop_orphans() == 1
        assert scaled_place.blob_names() == [f"{0:020d}"]


@pytest.mark.parametrize("name", ["x.part", f"{'a' * 64}.txt"])
def test_a_stranger_s_file_stays(tmp_path: Path, name: str) -> None:
    with Store(tmp_path) as store:
        (tmp_path / "uploads" / name).write_bytes(b"x")
        assert store.uploads.drop_orphans() == 0
        assert (tmp_path / "uploads" / name).exists()
