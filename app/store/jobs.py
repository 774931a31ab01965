"""The queue of jobs: who works at what, for how long, and how it ended.

A worker claims a job and renews its lease while it works. Whatever it writes later is fenced by its
name and the attempt's number, so a worker that was given up, or whose report was deleted, can
change nothing any more. No clock is compared here: the time in a lease only makes each renewal
differ from the one before, and whoever watches leases that do not change (`app.jobs.leases`) has
them taken back.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Select,
    Update,
    and_,
    delete,
    func,
    insert,
    select,
    update,
)

from app.store.blobs import Incoming
from app.store.database import reading
from app.store.ledger import Ledger
from app.store.rows import Job, Lease, Problem, Waiting
from app.store.schema import attachment, job, report, share

MAX_ATTEMPTS = 3


class JobQueue:
    """All jobs of one database; every method blocks."""

    def __init__(self, engine: Engine, ledger: Ledger, *, keeps_originals: bool = True) -> None:
        self._engine = engine
        self._reading = reading(engine)
        self._ledger = ledger
        self._keeps_originals = keeps_originals

    def count_open(self) -> int:
        """Jobs that are queued or running."""
        open_states = job.c.state.in_(("queued", "running"))
        with self._reading.connect() as connection:
            return connection.scalar(select(func.count()).where(open_states)) or 0

    def claim(
        self,
        owner: str,
        *,
        now: float,
        lease_s: float,
        most_bytes: int | None = None,
        job_id: int | None = None,
    ) -> Job | None:
        """The oldest job that waits, now `owner`'s; None if there is none.

        `most_bytes` passes over those that read a larger upload and all replays, which compile for
        minutes whatever they read; `job_id` all but that one. A job
        that is being claimed by another at this moment is passed over, too.
        """
        wanted = [job.c.state == "queued"]
        wanted += [_BYTES <= most_bytes, ~_IS_REPLAY] if most_bytes is not None else []
        wanted += [job.c.id == job_id] if job_id is not None else []
        with self._engine.begin() as connection:
            found = connection.execute(
                _with_bytes(job.c.id, job.c.report_key, job.c.attempt)
                .where(*wanted)
                .order_by(job.c.id)
                .limit(1)
                .with_for_update(skip_locked=True, of=job)
            ).one_or_none()
            if found is None:
                return None
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

    def waiting(self) -> tuple[Waiting, ...]:
        """The jobs that nobody has claimed, the oldest first."""
        query = (
            _with_bytes(job.c.id, _BYTES, _IS_REPLAY)
            .where(job.c.state == "queued")
            .order_by(job.c.id)
        )
        with self._reading.connect() as connection:
            return tuple(Waiting(*row) for row in connection.execute(query).all())

    def leases(self) -> tuple[Lease, ...]:
        """The leases of all jobs that run, as they were renewed last."""
        query = _LEASE.where(job.c.state == "running").order_by(job.c.id)
        with self._reading.connect() as connection:
            return tuple(Lease(*row) for row in connection.execute(query).all())

    def take_back(self, lease: Lease, *, now: float) -> bool:
        """Give up whoever holds this lease; False where it was renewed or ended meanwhile.

        The job is queued again, or fails as `worker_lost` after its `MAX_ATTEMPTS`th attempt.
        """
        held = and_(
            _held_by(lease.job_id, lease.owner, lease.attempt), job.c.lease_until == lease.until
        )
        return self._pass_on(held, now=now)

    def lose(self, claimed: Job, *, now: float) -> bool:
        """As `take_back`, by the holder, who lost the child that worked at it."""
        return self._pass_on(_held_by(claimed.id, claimed.owner, claimed.attempt), now=now)

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
        """Keep the bundle as the report's; False where the job is no longer the caller's.

        Where originals are not kept, the dump is gone with that.
        """
        with self._ledger.keeping((bundle,)) as connection:
            if not connection.execute(_mine(claimed).values(state="running")).rowcount:
                return False
            done_with = ("bundle",) if self._keeps_originals else ("bundle", "archive")
            is_done_with = and_(
                attachment.c.report_key == claimed.report_key, attachment.c.role.in_(done_with)
            )
            earlier = connection.scalars(select(attachment.c.blob).where(is_done_with)).all()
            connection.execute(delete(attachment).where(is_done_with))
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
            _end(connection, claimed.id, claimed.report_key, now, summary=summary)
        self._ledger.drop(earlier)
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

    def requeue_orphans(self, *, now: float) -> int:
        """Take back every lease, for a caller who knows that no worker lives."""
        return sum(self.take_back(lease, now=now) for lease in self.leases())

    def _pass_on(self, held: ColumnElement[bool], *, now: float) -> bool:
        with self._engine.begin() as connection:
            found = connection.execute(
                select(
                    job.c.id, job.c.report_key, job.c.attempt, job.c.stage, job.c.done, job.c.total
                )
                .where(held)
                .with_for_update()
            ).one_or_none()
            if found is None:
                return False
            if found.attempt >= MAX_ATTEMPTS:
                lost = _worker_lost(found.stage, found.done, found.total)
                _end(connection, found.id, found.report_key, now, problem=lost)
                return True
            values = {"state": "queued", "owner": None, "lease_until": None}
            connection.execute(update(job).where(job.c.id == found.id).values(**values))
            _set_report_state(connection, found.report_key, "queued")
        return True


_PARENT = report.alias("parent")
_BYTES = func.coalesce(_PARENT.c.bytes, report.c.bytes)
"""Bytes of the upload that a job reads: a share is made from that of its parent."""

_IS_REPLAY = func.coalesce(report.c.question["replay"].as_string(), "") != ""

_LEASE = select(job.c.id, job.c.owner, job.c.attempt, job.c.lease_until)


def _with_bytes(*columns: ColumnElement[Any]) -> Select[Any]:
    return (
        select(*columns)
        .join(report, report.c.key == job.c.report_key)
        .outerjoin(share, share.c.report_key == job.c.report_key)
        .outerjoin(_PARENT, _PARENT.c.key == share.c.parent_key)
    )


def _held_by(job_id: int, owner: str, attempt: int) -> ColumnElement[bool]:
    return and_(
        job.c.id == job_id,
        job.c.state == "running",
        job.c.owner == owner,
        job.c.attempt == attempt,
    )


def _mine(claimed: Job) -> Update:
    return update(job).where(_held_by(claimed.id, claimed.owner, claimed.attempt))


def _worker_lost(stage: str, done: int, total: int | None) -> Problem:
    where = f"at the stage {stage!r}" if stage else "before its first stage"
    if stage and total:
        where += f" ({done} of {total})"
    return Problem(
        code="worker_lost",
        message=(
            f"the analysis was interrupted {MAX_ATTEMPTS} times before it could end, the last time "
            f"{where}; nothing of its report is there"
        ),
        hint="Send the dump again; if this recurs, the machine is short of memory or restarted.",
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
