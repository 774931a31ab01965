"""How long and how much is kept: dumps, an owner's reports, and what is sent twice."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from app.errors import LimitExceeded, QuotaSpent, UsageError
from app.store import (
    Incoming,
    NewReport,
    NewShare,
    Owner,
    Question,
    ReceivedFile,
    ReportRow,
    Secrets,
    Store,
    hash_of,
)
from app.store.quota import Quota
from store.conftest import Place

ANA, BEN = Owner("a" * 40), Owner("b" * 40)
KEY = "k" * 32


def received(store: Store, data: bytes) -> Incoming:
    with store.blobs.receive() as writer:
        writer.write(data)
        return writer.finish()


def upload(store: Store, data: bytes = b"dump", **words: Any) -> NewReport:
    files = (
        ReceivedFile("archive", "dump.tar", received(store, data)),
        ReceivedFile("log", "run.log", received(store, b"log")),
    )
    return NewReport("dump.tar", Question(**words), files)


def found(store: Store, secrets: Secrets) -> ReportRow:
    row = store.reports.find(secrets.report_id)
    assert row is not None
    return row


def share(store: Store, made: Secrets) -> Secrets:
    new = NewShare(hash_of(made.report_id), "dump", {"redact": True}, None)
    return store.reports.create_share(new, now=1.0)


def finish(store: Store) -> None:
    claimed = store.jobs.claim("w", now=2.0, lease_s=9.0)
    assert claimed is not None
    assert store.jobs.finish(claimed, received(store, b"bundle"), {}, now=3.0)


class TestOriginals:
    def test_are_gone_when_the_report_is_done(self, place: Place) -> None:
        with place.open(keeps_originals=False) as store:
            secrets = store.reports.create(upload(store), now=1.0)
            assert found(store, secrets).attached("archive")
            finish(store)
            row = found(store, secrets)
            assert [each.role for each in row.attachments] == ["bundle", "log"]
            assert (row.state, row.bytes) == ("done", 4)
            assert not store.blobs.has(row.sha256)
            store.reports.requeue(row.key, now=4.0)
            assert found(store, secrets).state == "done"

    def test_stay_while_another_report_holds_them(self, place: Place) -> None:
        with place.open(keeps_originals=False) as store:
            store.reports.create(upload(store), now=1.0)
            other = store.reports.create(upload(store), now=1.0)
            finish(store)
            assert store.blobs.path(found(store, other).sha256).read_bytes() == b"dump"

    def test_stay_where_the_analysis_can_be_tried_again(self, place: Place) -> None:
        with place.open(keeps_originals=False) as store:
            secrets = store.reports.create(upload(store), now=1.0)
            claimed = store.jobs.claim("w", now=2.0, lease_s=9.0)
            assert claimed is not None
            store.jobs.give_back(claimed)
            assert found(store, secrets).attached("archive")


class TestQuota:
    def test_reports_are_counted_for_each_owner(self, place: Place) -> None:
        with place.open(quota=Quota(reports=2)) as store:
            first = store.reports.create(upload(store), now=1.0, owner=ANA)
            store.reports.check_quota(ANA)
            store.reports.create(upload(store), now=1.0, owner=ANA)
            with pytest.raises(QuotaSpent, match="2 reports already") as caught:
                store.reports.create(upload(store, b"one too many"), now=1.0, owner=ANA)
            assert caught.value.code == "quota"
            with pytest.raises(QuotaSpent):
                store.reports.check_quota(ANA)
            assert len(list(store.blobs.kept())) == 2
            store.reports.create(upload(store), now=1.0, owner=BEN)
            store.reports.create(upload(store), now=1.0)
            store.reports.delete(hash_of(first.report_id))
            store.reports.create(upload(store), now=1.0, owner=ANA)

    def test_bytes_of_all_files_are_counted(self, place: Place) -> None:
        with place.open(quota=Quota(bytes=30)) as store:
            store.reports.create(upload(store, b"x" * 10), now=1.0, owner=ANA)
            store.reports.check_quota(ANA, adding=17)
            with pytest.raises(LimitExceeded) as caught:
                store.reports.create(upload(store, b"x" * 20), now=1.0, owner=ANA)
            assert caught.value.code == "quota"
            assert place.blob_names() == sorted(each for each in store.blobs.kept())
            finish(store)
            with pytest.raises(LimitExceeded):
                store.reports.check_quota(ANA, adding=17)
            store.reports.create(upload(store, b"x" * 20), now=1.0, owner=BEN)

    def test_what_is_full_takes_nothing_more(self, place: Place) -> None:
        with place.open(quota=Quota(bytes=7)) as store:
            store.reports.create(upload(store), now=1.0, owner=ANA)
            with pytest.raises(LimitExceeded):
                store.reports.check_quota(ANA)

    def test_what_was_shared_of_an_owners_reports_counts(self, place: Place) -> None:
        with place.open(quota=Quota(reports=3)) as store:
            made = store.reports.create(upload(store), now=1.0, owner=ANA)
            finish(store)
            first = share(store, made)
            share(store, made)
            with pytest.raises(QuotaSpent):
                share(store, made)
            with pytest.raises(QuotaSpent):
                store.reports.check_quota(ANA)
            assert len(store.reports.shares_of(hash_of(made.report_id))) == 2
            store.reports.delete(hash_of(first.report_id))
            share(store, made)
            others = store.reports.create(upload(store), now=1.0, owner=BEN)
            nobodys = store.reports.create(upload(store), now=1.0)
            for _ in range(4):
                share(store, nobodys)
            share(store, others)

    def test_the_bytes_of_a_copy_count(self, place: Place) -> None:
        with place.open(quota=Quota(bytes=30)) as store:
            made = store.reports.create(upload(store), now=1.0, owner=ANA)
            finish(store)
            bundle = sum(item.bytes for item in found(store, made).attached("bundle"))
            rest = 30 - 7 - 2 * bundle
            store.reports.check_quota(ANA, adding=rest + bundle)
            share(store, made)
            finish(store)
            store.reports.check_quota(ANA, adding=rest)
            with pytest.raises(LimitExceeded):
                store.reports.check_quota(ANA, adding=rest + 1)

    def test_a_copy_that_will_not_fit_is_not_begun(self, place: Place) -> None:
        with place.open(quota=Quota(bytes=14)) as store:
            made = store.reports.create(upload(store), now=1.0, owner=ANA)
            finish(store)
            with pytest.raises(LimitExceeded):
                share(store, made)
            assert store.jobs.count_open() == 0


class TestSentAgain:
    @pytest.mark.parametrize("owner", [None, ANA])
    def test_is_the_report_of_before(self, store: Store, owner: Owner | None) -> None:
        made = [
            store.reports.create_once(upload(store), now=now, repeat_key=KEY, owner=owner)
            for now in (1.0, 2.0)
        ]
        assert made[0] == made[1]
        assert store.jobs.count_open() == 1
        row = found(store, made[0])
        assert (row.created, row.owner_key) == (1.0, hash_of(made[0].delete_token))
        assert len(made[0].report_id) == 32
        if owner is not None:
            ((listed, _),), total = store.reports.owned_by(owner)
            assert (listed, total) == (made[0].report_id, 1)

    def test_under_another_key_it_is_another(self, store: Store) -> None:
        made = {
            store.reports.create_once(upload(store), now=1.0, repeat_key=each * 32).report_id
            for each in "abc"
        }
        assert len(made) == 3

    def test_an_owner_makes_the_key_another(self, store: Store) -> None:
        made = {
            store.reports.create_once(upload(store), now=1.0, repeat_key=KEY, owner=each).report_id
            for each in (ANA, BEN, None)
        }
        assert len(made) == 3

    @pytest.mark.parametrize(("data", "words"), [(b"else", {}), (b"dump", {"flags": "--xla_x"})])
    def test_other_bytes_or_words_are_refused(
        self, store: Store, data: bytes, words: dict[str, str]
    ) -> None:
        made = store.reports.create_once(upload(store), now=1.0, repeat_key=KEY)
        with pytest.raises(UsageError) as caught:
            store.reports.create_once(upload(store, data, **words), now=2.0, repeat_key=KEY)
        assert caught.value.code == "repeat_key"
        assert found(store, made).question == Question()

    def test_a_log_counts_too(self, store: Store) -> None:
        first = upload(store)
        store.reports.create_once(first, now=1.0, repeat_key=KEY)
        again = upload(store)
        with pytest.raises(UsageError):
            store.reports.create_once(
                replace(again, files=again.files[:1]), now=2.0, repeat_key=KEY
            )

    def test_still_known_when_the_dump_is_gone(self, place: Place) -> None:
        with place.open(keeps_originals=False) as store:
            made = store.reports.create_once(upload(store), now=1.0, repeat_key=KEY)
            finish(store)
            assert store.reports.create_once(upload(store), now=4.0, repeat_key=KEY) == made

    def test_at_the_same_moment_is_one_report(self, store: Store) -> None:
        made: list[Secrets] = []
        uploads = [upload(store) for _ in range(6)]

        def send(new: NewReport) -> None:
            made.append(store.reports.create_once(new, now=1.0, repeat_key=KEY))

        threads = [threading.Thread(target=send, args=(each,)) for each in uploads]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 6
        assert len({each.report_id for each in made}) == 1
        assert store.jobs.count_open() == 1
