"""A sample's folder is at hand for its report alone, and is known without reading the samples."""

import hashlib
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.web import samples
from app.web.samples import folder_of_sample, offered_samples, report_of_sample
from web.asking import app_of, small_dump


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what is hashed to know a sample by."""
    sizes: list[int] = []
    sha256 = hashlib.sha256

    class Counting:
        @staticmethod
        def sha256(data: bytes) -> Any:
            sizes.append(len(data))
            return sha256(data)

    samples._digests.cache_clear()
    monkeypatch.setattr(samples, "hashlib", Counting)
    return sizes


def test_only_the_sample_of_the_same_sizes_is_read(client: TestClient, hashed: list[int]) -> None:
    store = app_of(client).state.services.store
    other = client.put("/api/v1/reports", content=small_dump()).json()["id"]
    assert folder_of_sample(store, other) is None
    assert hashed == []
    sample = offered_samples()[-1]
    made = report_of_sample(store, sample)
    for _ in range(2):
        assert folder_of_sample(store, made) == sample.folder
    assert hashed == [file.stat().st_size for file in (sample.archive, sample.log)]


def test_a_file_of_a_samples_size_is_not_that_sample(client: TestClient) -> None:
    store = app_of(client).state.services.store
    sample = offered_samples()[0]
    log = b"x" * sample.log.stat().st_size
    made = client.put(
        "/api/v1/reports", files={"dump": sample.archive.read_bytes(), "log": log}
    ).json()["id"]
    row = store.reports.find(made)
    assert (row.bytes, row.attached("log")[0].bytes) == (
        sample.archive.stat().st_size,
        sample.log.stat().st_size,
    )
    assert folder_of_sample(store, made) is None
