"""Two processes on one store: what one deletes or sweeps, the other may be sending again."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from app.errors import NotFound
from app.store import (
    Incoming,
    NewReport,
    NewShare,
    Question,
    ReceivedFile,
    Secrets,
    Store,
    hash_of,
    reports,
)
from store.conftest import Place


@pytest.fixture
def pair(scaled_place: Place) -> Iterator[tuple[Store, Store]]:
    with scaled_place.open("a") as a, scaled_place.open("b") as b:
        yield a, b


def received(store: Store, data: bytes) -> Incoming:
    with store.blobs.receive() as writer:
        writer.write(data)
        return writer.finish()


def create(store: Store, data: bytes) -> Secrets:
    files = (ReceivedFile("archive", "dump", received(store, data)),)
    return store.reports.create(NewReport("dump", Question(), files), now=1.0)


def bytes_of(store: Store, secrets: Secrets) -> bytes:
    row = store.reports.find(secrets.report_id)
    assert row is not None
    return store.blobs.path(row.sha256).read_bytes()


class Gate:
    """Holds whoever made a call, once it was made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, thing: Any, name: str) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()
        self._call = getattr(thing, name)
        monkeypatch.setattr(thing, name, self)

    def __call__(self, *arguments: Any) -> Any:
        result = self._call(*arguments)
        self.reached.set()
        assert self.opened.wait(30)
        return result


def test_what_one_made_the_other_sees(pair: tuple[Store, Store]) -> None:
    a, b = pair
    secrets = create(a, b"dump")
    claimed = b.jobs.claim("b", now=2.0, lease_s=9.0)
    assert claimed is not None
    assert b.jobs.finish(claimed, received(b, b"bundle"), {}, now=3.0)
    row = a.reports.find(secrets.report_id)
    assert row is not None
    assert a.blobs.path(row.attached("bundle")[0].blob).read_bytes() == b"bundle"


def test_opening_a_second_clears_up_nothing_of_the_first(scaled_place: Place) -> None:
    with scaled_place.open("a") as a:
        secrets = create(a, b"dump")
        assert a.jobs.claim("a", now=1.0, lease_s=9.0)
        half = received(a, b"half sent")
        with scaled_place.open("b") as b:
            row = b.reports.find(secrets.report_id)
            assert row is not None
            assert row.state == "running"
        a.blobs.keep(half)


def test_an_upload_survives_the_sweep_that_overtakes_it(
    pair: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = pair
    kept = Gate(monkeypatch, a.blobs, "keep")
    made: list[Secrets] = []
    sending = threading.Thread(target=lambda: made.append(create(a, b"same")))
    sending.start()
    assert kept.reached.wait(30)
    # The bytes are there and no row names them yet.
    assert b.ledger.sweep(grace_s=0).blobs == 0
    kept.opened.set()
    sending.join(30)
    assert bytes_of(b, made[0]) == b"same"


def test_an_upload_survives_that_the_same_bytes_are_deleted(
    pair: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = pair
    earlier = create(b, b"same")
    kept = Gate(monkeypatch, a.blobs, "keep")
    made: list[Secrets] = []
    sending = threading.Thread(target=lambda: made.append(create(a, b"same")))
    sending.start()
    assert kept.reached.wait(30)
    assert b.reports.delete(hash_of(earlier.report_id))
    kept.opened.set()
    sending.join(30)
    assert bytes_of(b, made[0]) == b"same"


def test_an_upload_waits_for_the_deletion_it_runs_into(
    pair: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = pair
    earlier = create(b, b"same")
    gone = Gate(monkeypatch, b.blobs, "delete")
    made: list[Secrets] = []
    deleting = threading.Thread(target=lambda: b.reports.delete(hash_of(earlier.report_id)))
    deleting.start()
    assert gone.reached.wait(30)
    # The bytes are gone, their row is not: the upload must not take it for a promise.
    sending = threading.Thread(target=lambda: made.append(create(a, b"same")))
    sending.start()
    sending.join(0.3)
    assert not made
    gone.opened.set()
    deleting.join(30)
    sending.join(30)
    assert bytes_of(b, made[0]) == b"same"


def test_many_uploads_and_deletions_of_the_same_bytes(pair: tuple[Store, Store]) -> None:
    wrong: list[str] = []

    def work(store: Store, other: Store, number: int) -> None:
        for turn in range(12):
            secrets = create(store, b"%d" % (turn % 2))
            if bytes_of(other, secrets) != b"%d" % (turn % 2):
                wrong.append(f"{number}.{turn}")
            other.reports.delete(hash_of(secrets.report_id))
            store.ledger.sweep(grace_s=3600)

    pairs = [pair, pair[::-1]] * 2
    threads = [
        threading.Thread(target=work, args=(*each, number)) for number, each in enumerate(pairs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    pair[0].ledger.sweep(grace_s=0)
    assert list(pair[0].blobs.kept()) == []


def test_no_share_outlives_the_report_that_is_deleted_meanwhile(
    pair: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = pair
    parent = hash_of(create(a, b"dump").report_id)
    named = Gate(monkeypatch, reports, "insert_beside")
    made: list[Secrets] = []
    wish = NewShare(parent, "dump", {"redact": True}, None)
    sharing = threading.Thread(target=lambda: made.append(a.reports.create_share(wish, now=2.0)))
    sharing.start()
    # The row of the share is written and not committed.
    assert named.reached.wait(30)
    deleting = threading.Thread(target=lambda: b.reports.delete(parent))
    deleting.start()
    deleting.join(0.5)
    assert deleting.is_alive()
    named.opened.set()
    for thread in (sharing, deleting):
        thread.join(30)
    assert b.reports.find(made[0].report_id) is None
    assert b.upkeep.stats().reports == {}


def test_a_report_that_is_gone_cannot_be_shared(pair: tuple[Store, Store]) -> None:
    a, b = pair
    parent = hash_of(create(a, b"dump").report_id)
    assert b.reports.delete(parent)
    with pytest.raises(NotFound):
        a.reports.create_share(NewShare(parent, "dump", {"redact": True}, None), now=2.0)
    assert b.upkeep.stats().reports == {}


def test_no_copy_of_what_another_deleted_stays(pair: tuple[Store, Store]) -> None:
    a, b = pair
    gone, kept = create(a, b"gone"), create(a, b"kept")
    copies = [bytes_of(b, each) for each in (gone, kept)]
    assert copies == [b"gone", b"kept"]
    assert a.reports.delete(hash_of(gone.report_id))
    assert b.ledger.drop_copies() == 1
    row = b.reports.find(kept.report_id)
    assert row is not None
    assert b.blobs.copies() == (row.sha256,)


def test_what_a_crash_left_goes_after_its_grace(pair: tuple[Store, Store]) -> None:
    a, b = pair
    a.blobs.keep(received(a, b"of no row"))
    received(a, b"never kept")
    kept = create(a, b"dump")
    swept = b.ledger.sweep(grace_s=3600)
    assert (swept.blobs, swept.unfinished) == (0, 0)
    swept = b.ledger.sweep(grace_s=0)
    assert (swept.blobs, swept.unfinished) == (1, 1)
    assert bytes_of(b, kept) == b"dump"


def test_a_sweep_ends_where_its_store_is_closed(scaled_place: Place) -> None:
    with scaled_place.open("a") as a, scaled_place.open("b") as b:
        a.blobs.keep(received(a, b"of no row"))
        a.close()
        assert a.ledger.sweep(grace_s=0).blobs == 0
        assert b.ledger.sweep(grace_s=0).blobs == 1
