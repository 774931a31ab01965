"""Blobs of a bucket as files: fetched once, held against their digest, let go by age."""

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.errors import UsageError
from app.store import Blobs, NoSpace, Store, StoreUnavailable
from app.store import blobs as blobs_module
from app.store.cache import BlobCache
from store.conftest import Place

DATA = b"0123456789" * 1000
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def cache(tmp_path: Path) -> BlobCache:
    return BlobCache(tmp_path / "cache", max_bytes=25_000)


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_a_blob_is_fetched_once_by_whoever_asks_at_once(cache: BlobCache) -> None:
    fetched: list[int] = []

    def pieces() -> Iterator[bytes]:
        fetched.append(1)
        time.sleep(0.1)
        yield DATA

    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(cache.fetch(DIGEST, pieces).read_bytes()))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(fetched), found) == (1, [DATA] * 6)


def test_other_bytes_than_the_digest_says_are_never_seen(cache: BlobCache) -> None:
    with pytest.raises(StoreUnavailable, match="other bytes"):
        cache.fetch(DIGEST, lambda: [DATA[:-1]])
    assert not cache.path(DIGEST).exists()
    assert list(cache.path("").iterdir()) == []
    assert cache.fetch(DIGEST, lambda: [DATA]).read_bytes() == DATA


def test_a_fetch_that_breaks_off_leaves_nothing(cache: BlobCache) -> None:
    def broken() -> Iterator[bytes]:
        yield DATA
        raise StoreUnavailable

    with pytest.raises(StoreUnavailable):
        cache.fetch(DIGEST, broken)
    assert list(cache.path("").iterdir()) == []


def test_a_full_disk_is_named(cache: BlobCache, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(NoSpace):
        cache.fetch(DIGEST, lambda: [DATA])


def test_a_full_disk_has_room_once_older_copies_are_gone(cache: BlobCache) -> None:
    for name, seconds in (("old", 5000), ("fresh", 10)):
        cache.path(name).write_bytes(DATA)
        age(cache.path(name), seconds)

    def pieces() -> Iterator[bytes]:
        if cache.path("old").exists():
            raise OSError(28, "No space left on device")
        yield DATA

    assert cache.fetch(DIGEST, pieces).read_bytes() == DATA
    assert cache.path("fresh").exists()


def test_the_oldest_go_first_and_fresh_ones_stay(cache: BlobCache) -> None:
    for name, seconds in (("a", 5000), ("b", 4000), ("c", 3000), ("d", 10)):
        cache.path(name).write_bytes(DATA)
        age(cache.path(name), seconds)
    assert cache.evict() == 2
    assert sorted(path.name for path in cache.path("").iterdir()) == ["c", "d"]


def test_what_was_not_used_for_a_day_goes(cache: BlobCache) -> None:
    for name, seconds in (("a", 90_000), ("b", 80_000)):
        cache.path(name).write_bytes(b"x")
        age(cache.path(name), seconds)
    assert cache.evict() == 1
    assert not cache.path("a").exists()


def test_more_than_fits_stays_while_it_is_fresh(cache: BlobCache) -> None:
    for name in "abcd":
        cache.path(name).write_bytes(DATA)
    assert cache.evict() == 0


@pytest.fixture
def scaled(scaled_place: Place) -> Iterator[Store]:
    with scaled_place.open() as store:
        yield store


def keep(store: Store, data: bytes) -> str:
    with store.blobs.receive() as writer:
        for start in range(0, len(data), 1 << 20):
            writer.write(data[start : start + (1 << 20)])
        incoming = writer.finish()
    store.blobs.keep(incoming)
    return incoming.sha256


class TestBucket:
    def test_a_large_blob_goes_up_in_parts_and_comes_down_in_ranges(self, scaled: Store) -> None:
        data = os.urandom(40 << 20)
        digest = keep(scaled, data)
        assert digest == hashlib.sha256(data).hexdigest()
        assert scaled.blobs.size(digest) == len(data)
        assert [len(piece) >> 20 for piece in scaled.blobs.pieces(digest)] == [8, 8, 8, 8, 8]
        assert scaled.blobs.path(digest).read_bytes() == data

    def test_what_the_bucket_cannot_copy_at_once_is_copied_in_pieces(
        self, scaled: Store, scaled_place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(blobs_module, "MAX_COPY_BYTES", 1 << 20)
        data = os.urandom(20 << 20)
        digest = keep(scaled, data)
        assert b"".join(scaled.blobs.pieces(digest)) == data
        assert keep(scaled, data) == digest
        assert scaled_place.blob_names() == [digest]

    def test_a_blob_that_was_changed_in_the_bucket_is_not_handed_out(
        self, scaled: Store, scaled_place: Place
    ) -> None:
        digest = keep(scaled, DATA)
        server = scaled_place.server
        assert server is not None
        (name,) = server.names(scaled_place.blobs)
        prefix = scaled_place.blobs.partition("?")[0].rpartition("/")[2]
        server.client().put_object(Bucket=server.bucket, Key=f"{prefix}/{name}", Body=b"forged")
        with pytest.raises(StoreUnavailable, match="other bytes"):
            scaled.blobs.path(digest)

    def test_a_deleted_blob_leaves_the_cache_too(self, scaled: Store) -> None:
        path = scaled.blobs.path(keep(scaled, DATA))
        assert path.read_bytes() == DATA
        scaled.blobs.delete(path.name)
        assert not path.exists()
        assert not scaled.blobs.path(path.name).exists()

    def test_no_key_is_taken_from_the_address(self, tmp_path: Path) -> None:
        for url in (
            "s3://key:secret@bucket/x",
            "s3://bucket?secret_access_key=x",
            "s3://bucket?endpoint=ftp://host",
            "s3:///x",
            "http://bucket",
            "file://host/folder",
            "bucket",
        ):
            with pytest.raises(UsageError) as caught:
                Blobs(tmp_path / "blobs", url=url)
            assert caught.value.code == "blobs_url"

    def test_a_folder_elsewhere_is_used(self, tmp_path: Path) -> None:
        with Store(tmp_path / "data", blobs=f"file://{tmp_path}/else%20where") as store:
            digest = keep(store, DATA)
            assert not store.is_alone
        assert (tmp_path / "else where" / "sha256" / digest[:2] / digest).read_bytes() == DATA
