"""Rows about reports: made with their files and first job at once, found by hash, deleted whole.

A blob lives as long as an attachment names it. Rows and blobs change inside one write
transaction, and the database allows one writer at a time: no blob can be deleted while a new
report is about to hold on to it.
"""

from dataclasses import asdict
from typing import Any

from sqlalchemy import Engine, delete, insert, select, update

from app.store.blobs import Blobs
from app.store.database import reading
from app.store.rows import Attachment, NewReport, Problem, Question, ReportRow
from app.store.schema import attachment, job, report
from app.store.secret import Secrets, hash_of, new_secrets


class Reports:
    """All reports of one database; every method blocks."""

    def __init__(self, engine: Engine, blobs: Blobs) -> None:
        self._engine = engine
        self._reading = reading(engine)
        self._blobs = blobs

    def create(self, new: NewReport, *, now: float, secrets: Secrets | None = None) -> Secrets:
        """Keep what was received, and queue the job that analyses it.

        `secrets` are used for the new report where they are given.
        """
        secrets = secrets or new_secrets()
        key = hash_of(secrets.report_id)
        archive = new.archive
        with self._engine.begin() as connection:
            connection.execute(
                insert(report).values(
                    key=key,
                    owner_key=hash_of(secrets.delete_token),
                    name=new.name,
                    state="queued",
                    created=now,
                    sha256=archive.data.sha256 if archive else "",
                    bytes=archive.data.bytes if archive else 0,
                    question=asdict(new.question),
                )
            )
            for position, file in enumerate(new.files):
                connection.execute(
                    insert(attachment).values(
                        report_key=key,
                        role=file.role,
                        position=position,
                        name=file.name,
                        blob=file.data.sha256,
                        bytes=file.data.bytes,
                    )
                )
                self._blobs.keep(file.data)
            connection.execute(insert(job).values(_new_job(key, now)))
        return secrets

    def find(self, report_id: str) -> ReportRow | None:
        """The report of this id; None alike for one that never was and one that is deleted."""
        return self.find_key(hash_of(report_id))

    def find_key(self, key: str) -> ReportRow | None:
        """Like `find`, by the hash of the id."""
        with self._reading.connect() as connection:
            row = (
                connection.execute(
                    select(report, job.c.attempt, job.c.stage, job.c.done, job.c.total)
                    .join(job, job.c.report_key == report.c.key)
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
        """Have a report analysed again; what it shows stays until the new job is done."""
        with self._engine.begin() as connection:
            changed = connection.execute(
                update(report)
                .where(report.c.key == key, report.c.state.in_(("done", "failed")))
                .values(state="queued", problem=None)
            )
            if changed.rowcount:
                connection.execute(insert(job).values(_new_job(key, now)))

    def delete(self, key: str) -> bool:
        """Forget a report, its jobs, and every blob that nothing else holds on to."""
        with self._engine.begin() as connection:
            held = connection.scalars(
                select(attachment.c.blob).where(attachment.c.report_key == key)
            ).all()
            gone = connection.execute(delete(report).where(report.c.key == key)).rowcount
            still_held = set(
                connection.scalars(
                    select(attachment.c.blob).where(attachment.c.blob.in_(held))
                ).all()
            )
            for blob in set(held) - still_held:
                self._blobs.delete(blob)
        return bool(gone)

    def expire(self, *, before: float) -> int:
        """Delete the reports whose analysis ended before that time; says how many."""
        with self._reading.connect() as connection:
            old = connection.scalars(select(report.c.key).where(report.c.finished < before)).all()
        return sum(self.delete(key) for key in old)

    def drop_unreferenced_blobs(self) -> int:
        """Delete blobs that no report holds on to, left by a crash; says how many."""
        with self._engine.begin() as connection:
            held = set(connection.scalars(select(attachment.c.blob)).all())
            left = [blob for blob in self._blobs.kept() if blob not in held]
            for blob in left:
                self._blobs.delete(blob)
        return len(left)


def _new_job(key: str, now: float) -> dict[str, object]:
    return {
        "report_key": key,
        "state": "queued",
        "attempt": 0,
        "stage": "",
        "done": 0,
        "created": now,
    }
