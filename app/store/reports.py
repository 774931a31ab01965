"""Rows about reports: made with their files and first job at once, found by hash, deleted whole.

A blob lives as long as an attachment names it; the ledger sees to that.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, delete, exists, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from app.errors import NotFound, UsageError
from app.store.database import insert_missing, reading
from app.store.ledger import Ledger
from app.store.new_reports import insert_beside, insert_report, new_job
from app.store.quota import Quota
from app.store.rows import Attachment, NewReport, NewShare, Problem, Question, ReportRow
from app.store.schema import attachment, gone, job, owned, report, share
from app.store.secret import (
    Owner,
    ReportKeys,
    Secrets,
    hash_of,
    keys_of,
    new_secrets,
    repeated_secrets_of,
    secrets_of,
)

NO_QUOTA = Quota()

_GONE_KNOWN_S = 90 * 86400.0


class Reports:
    """All reports of one database; every method blocks."""

    def __init__(self, engine: Engine, ledger: Ledger, quota: Quota = NO_QUOTA) -> None:
        self._engine = engine
        self._reading = reading(engine)
        self._ledger = ledger
        self._quota = quota

    def create(
        self,
        new: NewReport,
        *,
        now: float,
        secrets: Secrets | None = None,
        owner: Owner | None = None,
    ) -> Secrets:
        """Keep what was received, and queue the job that analyses it.

        `secrets` are used for the new report where they are given; `owner` can list it later.
        Raises as `create_as`.
        """
        made, keys = secrets_of(owner)
        if secrets is not None:
            made, keys = secrets, keys_of(secrets)
        self.create_as(keys, new, now=now)
        return made

    def create_once(
        self, new: NewReport, *, now: float, repeat_key: str, owner: Owner | None = None
    ) -> Secrets:
        """Like `create`; sent again with the same `repeat_key`, it is the report of before.

        Raises:
            UsageError: other files or words were sent with that key before (`repeat_key`).
        """
        made, keys = repeated_secrets_of(repeat_key, owner)
        earlier = self.find_key(keys.report)
        if earlier is None:
            if self.create_as(keys, new, now=now):
                return made
            earlier = self.find_key(keys.report)
        if earlier is not None and not _is_same(earlier, new):
            raise UsageError(
                "other files or words were sent with that key before",
                place="Idempotency-Key",
                next_step="Make a new key for each upload, and send it again only to repeat that.",
                code="repeat_key",
            )
        return made

    def check_quota(self, owner: Owner, *, adding: int = 0, repeat_key: str = "") -> None:
        """Let pass an owner who may have one more report of so many bytes.

        What was sent with that `repeat_key` and is there is none more. Raises as `Quota`.
        """
        if repeat_key:
            _, keys = repeated_secrets_of(repeat_key, owner)
            if self.find_key(keys.report) is not None:
                return
        with self._reading.connect() as connection:
            self._quota.check(connection, owner.key, adding=adding)

    def create_as(self, keys: ReportKeys, new: NewReport, *, now: float) -> bool:
        """Like `create`, under secrets that were handed out before; False where it is there.

        Raises:
            QuotaSpent, LimitExceeded: the owner has as much as they may.
        """
        try:
            self._create(keys, new, now=now)
        except IntegrityError:
            # The other of two that were sent at once was quicker; else it is our fault.
            if self.find_key(keys.report) is None:
                raise
            return False
        return True

    def _create(self, keys: ReportKeys, new: NewReport, *, now: float) -> None:
        archive = new.archive
        received = [file.data for file in new.files]
        with self._ledger.keeping(received) as connection:
            insert_report(
                connection,
                keys,
                now,
                name=new.name,
                question=new.question,
                expires=new.expires,
                sha256=archive.data.sha256 if archive else "",
                size=archive.data.bytes if archive else 0,
            )
            if keys.owner:
                self._quota.check(connection, keys.owner, adding=sum(f.bytes for f in received))
            insert_beside(
                connection,
                keys,
                now,
                files=[Attachment(f.role, f.name, f.data.sha256, f.data.bytes) for f in new.files],
            )

    def create_share(self, new: NewShare, *, now: float) -> Secrets:
        """Queue the job that makes the copy; it has an id and a token of its own.

        Raises:
            NotFound: the report is gone.
            QuotaSpent, LimitExceeded: the owner of the report has as much as they may.
        """
        secrets = new_secrets()
        keys = keys_of(secrets)
        with _unless_gone(), self._engine.begin() as connection:
            insert_report(
                connection, keys, now, name=new.name, question=Question(), expires=new.expires
            )
            self._check_quota_of_owner(connection, new.parent_key)
            connection.execute(
                insert(share).values(
                    report_key=keys.report, parent_key=new.parent_key, redaction=new.redaction
                )
            )
            insert_beside(connection, keys, now)
        return secrets

    def _check_quota_of_owner(self, connection: Connection, parent_key: str) -> None:
        """Let pass whoever owns a report, if anybody does, with a copy as large as its bundle."""
        owner = connection.scalar(select(owned.c.owner).where(owned.c.report_key == parent_key))
        if owner is not None:
            bundle = select(attachment.c.bytes).where(
                attachment.c.report_key == parent_key, attachment.c.role == "bundle"
            )
            self._quota.check(connection, owner, adding=connection.scalar(bundle) or 0)

    def create_replay(
        self, source: ReportRow, question: Question, *, now: float, owner: Owner | None = None
    ) -> Secrets:
        """Queue a report of its own on the files that `source` was made from, with that question.

        It holds on to the files itself, whatever becomes of the other.

        Raises:
            NotFound: the files are gone.
            QuotaSpent, LimitExceeded: the owner has as much as they may.
        """
        secrets, keys = secrets_of(owner)
        with _unless_gone(), self._engine.begin() as connection:
            insert_report(
                connection,
                keys,
                now,
                name=source.name,
                question=question,
                expires=source.expires,
                sha256=source.sha256,
                size=source.bytes,
            )
            if keys.owner:
                self._quota.check(connection, keys.owner, adding=source.bytes)
            files = [file for file in source.attachments if file.role != "bundle"]
            insert_beside(connection, keys, now, files=files)
        return secrets

    def shares_of(self, parent_key: str) -> tuple[ReportRow, ...]:
        """The copies of a report that are there, the newest first."""
        with self._reading.connect() as connection:
            keys = connection.scalars(
                select(share.c.report_key)
                .join(report, report.c.key == share.c.report_key)
                .where(share.c.parent_key == parent_key)
                .order_by(report.c.created.desc(), report.c.key)
            ).all()
        return tuple(row for key in keys if (row := self.find_key(key)) is not None)

    def owned_by(
        self, owner: Owner, *, offset: int = 0, limit: int = 100
    ) -> tuple[tuple[tuple[str, ReportRow], ...], int]:
        """Ids and rows of an owner's reports, the newest first, and how many there are in all."""
        with self._reading.connect() as connection:
            total = connection.scalar(
                select(func.count()).select_from(owned).where(owned.c.owner == owner.key)
            )
            nonces = connection.scalars(
                select(owned.c.nonce)
                .join(report, report.c.key == owned.c.report_key)
                .where(owned.c.owner == owner.key)
                .order_by(report.c.created.desc(), report.c.key)
                .offset(offset)
                .limit(limit)
            ).all()
        ids = [owner.report_id(nonce) for nonce in nonces]
        return tuple((each, row) for each in ids if (row := self.find(each))), total or 0

    def is_owned_by(self, key: str, owner: Owner) -> bool:
        """That report was sent with that owner's secret."""
        with self._reading.connect() as connection:
            found = connection.scalar(select(owned.c.owner).where(owned.c.report_key == key))
        return found is not None and found == owner.key

    def find(self, report_id: str) -> ReportRow | None:
        """The report of this id; None alike for one that never was and one that is deleted."""
        return self.find_key(hash_of(report_id))

    def find_key(self, key: str) -> ReportRow | None:
        """Like `find`, by the hash of the id."""
        with self._reading.connect() as connection:
            row = (
                connection.execute(
                    select(
                        report,
                        job.c.attempt,
                        job.c.stage,
                        job.c.done,
                        job.c.total,
                        share.c.parent_key,
                        share.c.redaction,
                    )
                    .join(job, job.c.report_key == report.c.key)
                    .outerjoin(share, share.c.report_key == report.c.key)
                    .where(report.c.key == key)
                    .order_by(job.c.id.desc())
                    .limit(1)
                )
                .mappings()
                .one_or_none()
            )
            if row is None:
                return None
            attached = connection.execute(
                select(attachment.c.role, attachment.c.name, attachment.c.blob, attachment.c.bytes)
                .where(attachment.c.report_key == key)
                .order_by(attachment.c.position)
            ).all()
        values: dict[str, Any] = dict(row)
        values["question"] = Question(**values["question"])
        values["problem"] = Problem(**values["problem"]) if values["problem"] else None
        values["attachments"] = tuple(Attachment(*each) for each in attached)
        return ReportRow(**values)

    def requeue(self, key: str, *, now: float) -> None:
        """Have a report analysed again; what it shows stays until the new job is done.

        Nothing happens where the dump is not kept any more.
        """
        has_dump = exists().where(attachment.c.report_key == key, attachment.c.role == "archive")
        with self._engine.begin() as connection:
            changed = connection.execute(
                update(report)
                .where(report.c.key == key, report.c.state.in_(("done", "failed")))
                .where(or_(report.c.sha256 == "", has_dump))
                .values(state="queued", problem=None)
            )
            if changed.rowcount:
                connection.execute(insert(job).values(new_job(key, now)))

    def delete(self, key: str) -> bool:
        """Forget a report with its shares, its jobs, and every blob that nothing else holds."""
        with self._engine.begin() as connection:
            # As those do who work at a job: its row is locked before the report's.
            _lock_jobs(connection, [key])
            # Who makes a share of it is waited for, or is told that it is gone.
            connection.execute(select(report.c.key).where(report.c.key == key).with_for_update())
            shares = select(share.c.report_key).where(share.c.parent_key == key)
            keys = [key, *connection.scalars(shares).all()]
            _lock_jobs(connection, keys)
            held = connection.scalars(
                select(attachment.c.blob).where(attachment.c.report_key.in_(keys))
            ).all()
            _note_gone(connection, keys)
            deleted = connection.execute(delete(report).where(report.c.key.in_(keys))).rowcount
        self._ledger.drop(held)
        return bool(deleted)

    def was_of(self, report_id: str, *, token: str, owner: Owner | None) -> bool:
        """There was a report of this id, and token or owner were its own."""
        with self._reading.connect() as connection:
            row = connection.execute(
                select(gone).where(gone.c.key == hash_of(report_id))
            ).one_or_none()
        if row is None:
            return False
        return row.owner_key == hash_of(token) or (owner is not None and row.owner == owner.key)

    def expire(self, *, before: float | None = None, now: float | None = None) -> int:
        """Delete what has had its time; says how many.

        That are the reports whose analysis ended before the time `before`, and those that were to
        be deleted by `now`.
        """
        due = [report.c.finished < before] if before is not None else []
        due += [report.c.expires <= now] if now is not None else []
        with self._reading.connect() as connection:
            old = connection.scalars(select(report.c.key).where(or_(*due))).all() if due else ()
        if now is not None:
            with self._engine.begin() as connection:
                connection.execute(delete(gone).where(gone.c.since < now - _GONE_KNOWN_S))
        return sum(self.delete(key) for key in old)


