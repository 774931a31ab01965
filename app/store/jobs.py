"""The queue of jobs: who works at what, until when, and how it ended.

A worker claims a job for a short lease and renews it while it works. Whatever it writes later is
fenced by its name and the attempt's number, so a worker that was given up, or whose report was
deleted, can change nothing any more.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Engine, Update, and_, delete, func, insert, or_, select, update

from app.store.blobs import Blobs, Incoming
from app.store.database import reading
from app.store.rows import Job, Problem
from app.store.schema import attachment, job, report

MAX_ATTEMPTS = 3

WORKER_LOST = Problem(
    code="worker_lost",
    message=f"the analysis was interrupted {MAX_ATTEMPTS} times before it could end",
    hint="Send the dump again; if this recurs, the machine is short of memory or being restarted.",
)


class JobQueue:
    """All jobs of one database; every method blocks."""

    def __init__(self, engine: Engine, blobs: Blobs) -> None:
        self._engine = engine
        self._reading = reading(engine)
        self._blobs = blobs

    def count_open(self) -> int:
        """Jobs that are queued or running."""
        open_states = job.c.state.in_(("queued", "running"))
        with self._reading.connect() as connection:
            return connection.scalar(select(func.count()).where(open_states)) or 0

    def claim(self, owner: str, *, now: float, lease_s: float) -> Job | None:
        """The oldest job that waits or whose worker was lost, now `owner`'s; None if there is none.

        A job that lost its worker `MAX_ATTEMPTS` times fails instead of being handed out again.
        """
        waits = or_(
            job.c.state == "queued", and_(job.c.state == "running", job.c.lease_until < now)
        )
        with self._engine.begin() as connection:
            while True:
                found = connection.execute(
                    select(job.c.id, job.c.report_key, job.c.attempt)
                    .where(waits)
                    .order_by(job.c.id)
                    .limit(1)
                ).one_or_none()
                if found is None:
                    return None
                if found.attempt >= MAX_ATTEMPTS:
                    _end(connection, found.id, found.report_key, now, problem=WORKER_LOST)
                    continue
                claimed = Job(found.id, found.report_key, owner, found.attempt + 1)
                values = {
                    "state": "running",
                    "attempt": claimed.attempt,
                    "owner": owner,
                    "lease_until": now + lease_s,
                }
                connection.execute(update(job).where(job.c.id == found.id).values(**values))
                _set_report_state(connection, found.report_key, "running")
                return claimed

    def renew(
        self,
        claimed: Job,
        *,
        now: float,
        lease_s: float,
        progress: tuple[str, int, int | None],
        first: Sequence[str] = (),
    ) -> bool:
        """Keep the lease and note the progress; False where the job is no longer the caller's.

        `first` are results that can be told already; they are the report's until it has its own.
        """
        stage, done, total = progress
        values = {"lease_until": now + lease_s, "stage": stage, "done": done, "total": total}
        with self._engine.begin() as connection:
            is_mine = bool(connection.execute(_mine(claimed).values(**values)).rowcount)
            if is_mine and first:
                connection.execute(
                    update(report)
                    .where(report.c.key == claimed.report_key)
                    .values(summary={"first": list(first)})
                )
            return is_mine

    def finish(
        self, claimed: Job, bundle: Incoming, summary: dict[str, Any], *, now: float
    ) -> bool:
        """Keep the bundle as the report's; False where the job is no longer the caller's."""
        with self._engine.begin() as connection:
            if not connection.execute(_mine(claimed).values(state="running")).rowcount:
                return False
            is_bundle = and_(
                attachment.c.report_key == claimed.report_key, attachment.c.role == "bundle"
            )
            earlier = connection.scalar(select(attachment.c.blob).where(is_bundle))
            connection.execute(delete(attachment).where(is_bundle))
            connection.execute(
                insert(attachment).values(
                    report_key=claimed.report_key,
                    role="bundle",
                    position=0,
                    name="report",
                    blob=bundle.sha256,
                    bytes=bundle.bytes,
                )
            )
            self._blobs.keep(bundle)
            if earlier is not None and not _is_held(connection, earlier):
                self._blobs.delete(earlier)
            _end(connection, claimed.id, claimed.report_key, now, summary=summary)
        return True

    def fail(self, claimed: Job, problem: Problem, *, now: float) -> bool:
        """End the job without a report; False where it is no longer the caller's."""
        with self._engine.begin() as connection:
            if not connection.execute(_mine(claimed).values(state="running")).rowcount:
                return False
            _end(connection, claimed.id, claimed.report_key, now, problem=problem)
        return True

    def give_back(self, claimed: Job) -> None:
        """Queue the job again as if it had not been claimed: its worker is asked to stop."""
        values = {"state": "queued", "attempt": claimed.attempt - 1, "lease_until": None}
        with self._engine.begin() as connection:
            if connection.execute(_mine(claimed).values(**values)).rowcount:
                _set_report_state(connection, claimed.report_key, "queued")

    def requeue_orphans(self) -> int:
        """Queue every running job again, for a caller who knows that no worker lives."""
        with self._engine.begin() as connection:
            orphans = select(job.c.report_key).where(job.c.state == "running")
            connection.execute(
                update(report).where(report.c.key.in_(orphans)).values(state="queued")
            )
            return connection.execute(
                update(job).where(job.c.state == "running").values(state="queued")
            ).rowcount


def _mine(claimed: Job) -> Update:
    return update(job).where(
        job.c.id == claimed.id,
        job.c.state == "running",
        job.c.owner == claimed.owner,
        job.c.attempt == claimed.attempt,
    )


def _end(
    connection: Connection,
    job_id: int,
    report_key: str,
    now: float,
    *,
    summary: dict[str, Any] | None = None,
    problem: Problem | None = None,
) -> None:
    state = "failed" if problem else "done"
    words = asdict(problem) if problem else None
    connection.execute(
        update(job).where(job.c.id == job_id).values(state=state, finished=now, lease_until=None)
    )
    connection.execute(
        update(report)
        .where(report.c.key == report_key)
        .values(state=state, finished=now, summary=summary, problem=words)
    )


def _set_report_state(connection: Connection, report_key: str, state: str) -> None:
    connection.execute(update(report).where(report.c.key == report_key).values(state=state))


def _is_held(connection: Connection, blob: str) -> bool:
    found = connection.scalar(
        select(func.count()).select_from(attachment).where(attachment.c.blob == blob)
    )
    return bool(found)