def _is_same(row: ReportRow, new: NewReport) -> bool:
    """The report was made from those files and words; its dump may be gone since."""
    sent = [(f.role, f.name, f.data.sha256) for f in new.files if f.role != "archive"]
    held = [(f.role, f.name, f.blob) for f in row.attached("log")]
    archive = new.archive.data.sha256 if new.archive else ""
    return (row.sha256, row.question, held) == (archive, new.question, sent)


@contextmanager
def _unless_gone() -> Generator[None]:
    """Raise `NotFound` where what a new row names was deleted meanwhile."""
    try:
        yield
    except IntegrityError as error:
        raise NotFound("the report was deleted meanwhile") from error


def _lock_jobs(connection: Connection, keys: list[str]) -> None:
    jobs = select(job.c.id).where(job.c.report_key.in_(keys)).order_by(job.c.id)
    connection.execute(jobs.with_for_update())


def _note_gone(connection: Connection, keys: list[str]) -> None:
    # Whoever had a report is told that it is gone, and not that it never was.
    known = select(report.c.key, report.c.owner_key, owned.c.owner).outerjoin(
        owned, owned.c.report_key == report.c.key
    )
    rows = connection.execute(known.where(report.c.key.in_(keys))).all()
    since = time.time()
    insert_missing(
        connection,
        gone,
        [
            {"key": row.key, "owner_key": row.owner_key, "owner": row.owner or "", "since": since}
            for row in rows
        ],
    )
